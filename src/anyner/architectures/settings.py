"""The torch-free half of the contract: what an architecture can express, what can be set, what is tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field

from anyner.errors import AnynerError
from anyner.fragments import Fragment
from anyner.overlap import Policy
from anyner.settings import Settings, is_recorded
from anyner.text.align import WordEntity

Shape = Literal["flat", "nested", "crossing", "discontinuous"]


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """Statistics of the training corpus, from which unset settings are chosen."""

    labels: tuple[str, ...]
    lengths: tuple[int, ...]
    """Words of each entity, gaps excluded."""
    spans: tuple[int, ...]
    """Words from each entity's first to its last, gaps included."""
    piece_lengths: tuple[int, ...]
    """Pieces of each entity, gaps excluded."""
    most_at_one_word: int
    """Maximum number of entities starting at one word."""
    most_words: int
    """Maximum number of words in a window."""
    encoder_decoder: bool
    """Whether the encoder is half of a sequence-to-sequence model."""
    discontinuous: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """A lower bound tuned on dev after each epoch: larger is stricter. (A paper's upper bound x becomes 1 - x.)

    Tuning computes proposals once, at `loosest`.
    """

    name: str
    loosest: float
    default: float
    candidates: tuple[float, ...]
    tuned_on: Literal["all", "discontinuous"] = "all"
    """Entities whose F1 is maximised: all, or the discontinuous ones, which are too few to affect the F1 of all."""
    of_score: bool = True
    """Whether it applies to entity scores; if not, to something that the architecture computes earlier."""


class Options(Settings):
    """Options of a single call of predict or evaluate; their defaults are saved with the model."""


class SpanClassifierConfig(Settings):
    """The span classifier next to an architecture's own method; the papers have none (`width: 0`)."""

    width: int = Field(default=128, ge=0)
    """Width of the start and end vectors; 0: no span classifier."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    loss_weight: float = Field(default=1.0, ge=0.0)
    """Weight of the dense span loss."""


class ReadSpanClassifierConfig(SpanClassifierConfig):
    """For an architecture with a label classifier of its own."""

    read_by_labels: bool = True
    """Whether the label classifier adds the span classifier's logits to its own."""


class RescoringSpanClassifierConfig(SpanClassifierConfig):
    """For an architecture that generates entities."""

    loss_weight: float = Field(default=10.0, ge=0.0)
    rescore_fragments: bool = True
    """Whether the first and last fragments of discontinuous entities are classified as well."""


class SpanClassifierOptions(Options):
    score_share: float = Field(default=0.5, ge=0.0, lt=1.0)
    """Share of the span classifier in an entity's score; 0: no rescoring."""
    span_classifier_alone: bool = False
    """Whether the span classifier alone predicts, and the architecture's own method is bypassed."""


class HeadConfig(Settings):
    """Settings of one architecture. A subclass in `config.py` adds its own and says what they can express."""

    PAPER: ClassVar[Mapping[str, Any]] = {}
    """What `head.preset: paper` stands for: every key whose value in the published method differs from the default."""
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {}
    """The same for the options of a call."""
    one_label: ClassVar[bool] = False
    """Whether the same words can have only one label."""

    def shapes(self) -> frozenset[Shape]:
        """The shapes these settings can express."""
        return frozenset({"flat", "nested", "crossing"})

    def fitted(self, statistics: CorpusStatistics) -> Self:
        """The settings with every unset value chosen from the training corpus (longest entity, most entities at one word …)."""
        return self

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        """For each gold entity of one window, why these settings can never produce it, or None. It still counts in the score.

        `pieces` are the numbers of pieces of the window's words.
        """
        shapes, kinds, reasons = self.shapes(), dict[Fragment, tuple[str, bool]](), list[str | None]()
        for entity in entities:
            kind = entity.label, len(entity.fragments) > 1
            reason = self.too_long(entity.last - entity.first + 1, len(pieces))
            if len(entity.fragments) > 1 and "discontinuous" not in shapes:
                reason = "discontinuous"
            elif self.one_label and any(kinds.setdefault(fragment, kind) != kind for fragment in entity.fragments):
                reason = reason or "a second label on the same words"
            reasons.append(reason)
        return reasons

    def kinds(self, labels: int) -> int:
        """Number of span classes."""
        return labels

    def too_long(self, words: int, window: int) -> str | None:
        """Why an entity that spans `words` words in a window of `window` words cannot be produced; None if it can."""
        return None

    def thresholds(self) -> tuple[Threshold, ...]:
        """The thresholds to tune; none by default."""
        return ()

    def check_options(self, options: Options) -> None:
        """Raises an `AnynerError` for options that a model with these settings does not support; none by default."""

    def default_thresholds(self) -> dict[str, float]:
        return {threshold.name: threshold.default for threshold in self.thresholds()}


