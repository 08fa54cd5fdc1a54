"""`anyner.train`, `anyner.evaluate` and `anyner.calibrate`: the plain functions behind the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyner.corpora.corpus import counted
from anyner.corpora.source_documents import neighbours_attached
from anyner.document import Document, checked_documents
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import Evaluation, evaluate_documents
from anyner.inference.calibrate import Calibrated, calibrated_on
from anyner.inference.recognizer import Recognizer
from anyner.storage.calibration import check_target, store_calibration
from anyner.storage.files import DiskFullError
from anyner.storage.load import find, load

if TYPE_CHECKING:
    from anyner.training.config import Recipe
    from anyner.training.progress import Listener
    from anyner.training.run import TrainingResult

_CHECKED = 50
"""Dev documents on which the graph of a trained model is compared with torch."""


def train(
    recipe: str | Path | Recipe | Mapping[str, Any],
    output: str | Path,
    changes: Sequence[str] = (),
    resume: bool = False,
    listener: Listener | None = None,
    *,
    quality: str = "standard",
    texts: Sequence[Document] = (),
    graph: bool = True,
) -> TrainingResult:
    """Trains the model of a recipe (a YAML file, its keys as a dict, or a `Recipe`) and saves it in a folder for `anyner.load`.

    `quality` is fast, standard or best; best also learns from unannotated `texts`. `graph`: also export the model for prediction
    without torch, which takes about as long as an epoch on a small corpus.
    """
    _check_installed()
    from anyner.training.checkpoint import has_checkpoint
    from anyner.training.config import Recipe, changed
    from anyner.training.processes import is_main_process
    from anyner.training.quality import train as train_with

    if isinstance(changes, str):
        raise AnynerError(f"changes: expected a list of key.sub=value, got the str {changes!r}")
    if isinstance(recipe, Mapping):
        recipe = Recipe.of(changed(recipe, changes), "recipe")
    elif isinstance(recipe, str | Path):
        recipe = Recipe.read(recipe, changes)
    elif not isinstance(recipe, Recipe):
        raise AnynerError(f"recipe: expected a YAML file, a dict or a Recipe, got {type(recipe).__name__}")
    elif changes:
        recipe = Recipe.of(changed(recipe.plain(), changes), "recipe")
    try:
        result = train_with(recipe, Path(output), quality=quality, texts=texts, resume=resume, listener=listener)
    except DiskFullError as error:
        then = "resume the training" if has_checkpoint(Path(output)) else "start again"
        raise DiskFullError(f"{error}: free some space, then {then}") from None
    if graph and is_main_process():
        _add_graph(result.folder, listener)
    return result


def _check_installed() -> None:
    for name in ("torch", "transformers", "accelerate"):
        try:
            import_module(name)
        except ModuleNotFoundError:
            raise AnynerError(f"training needs {name}, which is not installed: pip install 'anyner[train]'") from None


def _add_graph(folder: Path, listener: Listener | None) -> None:
    """Exports a trained model. A failure is only noted: the model still runs in torch."""
    try:
        from anyner.export.parity import add_checked_graph
        from anyner.training.data.splits import dev_documents

        parity = add_checked_graph(folder, dev_documents(folder, _CHECKED))
        entities = counted(parity.entities, "entity", "entities")
        found = f"the same {entities} in {counted(parity.documents, 'dev document')}"
        note = f"exported for prediction without torch: {found}"
    except ModuleNotFoundError as error:
        note = f"note: not exported for prediction without torch: {error.name} is not installed (pip install 'anyner[train]')"
    except AnynerError as error:
        note = f"note: not exported for prediction without torch: {error}"
    if listener is not None:
        listener.note(note)


def evaluate(
    recognizer: Recognizer,
    documents: Iterable[Document],
    *,
    train_surfaces: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
    thresholds: Mapping[str, float] | None = None,
    overlap: str | None = None,
    watched: Callable[[Iterable[Document]], Iterable[Document]] = iter,
) -> Evaluation:
    """Scores a model on gold documents: strict and relaxed scores, slices and errors.

    `watched` wraps the stream of predicted documents, e.g. to count them.
    """
    if isinstance(documents, str | Path):
        raise AnynerError(f"documents: expected documents, got a file name: read it with anyner.read({str(documents)!r})")
    if not isinstance(recognizer, Recognizer):
        raise AnynerError(f"recognizer: expected a model from anyner.load, got {type(recognizer).__name__}")
    gold = with_context(checked_documents(documents), recognizer)
    predicted = list(watched(recognizer.stream(gold, options=options, thresholds=thresholds, overlap=overlap)))
    return evaluate_documents(gold, predicted, None if train_surfaces is None else frozenset(train_surfaces))


def calibrate(
    model: str | Path,
    documents: Iterable[Document],
    *,
    precision: float | None = None,
    recall: float | None = None,
    thresholds: bool = True,
    output: str | Path | None = None,
    device: str | None = None,
) -> Calibrated:
    """Calibrates the scores of a model folder on gold documents that it was not trained on, and stores the calibration.

    Also chooses a threshold for each label, for F1 or for a target precision or recall; with `thresholds=False` the model finds
    the same entities as before. `output`: a folder for a calibrated copy, needed for bundled models and those from the hub.
    """
    if isinstance(documents, str | Path):
        raise AnynerError(f"documents: expected documents, got a file name: read it with anyner.read({str(documents)!r})")
    folder, copy = find(model), None if output is None else Path(output)
    check_target(model, folder, copy)
    recognizer = load(folder, device)
    gold = with_context(checked_documents(documents), recognizer)
    found = calibrated_on(recognizer, gold, precision=precision, recall=recall, thresholds=thresholds)
    store_calibration(folder, found.calibration, copy)
    return found


def with_context(documents: Iterable[Document], recognizer: Recognizer) -> tuple[Document, ...]:
    """The documents, with neighbouring sentences attached if the model reads context."""
    gold, context = tuple(documents), recognizer.config.text.context
    return neighbours_attached(gold, context) if context else gold
