"""From a recipe to a model folder: read, build, train, write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import broadcast_object_list

from anyner.architectures.base import Head
from anyner.architectures.registry import head_class
from anyner.architectures.settings import HeadConfig, with_preset
from anyner.corpora.corpus import counted, summary
from anyner.encoding.encoder import Encoder
from anyner.encoding.examples import Example
from anyner.encoding.shapes import ShapeVocabulary
from anyner.encoding.untrusted import kept_settings
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import torch_recognizer
from anyner.inference.tuning import Tuner
from anyner.layers.span_classifier import SpanScores
from anyner.model import NerModel
from anyner.training import trackers
from anyner.training.auto import STANDARD, Rules, choices_line, completed
from anyner.training.checkpoint import remove_checkpoint
from anyner.training.config import Recipe, RefitConfig
from anyner.training.data.example_file import EXAMPLES, ExampleFile, fitting, hash_of_data, is_available
from anyner.training.data.examples import DataCheck, training_examples, word_entities
from anyner.training.data.splits import Corpora, Splits, dev_passages, split_data, thinned
from anyner.training.data.statistics import corpus_statistics, strictest_policy
from anyner.training.encoder import limited_weights, starting_encoder
from anyner.training.loop import Outcome, Trainer
from anyner.training.model_folder import BestModel, begin_folder, check_folder, check_recipe, read_metrics
from anyner.training.processes import locked, lost_processes_reported
from anyner.training.progress import Listener
from anyner.version import __version__

_MANY_KINDS, _MUCH_MEMORY = 50, 2.0
"""The memory of a step is estimated from this many labels on, and reported if it exceeds this many GB."""
LARGE = 200_000
"""From this many training documents on, the examples (about 6 kB each) are kept in a file instead of in memory."""
_PROGRESS_NOTES = 20
"""Number of progress notes while that file is written."""
_TABLES = 9
"""Copies of the score table (spans by labels) that a step holds at once (measured)."""


Keep = Callable[[Recognizer, Iterable[Example]], Sequence[Example]]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    folder: Path
    outcome: Outcome


def run(
    recipe: Recipe,
    folder: Path,
    resume: bool = False,
    listener: Listener | None = None,
    data: Splits | None = None,
    *,
    rules: Rules = STANDARD,
) -> TrainingResult:
    """Trains one model. Its folder gets the model of the best epoch, the recipe, the card and metrics.jsonl.

    `data` replaces the documents that the recipe names; `rules` choose what it leaves open.
    """
    trackers.check_installed(recipe.training.trackers)
    accelerator = accelerator_of(recipe.training.trackers, folder)
    listener = listener if listener is not None and accelerator.is_main_process else Listener()  # the others are silent
    given = recipe
    with ExitStack() as held:
        held.enter_context(lost_processes_reported())
        _claim(folder, resume, accelerator, held)
        if data is None:
            with listener.running("reading the corpus"):
                corpora = Corpora.read(recipe.data)
                recipe = completed(recipe, corpora, rules)
                data = split_data(corpora, recipe.data, recipe.text, dev_trains=recipe.refit is not None)
        if rules.most_dev is not None and len(dev := thinned(data.dev, rules.most_dev)) < len(data.dev):
            listener.note(f"{len(dev):,} of the {len(data.dev):,} dev documents are scored")
            data = replace(data, dev=dev)
        check_recipe(folder, recipe, resume)
        training, refit = recipe.training, recipe.refit
        check_entities(data, scores_dev=recipe.refit is None)
        with listener.running("building the model and cutting the documents into windows"):
            recognizer, examples, check = build(recipe, data, _keep(folder, recipe, data, listener, accelerator))
        recognizer.model.to(accelerator.device)
        _report(listener, recipe, data, recognizer, check)
        if line := choices_line(given, recipe):
            listener.note(line)
        best_model = BestModel(recognizer, recipe, folder, data)
        trainer = Trainer(
            recognizer,
            examples,
            Tuner(recognizer, dev_passages(data.dev, training.passages)) if refit is None else None,
            training,
            last_epoch=training.epochs if refit is None else refit.epoch,
            folder=folder,
            keep_best=best_model.keep,
            listener=listener,
            accelerator=accelerator,
            most_scored=rules.most_scored,
        )
        if note := _memory_note(recognizer.model.head, trainer):
            listener.note(note)
        if resume:
            trainer.resume()
            if trainer.place.best_epoch >= 0:
                read_metrics(folder)  # refuses a folder without the best model so far
        if accelerator.is_main_process:
            begin_folder(folder, recipe)
        trackers.start(accelerator, recipe, folder)
        held.callback(trackers.finish, accelerator)
        outcome = trainer.train()
        if accelerator.is_main_process:
            best_model.finish(outcome)
            remove_checkpoint(folder)
            (folder / EXAMPLES).unlink(missing_ok=True)
        accelerator.wait_for_everyone()
    return TrainingResult(folder, outcome)


def build(recipe: Recipe, data: Splits, keep: Keep | None = None) -> tuple[Recognizer, Sequence[Example], DataCheck]:
    """A new, untrained recognizer, the training examples and the data check. `keep` stores the examples; default: a list."""
    torch.manual_seed(recipe.training.seed)
    check = DataCheck(problems=data.problems)
    entities = [word_entities(document, recipe.text, check) for document in data.train]
    pretrained, vocabulary = starting_encoder(recipe.encoder, data.train)
    with limited_weights("encoder"):
        shapes = ShapeVocabulary.learned(data.train, recipe.text) if recipe.encoder.word_shapes else None
        encoder = Encoder(recipe.encoder, pretrained, shapes)
    statistics = corpus_statistics(data, entities, text=recipe.text, encoder=encoder, cut=vocabulary.cut)
    head_type = head_class(recipe.architecture)
    head, options = with_preset(head_type.Config, recipe.head, recipe.options)
    head_config = head_type.Config.of(head, "head").fitted(statistics)
    call_options = head_type.CallOptions.of(options, "options")
    head_config.check_options(call_options)
    with limited_weights("head"):
        model = NerModel(encoder, head_type(head_config, statistics.labels, encoder))
        model.head.start(encoder, vocabulary.cut)
    config = ModelConfig(
        anyner_version=__version__,
        architecture=recipe.architecture,
        head=head_config.model_dump(mode="json"),
        labels=statistics.labels,
        text=recipe.text,
        encoder=recipe.encoder,
        pretrained=kept_settings(pretrained.config.to_dict()),
        thresholds=_thresholds(head_config, recipe.refit),
        options=call_options.model_dump(mode="json"),
        overlap=strictest_policy(entities, head_config.shapes()) if recipe.overlap == "auto" else recipe.overlap,
        seed=recipe.training.seed,
    )
    recognizer = torch_recognizer(model, vocabulary, config, recipe.training.precision)
    examples = training_examples(recognizer, data, entities, recipe.data.oversample_discontinuous, check)
    return recognizer, list(examples) if keep is None else keep(recognizer, examples), check


def _keep(folder: Path, recipe: Recipe, data: Splits, listener: Listener, accelerator: Accelerator) -> Keep | None:
    """How to store the examples: for a large corpus in a file in the folder, which a resumed training reuses. None: in memory."""
    if len(data.train) < LARGE:
        return None
    if not is_available():
        listener.note("note: all training examples are held in memory; to keep them in a file: pip install 'anyner[parquet]'")
        return None

    def in_a_file(recognizer: Recognizer, examples: Iterable[Example]) -> ExampleFile:
        path = folder / EXAMPLES
        if accelerator.is_local_main_process:
            made_from = hash_of_data(recipe, data, recognizer.vocabulary)
            if fitting(path, made_from) is None:
                ExampleFile.write(_with_progress(examples, len(data.train), listener), path, made_from)
        accelerator.wait_for_everyone()
        return ExampleFile(path)

    return in_a_file


def _with_progress(examples: Iterable[Example], documents: int, listener: Listener) -> Iterator[Example]:
    """The examples; their number so far is reported from time to time."""
    for number, example in enumerate(examples, 1):
        yield example
        if number % max(1, documents // _PROGRESS_NOTES) == 0:
            listener.note(f"cutting {documents:,} training documents into windows: {number:,} so far")


def _memory_note(head: Head, trainer: Trainer) -> str | None:
    """Heads that score every span for every label need memory that grows with the labels and with the square of the words."""
    kinds = max((len(layer.bilinear) for layer in head.modules() if isinstance(layer, SpanScores)), default=0)
    if kinds < _MANY_KINDS:
        return None
    spans = max(len(batch) * max(map(trainer.passages.size, batch)) ** 2 for batch in trainer.batches(0))
    gigabytes = _TABLES * 4 * kinds * spans / 1e9
    if gigabytes <= _MUCH_MEMORY:
        return None
    return (
        f"note: every span is scored for each of {len(head.labels):,} labels: a step needs up to {gigabytes:.0f} GB; "
        "a smaller training.batch_tokens or text.window needs less"
    )


def _thresholds(head: HeadConfig, refit: RefitConfig | None) -> dict[str, float]:
    """The architecture's defaults, overridden by those of a refit."""
    known = head.default_thresholds()
    given = refit.thresholds if refit is not None else {}
    if unknown := [name for name in given if name not in known]:
        raise AnynerError(
            f"refit.thresholds: unknown threshold {unknown[0]!r}; the architecture has: {', '.join(known) or 'none'}"
        )
    return {**known, **given}


