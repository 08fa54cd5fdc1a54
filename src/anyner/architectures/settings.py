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
    """What an architecture may want to know of the training corpus before it is built."""

    labels: tuple[str, ...]
    lengths: tuple[int, ...]
    """Words of each entity, gaps not counted."""
    spans: tuple[int, ...]
    """Words from each entity's first to its last, gaps counted."""
    piece_lengths: tuple[int, ...]
    """Pieces of each entity, gaps not counted."""
    most_at_one_word: int
    """Most entities that begin at one word."""
    most_in_a_document: int
    most_words: int
    """Words that one window can hold at most."""
    encoder_decoder: bool
    """Whether the encoder is half of a sequence-to-sequence model."""
    discontinuous: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number tuned on dev after each epoch: a lower bound, so larger is stricter. (A paper's upper bound is stated as 1 - it.)

    Tuning makes proposals once, at `loosest`.
    """

    name: str
    loosest: float
    default: float
    candidates: tuple[float, ...]
    tuned_on: Literal["all", "discontinuous"] = "all"
    """Whose F is to be best: of all entities, or of the discontinuous ones, which hardly count among all."""
    of_score: bool = True
    """Whether it is compared with the score of an entity; if not, with something that the architecture computes before."""


class Options(Settings):
    """What can be chosen for each call of predict or evaluate; the defaults are saved with the model."""


class SpanClassifierConfig(Settings):
    """The span classifier that an architecture has beside its own method; the papers have none (`width: 0`)."""

    width: int = Field(default=128, ge=0)
    """Width of the start and end vectors; 0: no span classifier."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    loss_weight: float = Field(default=1.0, ge=0.0)
    """Weight of the dense span loss."""


class ReadSpanClassifierConfig(SpanClassifierConfig):
    """Of an architecture with a label classifier of its own."""

    read_by_labels: bool = True
    """Whether that classifier adds the span classifier's logits to its own."""


class RescoringSpanClassifierConfig(SpanClassifierConfig):
    """Of an architecture that generates entities."""

    loss_weight: float = Field(default=10.0, ge=0.0)
    rescore_fragments: bool = True
    """Whether the first and last fragments of discontinuous entities are classified as well."""


class SpanClassifierOptions(Options):
    score_share: float = Field(default=0.5, ge=0.0, lt=1.0)
    """Share of the span classifier in an entity's score; 0: it rescores nothing."""
    span_classifier_alone: bool = False
    """Whether entities are read from the span classifier's table of all spans, and the architecture's own method is bypassed."""


class HeadConfig(Settings):
    """Settings of one architecture. A subclass in `config.py` adds its own and says what they can express."""

    PAPER: ClassVar[Mapping[str, Any]] = {}
    """What `head.preset: paper` stands for: every key that the published method sets otherwise than the default."""
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {}
    """The same of the options of a call."""
    one_label: ClassVar[bool] = False
    """Whether the same words can have one label only."""

    def shapes(self) -> frozenset[Shape]:
        """The shapes these settings can express."""
        return frozenset({"flat", "nested", "crossing"})

    def fitted(self, statistics: CorpusStatistics) -> Self:
        """The settings with every open value chosen from the training corpus (longest entity, most at one word …)."""
        return self

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        """For each gold entity of one window, why these settings can never produce it, or None. It still counts in the score.

        `pieces` counts those of each of the window's words.
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

    def too_long(self, words: int, window: int) -> str | None:
        """Why an entity that reaches over so many words of a window of so many cannot be produced; None if it can."""
        return None

    def thresholds(self) -> tuple[Threshold, ...]:
        """What these settings have to tune; none by default."""
        return ()

    def check_options(self, options: Options) -> None:
        """Raises an `AnynerError` for options that a model with these settings cannot follow; none by default."""

    def default_thresholds(self) -> dict[str, float]:
        return {threshold.name: threshold.default for threshold in self.thresholds()}


class SpanHeadConfig(HeadConfig):
    """Settings of an architecture that predicts spans."""

    fragments: bool | None = None
    """Whether discontinuous entities are found: as fragments, which are joined in pairs. Left open: if the training corpus has
    any."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        return self if self.fragments is not None else self.updated({"fragments": statistics.discontinuous}, "head")

    def shapes(self) -> frozenset[Shape]:
        return super().shapes() | ({"discontinuous"} if self.fragments else set())

    def kinds(self, labels: int) -> int:
        """Kinds of spans that are predicted: entities of each label, and their fragments."""
        return 2 * labels if self.fragments else labels

    def score_thresholds(self, score: Threshold) -> tuple[Threshold, ...]:
        """That of all entities, and where fragments are joined one of discontinuous entities: they are few and score low."""
        return (score, replace(score, name="discontinuous", tuned_on="discontinuous")) if self.fragments else (score,)


def visible_shapes(config: HeadConfig, policy: Policy) -> list[Shape]:
    """What the settings can express and the overlap policy lets through."""
    dropped: dict[Policy, tuple[Shape, ...]] = {
        "all": (),
        "nested": ("crossing",),
        "nested_spans": (),  # only with discontinuous entities
        "flat_spans": ("nested",),
    }
    able, gone = config.shapes(), dropped.get(policy, ("crossing", "nested"))
    return [shape for shape in get_args(Shape) if shape in able and shape not in gone]


def least_score(thresholds: Mapping[str, float], words: Sequence[int] = ()) -> float:
    """What an entity of these words has to reach; of no words: what any entity has to reach at least."""
    scores = thresholds["score"], thresholds.get("discontinuous", thresholds["score"])
    return scores[words[-1] - words[0] + 1 > len(words)] if words else min(scores)


def least_span_score(thresholds: Mapping[str, float]) -> float:
    """What a span has to reach to be of use. A fragment is a third of the score of two, so that it may be weak where they fit."""
    least = min(thresholds["score"], thresholds.get("long", 1.0))
    return min(least, thresholds.get("discontinuous", 1.0) ** 3)


def least_before_rescoring(least: float, share: float) -> float:
    """What a score must be at least to reach `least` after rescoring, a probability being at most 1."""
    return float(least ** (1 / (1 - share)))


def with_preset(
    config: type[HeadConfig], head: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recipe's head and options in plain keys: those of `head.preset`, and on top of them the recipe's own."""
    own = {key: value for key, value in head.items() if key != "preset"}
    for key in own:
        if is_recorded(config, key):
            raise AnynerError(f"head.{key}: measured on the training corpus, not a setting; remove it")
    preset = head.get("preset", "default")
    if preset == "default":
        return own, dict(options)
    if preset != "paper" or not config.PAPER:
        known = "default, paper" if config.PAPER else "default"
        raise AnynerError(f"head.preset: there is no {preset!r} here, only: {known}")
    return _on_top(config.PAPER, own), _on_top(config.PAPER_OPTIONS, options)


def _on_top(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            merged[key] = _on_top(below[key], above[key])
    return merged


@dataclass(frozen=True, slots=True)
class Decoding:
    """Everything chosen for one call: what decides, besides the model, which entities come out."""

    labels: tuple[str, ...]
    thresholds: Mapping[str, float]
    policy: Policy
    config: HeadConfig
    options: Options
    label_thresholds: Mapping[str, float] = field(default_factory=dict)
    """Least score by label, besides `thresholds`; compared before overlaps are resolved. A label that is not here has none."""

    def __post_init__(self) -> None:
        self.config.check_options(self.options)

    @property
    def span_classifier_alone(self) -> bool:
        """Whether the architecture's own method is bypassed."""
        return isinstance(self.options, SpanClassifierOptions) and self.options.span_classifier_alone
