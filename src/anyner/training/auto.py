"""Settings that a recipe leaves open are chosen from the corpus by the rules below, and become plain keys of the recipe.

The rules were tuned on the dev sets of many corpora at once (docs/training.md). A head has rules of its own in `fitted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from anyner.encoding.config import SCRATCH, EncoderConfig
from anyner.settings import is_by_rule
from anyner.training.config import Recipe
from anyner.training.data.neighbours import follow_one_another
from anyner.training.data.splits import Corpora
from anyner.training.encoder import encoder_width, is_uncased

HELD_OUT = 0.1
"""Share of train that is held out if there is no dev file."""
AUGMENTATION = 0.3
"""`data.augmentation` for corpora with discontinuous entities."""
OVERSAMPLED = 3
"""`data.oversample_discontinuous` for the same corpora."""
WORD_SHAPES = 32
"""Width of the word shape embedding for uncased encoders."""
BATCH_SHARE, BATCHES = 1 / 200, (8, 32)
"""Sentences per batch: this share of the training documents, within these bounds."""
TOKENS_PER_SENTENCE = 256
"""`training.batch_tokens` for each sentence of a batch."""
REFERENCE_LR, REFERENCE_BATCH, REFERENCE_WIDTH, REFERENCE_STEPS = 1.2e-4, 32, 384, 1600
"""Learning rate of a pretrained encoder with this batch size, hidden size and at least this many steps. It is proportional to the
square root of the batch size and to 1 / hidden size; fewer steps raise it."""
MAX_LR_FACTOR = 2.0
"""Fewer steps raise the learning rate by at most this factor."""
SCRATCH_LRS = (1e-3, 2e-3)
"""Learning rates of an encoder trained from scratch and of a head on it."""
WORD_DROPOUT, SCRATCH_WORD_DROPOUT = 0.1, 0.3
AVERAGED = 0.1
"""Share of the epochs, the last ones, over which the weights are averaged."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in which the qualities differ."""

    epochs: int
    least_steps: int
    """More epochs are trained if these would be fewer steps."""
    adversarial: float = 0.0
    """`training.adversarial` for corpora with discontinuous entities: slower training, but more of them are found."""
    most_dev: int | None = None
    """Approximate maximum number of dev documents that are scored; None: all."""
    most_scored: int = 20
    """Maximum number of epochs after which dev is scored, evenly spread."""


STANDARD = Rules(epochs=10, least_steps=REFERENCE_STEPS, adversarial=0.5)
FAST = Rules(epochs=4, least_steps=600, most_dev=500, most_scored=2)


def completed(recipe: Recipe, corpora: Corpora, rules: Rules = STANDARD) -> Recipe:
    """The recipe with a value for every key that it leaves open."""
    return recipe.with_keys(choices(recipe, corpora, rules))


def choices_line(given: Recipe, recipe: Recipe) -> str:
    """One line with the values chosen for the keys that `given` leaves open; empty if there are none."""
    chosen = {key: attrgetter(key)(recipe) for key in open_keys(given)}
    shown = {key: value for key, value in chosen.items() if value is False or (value and value is not True)}
    if recipe.data.oversample_discontinuous == 1:
        shown.pop("data.oversample_discontinuous", None)
    listed = [f"{key}={f'{value:g}' if isinstance(value, float) else value}" for key, value in shown.items()]
    return f"chosen from the corpus (--set KEY=VALUE changes it): {', '.join(listed)}" if listed else ""


def choices(recipe: Recipe, corpora: Corpora, rules: Rules = STANDARD) -> dict[str, Any]:
    """Values, by dotted key, for what the recipe leaves open."""
    train, is_open = corpora.train.documents, set(open_keys(recipe))
    discontinuous = any(entity.discontinuous for document in train for entity in document.entities)
    chosen: dict[str, Any] = {}

    def choose(key: str, value: Any) -> None:
        if key in is_open:
            chosen[key] = value

    choose("architecture", "set_gner" if discontinuous else "biaffine")
    choose("text.words", "given" if any(document.words is not None for document in train) else "split")
    choose("data.held_out", 0.0 if len(corpora.dev) else HELD_OUT)
    choose("data.augmentation", AUGMENTATION if discontinuous else 0.0)
    choose("data.oversample_discontinuous", OVERSAMPLED if discontinuous else 1)
    choose("training.adversarial", rules.adversarial if discontinuous else 0.0)
    choose("encoder.word_shapes", WORD_SHAPES if "encoder.word_shapes" in is_open and is_uncased(recipe.encoder) else 0)
    batch = min(max(round(len(train) * BATCH_SHARE), BATCHES[0]), BATCHES[1])
    choose("training.batch_sentences", batch)
    batch = chosen.get("training.batch_sentences", recipe.training.batch_sentences)
    choose("training.batch_tokens", TOKENS_PER_SENTENCE * batch)
    choose("training.epochs", max(rules.epochs, -(-rules.least_steps * batch // max(1, len(train)))))
    epochs = chosen.get("training.epochs", recipe.training.epochs)
    choose("training.passages", follow_one_another(train, recipe.text))
    scratch = recipe.encoder.source == SCRATCH
    encoder_lr, head_lr = SCRATCH_LRS if scratch else (_encoder_lr(recipe.encoder, batch, epochs * len(train) / batch), 1e-3)
    choose("training.encoder_lr", encoder_lr)
    choose("training.head_lr", head_lr)
    choose("training.word_dropout", SCRATCH_WORD_DROPOUT if scratch else WORD_DROPOUT)
    choose("training.average_epochs", round(max(1.0, AVERAGED * epochs), 1))
    return chosen


def open_keys(recipe: Recipe) -> list[str]:
    """Dotted keys that have a rule and are not set in the recipe."""
    groups = {"": recipe, "data.": recipe.data, "encoder.": recipe.encoder, "text.": recipe.text, "training.": recipe.training}
    return [
        f"{group}{name}"
        for group, settings in groups.items()
        for name in type(settings).model_fields
        if is_by_rule(type(settings), name) and name not in settings.model_fields_set
    ]


def _encoder_lr(encoder: EncoderConfig, batch: int, steps: float) -> float:
    rate = REFERENCE_LR * (batch / REFERENCE_BATCH) ** 0.5 * REFERENCE_WIDTH / encoder_width(encoder)
    return float(f"{rate * min(max(1.0, REFERENCE_STEPS / max(1.0, steps)), MAX_LR_FACTOR):.2g}")
