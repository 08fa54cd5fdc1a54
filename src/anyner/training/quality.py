"""How much work a training does: fast, standard or best, with the same meaning for every architecture.

fast        few steps: minutes on a small machine
standard    one training
best        three stages: pre-training on the texts, cross-validation (soft labels), and a refit on all documents
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from anyner.document import Document
from anyner.encoding.config import SCRATCH
from anyner.errors import AnynerError
from anyner.storage.files import CONFIG
from anyner.training.auto import FAST, STANDARD, choices_line, completed
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.cross_validation import REFIT, SOFT_LABELS, cross_validate, with_refit
from anyner.training.data.splits import Corpora, split_data
from anyner.training.estimate import about, estimate
from anyner.training.pretraining import EPOCHS, pretrain
from anyner.training.processes import check_one_process
from anyner.training.progress import Listener
from anyner.training.run import TrainingResult, check_entities, run
from anyner.training.side_by_side import gpus

Quality = Literal["fast", "standard", "best"]
FOLDS = 5
STAGES = "stages"
"""Subfolder of the model folder with the output of the stages of `best`."""
_PIECE_CHARS = 4
"""Approximate number of characters in a piece."""


def train(
    recipe: Recipe,
    folder: Path,
    *,
    quality: str = "standard",
    texts: Sequence[Document] = (),
    resume: bool = False,
    listener: Listener | None = None,
) -> TrainingResult:
    """Trains a model and writes it into a folder. `texts`: unannotated texts, only with quality best."""
    listener = listener or Listener()
    if quality not in get_args(Quality):
        raise AnynerError(f"quality: expected fast, standard or best, got {quality!r}")
    if texts and quality != "best":
        raise AnynerError(f"texts: unannotated texts need quality best, got {quality}")
    if quality != "best":
        return run(recipe, folder, resume, listener, rules=FAST if quality == "fast" else STANDARD)
    return _in_stages(recipe, folder, texts, listener)


def _in_stages(recipe: Recipe, folder: Path, texts: Sequence[Document], listener: Listener) -> TrainingResult:
    """A repeated call resumes where the previous one stopped; finished stages are not repeated."""
    check_one_process("quality best")
    if recipe.refit is not None:
        raise AnynerError("quality best finds the epoch and thresholds itself: remove `refit` from the recipe")
    if (folder / CONFIG).is_file() and not has_checkpoint(folder):
        raise AnynerError(f"{folder} already holds a model: choose another output folder")
    encoder, folds = folder / STAGES / "encoder", folder / STAGES / "folds"
    with listener.running("reading the corpus"):
        corpora = Corpora.read(recipe.data)
    given, recipe = recipe, completed(recipe, corpora)
    if line := choices_line(given, recipe):
        listener.note(line)
    pretrains = recipe.encoder.source != SCRATCH
    done = {
        "encoder": (encoder / CONFIG).is_file() and not has_checkpoint(encoder),
        "folds": (folds / REFIT).is_file(),
    }
    listener.note(_plan(recipe, corpora, texts, pretrains=pretrains, done=done))
    if pretrains:
        if not done["encoder"]:
            pretrain(recipe, encoder, texts, listener=listener)
        recipe = recipe.with_keys({"encoder.source": str(encoder)})
    if not done["folds"]:
        cross_validate(recipe, folds, FOLDS, listener)
    recipe = with_refit(recipe.with_keys({"data.soft_labels": [{"path": str(folds / SOFT_LABELS)}]}), folds)
    return run(recipe, folder, has_checkpoint(folder), listener)


def _plan(recipe: Recipe, corpora: Corpora, texts: Sequence[Document], *, pretrains: bool, done: Mapping[str, bool]) -> str:
    """One line with the stages, each with its estimated time or `done`."""
    data = split_data(corpora, recipe.data, recipe.text)
    check_entities(data, scores_dev=False)  # the folds find the best epoch and thresholds
    found = estimate(recipe, data)
    epochs, on_all = recipe.training.epochs, found.training * (len(data.train) + len(data.dev)) / len(data.train)
    in_turn = -(-FOLDS // max(1, len(gpus())))
    characters = sum(len(document.text) for document in (*data.train, *texts))
    stages = [
        ("encoder", f"pre-train the encoder on the texts, {EPOCHS} epochs", EPOCHS * characters / _PIECE_CHARS * found.piece),
        ("folds", f"cross-validate, {FOLDS} trainings of {epochs} epochs", on_all * (FOLDS - 1) / FOLDS * in_turn),
        ("model", "train on all documents", on_all),
    ]
    taken = [(text, None if done.get(name) else seconds) for name, text, seconds in stages if pretrains or name != "encoder"]
    lines = [f"{text}: {'done' if seconds is None else about(seconds)}" for text, seconds in taken]
    left = about(sum(seconds or 0.0 for _, seconds in taken))
    return f"best takes {left} here: " + "; ".join(f"({number}) {line}" for number, line in enumerate(lines, 1))
