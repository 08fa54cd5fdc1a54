"""A recipe: the YAML file that trains one model. Every key is checked; an error names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, model_validator

from anyner.encoding.config import EncoderConfig
from anyner.errors import AnynerError
from anyner.inference.config import Precision
from anyner.settings import Settings
from anyner.text.config import TextConfig

_MOST_FRESH = 2 * 10**9
"""Weights of a fresh encoder: no corpus teaches as many, and few machines hold more."""


class Source(Settings):
    """A file or folder of documents."""

    path: str
    format: str | None = None
    """Guessed from the content unless given."""
    labels: tuple[str, ...] | None = None
    """The labels annotated in it, where those are not all labels of the training: the others give no loss there."""


def _as_sources(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return tuple({"path": item} if isinstance(item, str) else item for item in listed)


Sources = Annotated[tuple[Source, ...], BeforeValidator(_as_sources)]


class SyntheticData(Settings):
    """The embedded corpus, made when it is asked for."""

    contiguous: bool = False
    """Only flat and nested entities."""
    train: int = Field(default=1500, ge=1)
    dev: int = Field(default=200, ge=1)
    test: int = Field(default=400, ge=1)
    seed: int = 0


class DataConfig(Settings):
    folder: str | None = None
    """A folder with train, dev and test files."""
    train: Sources = ()
    dev: Sources = ()
    test: Sources = ()
    synthetic: SyntheticData | None = None
    held_out: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the larger documents (`doc`) of train and dev, the last ones, whose sentences become dev; all others train. For
    corpora without a dev file, or with one that has sentences of the same texts as train."""
    coordinated: float = Field(default=0.0, ge=0.0)
    """So many training sentences more, as a share of those there are, in which entities that end or begin alike stand joined,
    some of them discontinuous then."""
    coordinated_epochs: int | None = Field(default=None, ge=1)
    """First epochs in which these sentences are seen; later ones have the real ones alone. Left open: all."""
    conjunctions: tuple[str, ...] = Field(default=("and", "and", "and", "or"), min_length=1)
    """What joins them, each word as often as it stands here."""
    joined: int = Field(default=3, ge=2)
    """Most of them in one: up to a quarter of these sentences join more than two, long lists seldom where few are alike."""
    gaps_repeated: int = Field(default=1, ge=1)
    """How often in an epoch a training sentence with discontinuous entities is seen, which are few; not the made ones."""

    opinions: Sources = ()
    """Training texts again, with entities and scores as other models gave them: targets beside the gold where every span is
    scored. Best from models that did not learn from these texts."""
    opinion_share: float = Field(default=0.5, gt=0.0, le=1.0)
    """The share that opinions have in those targets; gold has the rest."""

    def as_they_are(self) -> Self:
        """The same documents alone: none that are made, and no opinions."""
        return self.updated({"coordinated": 0.0, "opinions": ()}, "data")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [self.folder is not None, bool(self.train), self.synthetic is not None]
        if sum(ways) != 1:
            raise ValueError("give exactly one of folder, train (with dev) or synthetic")
        if any(source.labels is not None for source in self.opinions):
            raise ValueError("sources of opinions take no labels: what the training documents annotate decides")
        if self.train and not self.dev and not self.held_out:
            raise ValueError("give dev as well as train, or held_out: the best epoch and the thresholds are chosen on it")
        return self


class TrainingConfig(Settings):
    epochs: int = Field(default=20, ge=1)
    passages: bool = True
    """Whether source documents are read whole, in passages of a few sentences and sentence by sentence, drawn anew in each epoch;
    false: every document of the files by itself, for comparison with papers."""
    batch_sentences: int = Field(default=32, ge=1)
    """Most sentences in a batch."""
    batch_tokens: int = Field(default=8192, ge=64)
    """Most pieces in a batch, padding included."""
    accumulate: int = Field(default=1, ge=1)
    """Batches before a step; each counts alike, so a term that few of them have weighs more than in one large batch."""
    encoder_lr: float = Field(default=5e-5, gt=0, le=1000)
    head_lr: float = Field(default=1e-3, gt=0, le=1000)
    """Learning rate of everything that is not pretrained."""
    warmup: float = Field(default=0.1, ge=0, le=1)
    """Share of all steps in which the rates rise; they fall linearly to 0 in the rest."""
    weight_decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient."""
    frozen_epochs: int = Field(default=0, ge=0)
    """First epochs in which the pretrained encoder stands still: it then reads every window once, for all of them."""
    word_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the words hidden from the encoder, anew in each epoch: makes it read the context. Not in frozen epochs."""
    adversarial: float = Field(default=0.0, ge=0.0)
    """How far embeddings move, in lengths of a mean one, to where the loss of a batch rises most; it is then learned once more
    from there, which takes more than half as long again. Not in frozen epochs. 0: off."""
    average_epochs: float = Field(default=0.0, ge=0.0)
    """Weights are averaged over the steps of about so many last epochs; scores and saved models are of the average. 0: off."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many epochs without a better dev score."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    precision: Precision = "auto"
    """What matrix products are computed in; auto: bfloat16 on GPUs that have it."""
    checkpoint_minutes: float = Field(default=5.0, gt=0)
    """How often everything needed to resume is written."""
    checkpoint_steps: int | None = Field(default=None, ge=1)
    """The same, counted in steps."""


class AdaptingConfig(Settings):
    """How `anyner adapt` has an encoder learn the language of texts."""

    epochs: int = Field(default=50, ge=1)
    hidden: float = Field(default=0.2, gt=0.0, lt=1.0)
    """Share of the words that are hidden, each whole: the rest of a long name would give its hidden pieces away."""
    lr: float | None = Field(default=None, gt=0, le=1000)
    """Of the encoder; default: twice training.encoder_lr."""
    head_lr: float = Field(default=1e-3, gt=0, le=1000)
    """Of the layer that names the hidden pieces, which is new and not kept."""
    window: int = Field(default=256, ge=16)
    """Pieces that are read at once: sentences of one `doc` that follow each other are read together."""
    batch_tokens: int = Field(default=16384, ge=64)
    """Most pieces in a batch, padding included."""
    held_out: float = Field(default=0.02, gt=0.0, lt=1.0)
    """Share of the windows from which nothing is learned: on them it is counted how many hidden pieces are found."""


class Chosen(Settings):
    """What an earlier training of the same recipe found best on dev."""

    epoch: int = Field(ge=1)
    """After which the training stops; rates fall as if all epochs came."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """The model's; those left out have their defaults."""


