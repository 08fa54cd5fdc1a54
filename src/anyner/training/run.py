"""From a recipe to a model folder: read, build, train, write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import broadcast_object_list

from anyner.architectures.registry import head_class
from anyner.architectures.settings import HeadConfig, with_preset
from anyner.corpora.corpus import summary
from anyner.encoding.encoder import new_encoder
from anyner.encoding.examples import Example
from anyner.encoding.untrusted import kept_settings
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuner
from anyner.model import NerModel
from anyner.training.checkpoint import remove_checkpoint
from anyner.training.config import Recipe, RefitConfig
from anyner.training.data.examples import DataCheck, training_examples, word_entities
from anyner.training.data.passages import Passages
from anyner.training.data.splits import Splits, dev_passages, read_data
from anyner.training.data.statistics import corpus_statistics, strictest_policy
from anyner.training.encoder import starting_encoder
from anyner.training.loop import Outcome, Trainer
from anyner.training.memory import limited_weights, memory_note
from anyner.training.model_folder import BestModel, begin_folder, check_best_model, check_folder
from anyner.training.optimizer import trainable_summary
from anyner.training.processes import locked, refuse_if_locked
from anyner.training.progress import Listener, Silent
from anyner.version import __version__


@dataclass(frozen=True, slots=True)
class TrainingResult:
    folder: Path
    outcome: Outcome


def run(
    recipe: Recipe, folder: Path, resume: bool = False, listener: Listener | None = None, data: Splits | None = None
) -> TrainingResult:
    """Trains one model. Its folder gets the model of the best epoch, the recipe, the card and metrics.jsonl.

    `data` replaces the documents that the recipe names.
    """
    listener = listener or Silent()
    accelerator = _accelerator()
    refuse_if_locked(folder)
    check_folder(folder, recipe, resume)
    accelerator.wait_for_everyone()  # every rank checks the folder before rank 0 writes
    data = data or read_data(recipe.data, recipe.text, dev_trains=recipe.refit is not None)
    _check_entities(recipe, data)
    recognizer, examples, check = build(recipe, data)
    recognizer.model.to(accelerator.device)
    _report(listener, recipe, data, recognizer, check)
    best_model = BestModel(recognizer, recipe, folder, data)
    trainer = _trainer(
        recipe, data, recognizer, examples, best_model=best_model, folder=folder, listener=listener, accelerator=accelerator
    )
    with ExitStack() as held:
        _lock(folder, recipe, resume, accelerator, held)
        if resume:
            trainer.resume()
            check_best_model(folder, trainer.place.best_epoch)
        if accelerator.is_main_process:
            begin_folder(folder, recipe)
        outcome = trainer.train()
        if accelerator.is_main_process:
            best_model.finish(outcome)
            remove_checkpoint(folder)
        accelerator.wait_for_everyone()
    return TrainingResult(folder, outcome)


def build(recipe: Recipe, data: Splits) -> tuple[Recognizer, list[Example], DataCheck]:
    """A new, untrained recognizer, the training examples, and what was noticed in the data."""
    torch.manual_seed(recipe.training.seed)
    check = DataCheck(problems=data.problems)
    entities = [word_entities(document, recipe.text, check) for document in data.train]
    pretrained, vocabulary = starting_encoder(recipe.encoder, data.train)
    with limited_weights("encoder"):
        encoder = new_encoder(recipe.encoder, pretrained, data.train, recipe.text)
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
    recognizer = Recognizer(model, vocabulary, config, recipe.training.precision)
    return recognizer, training_examples(recognizer, data, entities, recipe.data, check), check


def _thresholds(head: HeadConfig, refit: RefitConfig | None) -> dict[str, float]:
    """The architecture's defaults, and those of a refit on top."""
    known = head.default_thresholds()
    given = refit.thresholds if refit is not None else {}
    if unknown := [name for name in given if name not in known]:
        raise AnynerError(f"refit.thresholds: there is no {unknown[0]!r}; the architecture has: {', '.join(known) or 'none'}")
    return {**known, **given}


def _trainer(
    recipe: Recipe,
    data: Splits,
    recognizer: Recognizer,
    examples: Sequence[Example],
    *,
    best_model: BestModel,
    folder: Path,
    listener: Listener,
    accelerator: Accelerator,
) -> Trainer:
    training, refit = recipe.training, recipe.refit
    passages = Passages(examples, recognizer.budget, training.seed, one_each=not training.passages)
    trainer = Trainer(
        recognizer,
        examples,
        passages,
        Tuner(recognizer, dev_passages(data.dev, training.passages)) if refit is None else None,
        training,
        last_epoch=training.epochs if refit is None else refit.epoch,
        folder=folder,
        keep_best=best_model.keep,
        listener=listener,
        accelerator=accelerator,
    )
    if note := memory_note(recognizer.model.head, passages, trainer.plans):
        listener.note(note)
    return trainer


def _accelerator() -> Accelerator:
    # A frozen encoder, or a head that alternates objectives, leaves parameters without gradient in some steps.
    # Buffers never change, and static word vectors are large ones: they are not broadcast before every step.
    several = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    # Its own mixed precision can be set only once in a process, so the loop does that part.
    return Accelerator(cpu=not torch.cuda.is_available(), mixed_precision="no", kwargs_handlers=[several])


def _lock(folder: Path, recipe: Recipe, resume: bool, accelerator: Accelerator, held: ExitStack) -> None:
    """The main process locks the folder; if it cannot, all processes raise its error."""
    refused: AnynerError | None = None
    if accelerator.is_main_process:
        try:
            held.enter_context(locked(folder))
            check_folder(folder, recipe, resume)  # again: another training may have finished meanwhile
        except AnynerError as error:
            refused = error
    refused = broadcast_object_list([refused])[0]
    if refused is not None:
        raise refused


def _check_entities(recipe: Recipe, data: Splits) -> None:
    found = f"; {summary(data.problems)}" if data.problems else ""  # entities that the readers dropped may be the reason
    if not any(document.entities for document in data.train):
        raise AnynerError(f"data.train has no entity: there is nothing to learn{found}")
    if recipe.refit is None and not any(document.entities for document in data.dev):
        raise AnynerError(f"data.dev has no entity: it is needed to find the best epoch and thresholds{found}")


def _report(listener: Listener, recipe: Recipe, data: Splits, recognizer: Recognizer, check: DataCheck) -> None:
    entities = sum(len(document.entities) for document in data.train)
    dev = f"{len(data.dev):,} dev documents" if recipe.refit is None else "dev included"
    listener.note(
        f"{recipe.architecture} on {recipe.encoder.source}: {len(data.train):,} training documents with {entities:,} entities, "
        f"{dev}; labels {_some(data.labels)}; overlap policy {recognizer.config.overlap}"
    )
    if data.augmented:
        listener.note(f"{data.augmented:,} of the training documents come from coordination augmentation")
    if data.soft_labels:
        covered = sum(soft is not None for soft in data.soft_labels)
        listener.note(f"soft labels for {covered:,} of {len(data.train):,} training documents")
    listener.note(f"trainable parameters: {trainable_summary(recognizer.model)}")
    for line in check.lines():
        listener.note(f"note: {line}")


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