def accelerator_of(log_with: Sequence[str] = (), folder: Path | None = None) -> Accelerator:
    """`log_with`: experiment trackers; TensorBoard writes to the folder."""
    # A head that alternates objectives leaves parameters without gradient in some steps. Buffers never change.
    ddp = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    # Accelerate can set mixed precision only once per process, so the loop does it.
    return Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision="no",
        kwargs_handlers=[ddp],
        log_with=list(log_with) or None,
        project_dir=folder,
    )


def _claim(folder: Path, resume: bool, accelerator: Accelerator, held: ExitStack) -> None:
    """The main process locks and checks the folder; if it cannot, all processes raise its error."""
    refused: AnynerError | None = None
    if accelerator.is_main_process:
        try:
            held.enter_context(locked(folder))
            check_folder(folder, resume)
        except AnynerError as error:
            refused = error
    refused = broadcast_object_list([refused])[0]
    if refused is not None:
        raise refused


def check_entities(data: Splits, *, scores_dev: bool) -> None:
    found = f"; {summary(data.problems)}" if data.problems else ""  # entities that the readers dropped may be the reason
    if not any(document.entities for document in data.train):
        raise AnynerError(f"data.train has no entity: there is nothing to learn{found}")
    if scores_dev and not any(document.entities for document in data.dev):
        raise AnynerError(f"data.dev has no entity: it is needed to find the best epoch and thresholds{found}")


def _report(listener: Listener, recipe: Recipe, data: Splits, recognizer: Recognizer, check: DataCheck) -> None:
    entities = sum(len(document.entities) for document in data.train)
    labels = ", ".join(data.labels[:12]) + (f" and {len(data.labels) - 12} more" if len(data.labels) > 12 else "")
    dev = counted(len(data.dev), "dev document") if recipe.refit is None else "dev included"
    listener.note(
        f"{recipe.architecture} on {recipe.encoder.source}: {counted(len(data.train), 'training document')} with "
        f"{counted(entities, 'entity', 'entities')}, {dev}; labels {labels}; overlap policy {recognizer.config.overlap}"
    )
    if data.augmented:
        listener.note(f"{data.augmented:,} of the training documents come from coordination augmentation")
    if data.soft_labels:
        covered = sum(soft is not None for soft in data.soft_labels)
        listener.note(f"soft labels for {covered:,} of {len(data.train):,} training documents")
    encoder, head = (sum(one.numel() for one in part.parameters()) for part in (recognizer.model.encoder, recognizer.model.head))
    listener.note(f"parameters: encoder {encoder:,}, head {head:,}")
    for line in check.lines():
        listener.note(f"note: {line}")