class _NoKeyTwice(yaml.SafeLoader):
    """Of two equal keys YAML's readers keep the last, and say nothing."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is a word, not a list or a mapping", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} stands there twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class Recipe(Settings):
    data: DataConfig
    encoder: EncoderConfig = EncoderConfig()
    text: TextConfig = TextConfig()
    architecture: str = "biaffine"
    head: dict[str, Any] = Field(default_factory=dict)
    """Settings of the architecture, as its own page lists them."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What can be chosen for each call (steps, beams, samples …), as the architecture's page lists it: the model's defaults."""
    overlap: Literal["auto", "all", "nested", "flat", "longest"] = "auto"
    """auto: the strictest of flat, nested and all that the training corpus keeps, gaps aside where the architecture has none."""
    training: TrainingConfig = TrainingConfig()
    adapting: AdaptingConfig = AdaptingConfig()
    """Read by `anyner adapt` alone."""
    chosen: Chosen | None = None
    """Nothing is left to choose: dev's documents train as well, and nothing is scored."""

    @model_validator(mode="after")
    def _among_the_epochs(self) -> Self:
        if self.chosen is not None and self.chosen.epoch > self.training.epochs:
            raise ValueError(f"chosen.epoch is {self.chosen.epoch}, but training.epochs {self.training.epochs}")
        return self

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        own = self.encoder
        weights = own.fresh_width * (own.fresh_vocabulary + 12 * own.fresh_width * own.fresh_layers)
        if own.source == "fresh" and weights > _MOST_FRESH:
            raise ValueError(
                f"encoder.fresh_width {own.fresh_width}, fresh_layers {own.fresh_layers} and fresh_vocabulary "
                f"{own.fresh_vocabulary} make about {weights:.0e} weights: {_MOST_FRESH:.0e} are the most"
            )
        return self

    @classmethod
    def read(cls, path: str | Path, changes: Sequence[str] = ()) -> Self:
        """The recipe in a YAML file, with `key.sub=value` changes on top."""
        file = Path(path)
        if not file.is_file():
            raise AnynerError(f"{path}: is a folder, not a recipe" if file.is_dir() else f"there is no recipe {path}")
        try:
            plain = yaml.load(file.read_text(encoding="utf-8"), Loader=_NoKeyTwice)
        except RecursionError:
            raise AnynerError(f"{path}: not valid YAML for a recipe: nested too deeply") from None
        except (yaml.YAMLError, ValueError) as error:  # the latter of bytes that are no text, and of days that never were
            raise AnynerError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
        if not isinstance(plain, dict):
            raise AnynerError(f"{path}: a recipe is a mapping of keys, got {type(plain).__name__}")
        return cls.of(changed(plain, changes), str(path))

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True)


def changed(plain: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The plain recipe with `key.sub=value` changes applied; values are read as YAML, `null` takes a key away."""
    result = {**plain}
    for change in changes:
        dotted, equals, value = change.partition("=")
        if not equals or not dotted.strip():
            raise AnynerError(f"--set {change!r}: write key.sub=value")
        *parents, last = dotted.strip().split(".")
        group = result
        for parent in parents:
            inner = group.get(parent)
            group[parent] = {**inner} if isinstance(inner, dict) else {}
            group = group[parent]
        try:
            group[last] = _value(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise AnynerError(f"--set {change[:200]!r}: the value is not valid YAML") from None
        if group[last] is None:
            del group[last]
    return result


def _value(written: str) -> Any:
    """YAML 1.1 reads 1e-4 as text; pydantic would take it, but `--set` should mean what it says."""
    if "e" in written.lower():
        try:
            return float(written)
        except ValueError:
            pass
    return yaml.safe_load(written)
