"""Trains a recipe, or takes a model that is trained, and scores it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from anyner.api import train
from anyner.benchmark.record import header
from anyner.benchmark.speed import with_neighbours
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CONFIG, RECIPE
from anyner.storage.load import load
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.progress import Listener


def trained(
    recipe: Recipe, folder: Path, listener: Listener | None, keep_interrupted: bool = False, resume: bool = False
) -> None:
    """With `keep_interrupted` one that is cut short can be scored by its best epoch so far; the result tells how many it had.

    With `resume` what an earlier try began is gone on with; what it completed with this recipe stays as it is.
    """
    if resume and _complete(folder, recipe):
        return
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        train(recipe, folder, resume=resume and has_checkpoint(folder), listener=listener)
    except KeyboardInterrupt:
        if not keep_interrupted or not (folder / CONFIG).is_file():
            raise


def _complete(folder: Path, recipe: Recipe) -> bool:
    """Whether a training with this recipe came to its end there: from its first batch until then a checkpoint lies beside it."""
    holds_training = (folder / CONFIG).is_file() and (folder / RECIPE).is_file()
    return holds_training and not has_checkpoint(folder) and Recipe.read(folder / RECIPE) == recipe


def scored(
    folder: Path, documents: Iterable[Document] | None, side_by_side: int = 1, scored_on: str | None = None
) -> dict[str, Any]:
    """How a model folder was trained and, unless there are no `documents`, its scores on them.

    `scored_on` names their corpus if it is not the recipe's own.
    """
    recipe, epochs = training_of(folder)
    best = epochs[-1] if recipe.refit is not None else max(epochs, key=lambda epoch: epoch["dev_f1"])
    result = {
        **header("accuracy"),
        "recipe": recipe.model_dump(mode="json", exclude_defaults=True),
        "seed": recipe.training.seed,
        "runs_side_by_side": side_by_side,
        "training_seconds": round(epochs[-1]["seconds"], 1),
        "training_sentences_per_second": median(epoch["sentences_per_second"] for epoch in epochs),
        "epochs": len(epochs),
        "best_epoch": best["epoch"],
        "dev_f1": best["dev_f1"],
        "dev_discontinuous_f1": best.get("dev_discontinuous_f1"),
        "thresholds": best["thresholds"],
        "peak_gpu_bytes": torch.cuda.max_memory_allocated() or None,  # nothing yet where another process trained it
    }
    if scored_on is not None:
        result["scored_on"] = scored_on
    if documents is not None:
        result |= _on_test(load(folder), tuple(documents))
    return result


def _on_test(recognizer: Recognizer, documents: tuple[Document, ...]) -> dict[str, Any]:
    """Scores, and how fast the documents were read: once and with all that the first call sets up; speed.py measures better."""
    gold = with_neighbours(recognizer, documents)
    began = time.perf_counter()
    predicted = list(recognizer.stream(gold))
    seconds = time.perf_counter() - began
    return {
        "prediction_sentences_per_second": round(len(gold) / seconds, 1),
        "test": evaluate_documents(gold, predicted).to_json(),
    }


def training_of(folder: Path) -> tuple[Recipe, Sequence[dict[str, Any]]]:
    """The recipe of a model folder, and what it wrote down after every epoch."""
    recorded = folder / "metrics.jsonl"
    if not (folder / RECIPE).is_file() or not recorded.is_file():
        raise AnynerError(f"{folder}: does not say how it was trained ({RECIPE} and {recorded.name}): benchmark its recipe")
    epochs = [json.loads(line) for line in recorded.read_text(encoding="utf-8").splitlines()]
    if not epochs:
        raise AnynerError(f"{recorded}: holds no epoch")
    return Recipe.read(folder / RECIPE), epochs


def test_documents(recipe: Recipe) -> tuple[Document, ...]:
    documents = read_data(recipe.data, recipe.text).test
    if not documents:
        raise AnynerError("the recipe names no test documents: name a corpus to score on")
    return documents


def corpus_of(recipe: Recipe) -> str:
    if recipe.data.synthetic is not None:
        return "synthetic"
    return Path(recipe.data.folder).name if recipe.data.folder else named_by_files([source.path for source in recipe.data.train])


def named_by_files(paths: Sequence[str]) -> str:
    """What to call a corpus of these training files: the file's own name, or its folder's where it is only called train."""
    names = []
    for path in map(Path, paths):
        own, folder = path.name.split(".")[0], path.parent.name
        names.append(folder if own == "train" and folder else own)
    return "+".join(dict.fromkeys(names))


def name_of(recipe: Recipe, corpus: str | None = None) -> str:
    """architecture-corpus-encoder-seed, as results files are named; `corpus` if it is not the recipe's own."""
    return f"{recipe.architecture}-{corpus or corpus_of(recipe)}-{Path(recipe.encoder.source).name}-seed{recipe.training.seed}"
