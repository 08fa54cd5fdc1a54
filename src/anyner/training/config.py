"""A recipe: the YAML file that trains one model. Every key is checked; an error names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, model_validator

from anyner.encoding.config import EncoderConfig
from anyner.errors import AnynerError
from anyner.inference.config import Precision
from anyner.overlap import Policy
from anyner.settings import Settings, by_rule
from anyner.text.config import TextConfig


class Source(Settings):
    """A file or folder of documents."""

    path: str
    format: str | None = None
    """Default: detected from the content."""
    labels: tuple[str, ...] | None = None
    """The labels annotated in it; default: all. Labels that are not annotated give no loss there."""


def _as_sources(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return tuple({"path": item} if isinstance(item, str) else item for item in listed)


Sources = Annotated[tuple[Source, ...], BeforeValidator(_as_sources)]


class SyntheticData(Settings):
    """The embedded corpus."""

    sentences: int = Field(default=1500, ge=1)
    """Training sentences; dev has 2/15 as many, test 4/15."""
    contiguous: bool = False
    """Only flat and nested entities."""


class DataConfig(Settings):
    folder: str | None = None
    """A folder with train, dev and test files."""
    train: Sources = ()
    dev: Sources = ()
    test: Sources = ()
    synthetic: SyntheticData | None = None
    held_out: float = by_rule(0.0, ge=0.0, lt=1.0)
    """Share of the source documents (`doc`) of train and dev that become dev, the last ones; all others train. For corpora
    without a dev file, or whose dev file shares source documents with train."""
    augmentation: float = by_rule(0.0, ge=0.0)
    """Coordination augmentation: number of new sentences, as a share of the training documents, in which entities that begin or
    end alike are coordinated: "hip pain" becomes "hip and knee pain". 0: none."""
    oversample_discontinuous: int = by_rule(1, ge=1)
    """How often a training sentence with discontinuous entities is seen in an epoch; augmented sentences are seen once."""
    soft_labels: Sources = ()
    """Predictions of other models on the training texts, with scores: targets beside the gold wherever every span is scored.
    Use out-of-fold predictions, as `anyner cross-validate` writes them."""

    def documents_only(self) -> Self:
        """The same documents without augmentation and soft labels."""
        return self.updated({"augmentation": 0.0, "soft_labels": ()}, "data")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum((self.folder is not None, bool(self.train), self.synthetic is not None)) != 1:
            raise ValueError("set exactly one of folder, train (with dev) and synthetic")
        if any(source.labels is not None for source in self.soft_labels):
            raise ValueError("soft_labels: sources of soft labels take no `labels`; remove them")
        return self


TrackerName = Literal["tensorboard", "mlflow", "wandb"]


class TrainingConfig(Settings):
    """Keys `by_rule` are chosen from the corpus unless a recipe has them (`auto.py`)."""

    epochs: int = by_rule(10, ge=1)
    passages: bool = by_rule(True)
    """Read source documents whole, in short passages or sentence by sentence, sampled again in each epoch; false: every document
    of the files separately, for comparison with papers."""
    batch_sentences: int = by_rule(32, ge=1)
    """Maximum number of sentences in a batch."""
    batch_tokens: int = by_rule(8192, ge=64)
    """Maximum number of pieces in a batch, padding included."""
    encoder_lr: float = by_rule(1e-4, gt=0, le=1000)
    head_lr: float = by_rule(1e-3, gt=0, le=1000)
    """Learning rate of everything that is not pretrained."""
    word_dropout: float = by_rule(0.1, ge=0.0, lt=1.0)
    """Share of the words replaced by the unknown piece, sampled again in each epoch."""
    adversarial: float = by_rule(0.0, ge=0.0)
    """FGM: size of the perturbation of the embeddings, relative to their mean length. A step takes about 1.6 times as long.
    0: off."""
    average_epochs: float = by_rule(1.0, ge=0.0)
    """Average the weights over about this many last epochs; dev is scored and models are saved with the average. 0: off."""
    patience: int | None = Field(default=None, ge=1)
    """Early stopping: number of epochs without a better dev score."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    precision: Precision = "auto"
    """Precision of matrix products; auto: bfloat16 on GPUs that support it."""
    trackers: tuple[TrackerName, ...] = ()
    """Experiment trackers that also receive the losses and dev scores of `metrics.jsonl`; each must be installed."""


