"""How long a training takes on this machine, from a few of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anyner.training.config import Recipe
from anyner.training.data.splits import Splits
from anyner.training.loop import Trainer
from anyner.training.progress import Listener
from anyner.training.run import accelerator_of, build


@dataclass(frozen=True, slots=True)
class Estimate:
    training: float
    """Seconds for all steps, without dev scoring."""
    piece: float
    """Seconds per piece read once."""


def estimate(recipe: Recipe, data: Splits) -> Estimate:
    """Builds a model, trains it for a few steps and discards it."""
    recognizer, examples, _ = build(recipe, data)
    accelerator = accelerator_of()
    recognizer.model.to(accelerator.device)
    trainer = Trainer(
        recognizer,
        examples,
        None,
        recipe.training,
        last_epoch=recipe.training.epochs,
        folder=Path(),  # nothing is written
        keep_best=lambda tuned: None,
        listener=Listener(),
        accelerator=accelerator,
    )
    seconds, pieces = trainer.timed_steps()
    everything = sum(map(trainer.passages.size, (passage for batch in trainer.batches(0) for passage in batch)))
    return Estimate(seconds / pieces * everything * recipe.training.epochs, seconds / pieces)


def about(seconds: float) -> str:
    """An approximate duration in words.

    >>> about(20), about(500), about(8000)
    ('under a minute', 'about 8 min', 'about 2 h 13 min')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute"
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"
