"""What a recipe leaves open is chosen from the corpus, by the rules below; the choices become plain keys of the recipe.

They were chosen on dev of many corpora at once (docs/training.md). A head has its own rules in `fitted`.
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
"""Share of train that becomes dev where there is none."""
AUGMENTATION = 0.3
"""New sentences with coordinated entities, where some are discontinuous."""
OVERSAMPLED = 3
"""Times that a sentence with a discontinuous entity is seen in an epoch."""
WORD_SHAPES = 32
"""Width of the embedding of word shapes, where the encoder does not see capitals."""
BATCH_SHARE, BATCHES = 1 / 200, (8, 32)
"""Sentences of a batch: so many of the training sentences, within bounds."""
TOKENS_A_SENTENCE = 256
"""Room in a batch for so many pieces of each of its sentences."""
ENCODER_LR, OF_BATCH, OF_WIDTH, OF_STEPS = 1.2e-4, 32, 384, 1600
"""Learning rate of a pretrained encoder of this width with this batch, in at least so many steps. It grows with the root of the
batch, and shrinks with the width; it is greater where steps are fewer."""
MOST_OF_FEW_STEPS = 2.0
"""Times the rate that it is then at most."""
SCRATCH_LRS = (1e-3, 2e-3)
"""Of an encoder that is trained from scratch, and of a head on it."""
WORD_DROPOUT, SCRATCH_WORD_DROPOUT = 0.1, 0.3
AVERAGED = 0.1
"""Share of the epochs, the last ones, whose weights are averaged."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Where the qualities differ."""

    epochs: int
    least_steps: int
    """More epochs where these would be fewer steps."""
    adversarial: float = 0.0
    """Step of adversarial training where some entities are discontinuous: it takes twice as long, and finds more of them."""
    most_dev: int | None = None
    """Dev documents that are scored, where there are more."""
    most_scored: int = 20
    """Epochs after which dev is scored, evenly spread."""


STANDARD = Rules(epochs=10, least_steps=OF_STEPS, adversarial=0.5)
FAST = Rules(epochs=4, least_steps=600, most_dev=500, most_scored=2)


def completed(recipe: Recipe, corpora: Corpora, rules: Rules = STANDARD) -> Recipe:
    """The recipe with a value for every key that it leaves open."""
    return recipe.with_keys(choices(recipe, corpora, rules))


def told(given: Recipe, recipe: Recipe) -> str:
    """What was chosen for a recipe, in one line; empty if nothing was."""
    chosen = {key: attrgetter(key)(recipe) for key in open_keys(given)}
    worth_telling = {key: value for key, value in chosen.items() if value is False or (value and value is not True)}
    if recipe.data.oversample_discontinuous == 1:
        worth_telling.pop("data.oversample_discontinuous", None)
    listed = [f"{key}={f'{value:g}' if isinstance(value, float) else value}" for key, value in worth_telling.items()]
    return f"chosen from the corpus (--set KEY=VALUE changes it): {', '.join(listed)}" if listed else ""


def choices(recipe: Recipe, corpora: Corpora, rules: Rules = STANDARD) -> dict[str, Any]:
    """By dotted key: a value for what the recipe leaves open."""
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
    choose("training.batch_tokens", TOKENS_A_SENTENCE * batch)
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
    """Dotted keys that are chosen by rule and that the recipe does not have."""
    groups = {"": recipe, "data.": recipe.data, "encoder.": recipe.encoder, "text.": recipe.text, "training.": recipe.training}
    return [
        f"{group}{name}"
        for group, settings in groups.items()
        for name in type(settings).model_fields
        if is_by_rule(type(settings), name) and name not in settings.model_fields_set
    ]


def _encoder_lr(encoder: EncoderConfig, batch: int, steps: float) -> float:
    rate = ENCODER_LR * (batch / OF_BATCH) ** 0.5 * OF_WIDTH / encoder_width(encoder)
    return float(f"{rate * min(max(1.0, OF_STEPS / max(1.0, steps)), MOST_OF_FEW_STEPS):.2g}")