class RefitConfig(Settings):
    """Trains on train and dev, with the epoch and thresholds that an earlier training or a cross-validation found best."""

    epoch: int = Field(ge=1)
    """The last epoch; learning rates decay as if all training.epochs followed."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Thresholds of the model; the architecture's defaults for those left out."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses duplicate keys; PyYAML alone would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in seen:
                fault = "a key must be a scalar" if not isinstance(key, yaml.ScalarNode) else f"duplicate key {key.value!r}"
                raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class Recipe(Settings):
    data: DataConfig
    encoder: EncoderConfig = EncoderConfig()
    text: TextConfig = TextConfig()
    architecture: str = by_rule("biaffine")
    head: dict[str, Any] = Field(default_factory=dict)
    """Settings of the architecture, as its page lists them."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Defaults of the call options (steps, beams, samples …), as the architecture's page lists them."""
    overlap: Literal["auto", Policy] = "auto"
    """auto: the strictest policy that the training corpus satisfies; discontinuous entities count only if the architecture can
    express them."""
    training: TrainingConfig = TrainingConfig()
    refit: RefitConfig | None = None
    """If set, the model trains on train and dev, and nothing is scored."""

    @model_validator(mode="after")
    def _refit_within_epochs(self) -> Self:
        known = "epochs" in self.training.model_fields_set  # else chosen later
        if self.refit is not None and known and self.refit.epoch > self.training.epochs:
            raise ValueError(f"refit.epoch is {self.refit.epoch}, but training.epochs is {self.training.epochs}")
        return self

    @classmethod
    def read(cls, path: str | Path, changes: Sequence[str] = ()) -> Self:
        """The recipe in a YAML file, with `key.sub=value` changes on top."""
        file = Path(path)
        if file.is_dir():
            raise AnynerError(f"{path} is a folder, not a recipe: write a YAML file with data: {{folder: {path}}}")
        if not file.is_file():
            raise AnynerError(f"{path}: no such recipe")
        try:
            plain = yaml.load(file.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
        except RecursionError:
            raise AnynerError(f"{path}: not valid YAML for a recipe: nested too deeply") from None
        except (yaml.YAMLError, ValueError) as error:  # ValueError: bytes that are not text, impossible dates
            raise AnynerError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
        if not isinstance(plain, dict):
            raise AnynerError(f"{path}: a recipe is a mapping of keys, got {type(plain).__name__}")
        return cls.of(changed(plain, changes), str(path))

    def with_keys(self, values: Mapping[str, Any]) -> Self:
        """A copy with these values, given by dotted key; validated again."""
        plain = self.plain()
        for key, value in values.items():
            group, _, name = key.rpartition(".")
            (plain.setdefault(group, {}) if group else plain)[name] = value
        return self.of(plain, "recipe")

    def plain(self) -> dict[str, Any]:
        """The keys that are set, as plain data."""
        return self.model_dump(mode="json", exclude_unset=True)

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.plain(), sort_keys=False, allow_unicode=True)


def changed(plain: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The plain recipe with `key.sub=value` changes; values are YAML, `null` removes a key."""
    result = {**plain}
    for change in changes:
        dotted, equals, value = change.partition("=")
        if not equals or not dotted.strip():
            raise AnynerError(f"--set {change!r}: write key.sub=value")
        *parents, last = dotted.strip().split(".")
        group = result
        for parent in parents:
            inner = group.get(parent)
            group[parent] = group = {**inner} if isinstance(inner, dict) else {}
        try:
            group[last] = _value(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise AnynerError(f"--set {change[:200]!r}: the value is not valid YAML") from None
        if group[last] is None:
            del group[last]
    return result


def _value(written: str) -> Any:
    """YAML 1.1 reads 1e-4 as a string; here it is a number."""
    if "e" in written.lower():
        with suppress(ValueError):
            return float(written)
    return yaml.safe_load(written)