class SpanHeadConfig(HeadConfig):
    """Settings of an architecture that predicts spans."""

    fragments: bool | None = None
    """Whether to find discontinuous entities, as fragments that are joined in pairs. Unset: if the training corpus has any."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        return self if self.fragments is not None else self.updated({"fragments": statistics.discontinuous}, "head")

    def shapes(self) -> frozenset[Shape]:
        return super().shapes() | ({"discontinuous"} if self.fragments else set())

    def kinds(self, labels: int) -> int:
        """Entities of each label and, if joined, their fragments."""
        return 2 * labels if self.fragments else labels

    def score_thresholds(self, score: Threshold) -> tuple[Threshold, ...]:
        """One for all entities and, if fragments are joined, another for discontinuous ones, which are few and score low."""
        return (score, replace(score, name="discontinuous", tuned_on="discontinuous")) if self.fragments else (score,)


def visible_shapes(config: HeadConfig, policy: Policy) -> list[Shape]:
    """The shapes that the settings can express and the overlap policy keeps."""
    dropped: dict[Policy, tuple[Shape, ...]] = {
        "all": (),
        "nested": ("crossing",),
        "nested_spans": (),  # only with discontinuous entities
        "flat_spans": ("nested",),
    }
    able, gone = config.shapes(), dropped.get(policy, ("crossing", "nested"))
    return [shape for shape in get_args(Shape) if shape in able and shape not in gone]


def least_score(thresholds: Mapping[str, float], words: Sequence[int] = ()) -> float:
    """The score threshold of an entity with these words; without words, the lowest threshold of any entity."""
    scores = thresholds["score"], thresholds.get("discontinuous", thresholds["score"])
    return scores[words[-1] - words[0] + 1 > len(words)] if words else min(scores)


def least_span_score(thresholds: Mapping[str, float]) -> float:
    """The lowest score of a useful span. A fragment's score is one of three factors under a cube root, so it may be low."""
    least = min(thresholds["score"], thresholds.get("long", 1.0))
    return min(least, thresholds.get("discontinuous", 1.0) ** 3)


def least_before_rescoring(least: float, share: float) -> float:
    """The lowest score that rescoring can raise to `least`, as a probability is at most 1."""
    return float(least ** (1 / (1 - share)))


def with_preset(
    config: type[HeadConfig], head: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recipe's head and options with `head.preset` replaced by its keys; the recipe's own keys win."""
    own = {key: value for key, value in head.items() if key != "preset"}
    for key in own:
        if is_recorded(config, key):
            raise AnynerError(f"head.{key}: measured on the training corpus, not a setting; remove it")
    preset = head.get("preset", "default")
    if preset == "default":
        return own, dict(options)
    if preset != "paper" or not config.PAPER:
        known = "default or paper" if config.PAPER else "default"
        raise AnynerError(f"head.preset: expected {known}, got {preset!r}")
    return _on_top(config.PAPER, own), _on_top(config.PAPER_OPTIONS, options)


def _on_top(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            merged[key] = _on_top(below[key], above[key])
    return merged


@dataclass(frozen=True, slots=True)
class Decoding:
    """Everything that decides, besides the model, which entities one call returns."""

    labels: tuple[str, ...]
    thresholds: Mapping[str, float]
    policy: Policy
    config: HeadConfig
    options: Options
    label_thresholds: Mapping[str, float] = field(default_factory=dict)
    """Minimum score by label, on top of `thresholds`, applied before overlaps are resolved. Labels not listed have none."""

    def __post_init__(self) -> None:
        self.config.check_options(self.options)

    @property
    def span_classifier_alone(self) -> bool:
        """Whether the architecture's own method is bypassed."""
        return isinstance(self.options, SpanClassifierOptions) and self.options.span_classifier_alone
