"""From a recipe to a model folder: read, check, build, train, write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import broadcast_object_list

from anyner.architectures.registry import head_class
from anyner.architectures.settings import HeadConfig
from anyner.corpora.corpus import summary
from anyner.encoding.encoder import new_encoder
from anyner.encoding.gold import Example, Opinion
from anyner.encoding.untrusted import kept_settings
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuned, Tuner
from anyner.model import NerModel
from anyner.storage.card import card
from anyner.storage.files import CARD, CONFIG, EPOCHS, METRICS, RECIPE, WEIGHTS, write_text
from anyner.storage.load import read_config
from anyner.storage.save import save
from anyner.text.align import WordEntity
from anyner.training.checkpoint import has_checkpoint, remove_checkpoint
from anyner.training.config import Chosen, DataConfig, Recipe
from anyner.training.data import (
    DataCheck,
    Splits,
    dev_passages,
    entities_in,
    note_unreachable,
    read_data,
    word_entities,
)
from anyner.training.facts import corpus_facts, strictest_policy
from anyner.training.lock import locked, refuse_if_locked
from anyner.training.loop import Outcome, Trainer
from anyner.training.memory import limited_weights, memory_note
from anyner.training.optimizer import trainable_summary
from anyner.training.passages import Passages
from anyner.training.progress import Listener, Silent
from anyner.training.start import starting_encoder
from anyner.version import __version__


@dataclass(frozen=True, slots=True)
class TrainingResult:
    folder: Path
    outcome: Outcome


def run(
    recipe: Recipe, folder: Path, resume: bool = False, listener: Listener | None = None, data: Splits | None = None
) -> TrainingResult:
    """Trains one model; its folder holds the best epoch's model, the recipe, the card and metrics.jsonl.

    `data` stands in for the documents that the recipe names.
    """
    listener = listener or Silent()
    accelerator = _accelerator()
    refuse_if_locked(folder)
    _check_folder(folder, recipe, resume)
    accelerator.wait_for_everyone()  # nobody may write before all have looked
    data = data or read_data(recipe.data, recipe.text, dev_trains=recipe.chosen is not None)
    _check_entities(recipe, data)
    recognizer, examples, check = prepare(recipe, data)
    recognizer.model.to(accelerator.device)
    _tell(listener, recipe, data, recognizer, check)
    kept = _Keeper(recognizer, recipe, folder, data)
    training = recipe.training
    dev = dev_passages(data.dev, training.passages)
    passages = Passages(examples, recognizer.budget, training.seed, as_they_are=not training.passages)
    trainer = Trainer(
        recognizer,
        examples,
        passages,
        Tuner(recognizer, dev) if recipe.chosen is None else None,
        training,
        last_epoch=training.epochs if recipe.chosen is None else recipe.chosen.epoch,
        folder=folder,
        keep_best=kept.keep,
        listener=listener,
        accelerator=accelerator,
    )
    if note := memory_note(recognizer.model.head, passages, trainer.plans):
        listener.note(note)
    with ExitStack() as held:
        _lock(folder, recipe, resume, accelerator, held)
        if resume:
            trainer.resume()
            _check_kept(folder, trainer.place.best_epoch)
        if accelerator.is_main_process:
            if not (folder / EPOCHS).exists():
                write_text(folder / EPOCHS, "")  # before the recipe: by this file a new start knows the folder as a training's
            write_text(folder / RECIPE, recipe.to_yaml())
        outcome = trainer.train()
        if accelerator.is_main_process:
            kept.finish(outcome)
            remove_checkpoint(folder)
        accelerator.wait_for_everyone()
    return TrainingResult(folder, outcome)


def _lock(folder: Path, recipe: Recipe, resume: bool, accelerator: Accelerator, held: ExitStack) -> None:
    """The main process takes the folder; where it cannot, all processes end with its reason."""
    refused: AnynerError | None = None
    if accelerator.is_main_process:
        try:
            held.enter_context(locked(folder))
            _check_folder(folder, recipe, resume)  # once more: another training may have ended since
        except AnynerError as error:
            refused = error
    refused = broadcast_object_list([refused])[0]
    if refused is not None:
        raise refused


def prepare(recipe: Recipe, data: Splits) -> tuple[Recognizer, list[Example], DataCheck]:
    """A new, untrained recognizer and the training examples, with what was noticed in the data."""
    torch.manual_seed(recipe.training.seed)
    check = DataCheck(problems=data.problems)
    entities = [word_entities(document, recipe.text, check) for document in data.train]
    pretrained, vocabulary = starting_encoder(recipe.encoder, data.train)
    with limited_weights("encoder"):
        encoder = new_encoder(recipe.encoder, pretrained, data.train, recipe.text)
    facts = corpus_facts(data, entities, text=recipe.text, encoder=encoder, cut=vocabulary.cut)
    head_type = head_class(recipe.architecture)
    head_config = head_type.Config.of(recipe.head, "head").fitted(facts)
    with limited_weights("head"):
        model = NerModel(encoder, head_type(head_config, facts.labels, encoder))
        model.head.start(encoder, vocabulary.cut)
    config = ModelConfig(
        anyner_version=__version__,
        architecture=recipe.architecture,
        head=head_config.model_dump(mode="json"),
        labels=facts.labels,
        text=recipe.text,
        encoder=recipe.encoder,
        pretrained=kept_settings(pretrained.config.to_dict()),
        thresholds=_thresholds(head_config, recipe.chosen),
        options=head_type.CallOptions.of(recipe.options, "options").model_dump(mode="json"),
        overlap=strictest_policy(entities, head_config.shapes()) if recipe.overlap == "auto" else recipe.overlap,
        seed=recipe.training.seed,
    )
    recognizer = Recognizer(model, vocabulary, config, recipe.training.precision)
    return recognizer, _examples(recognizer, data, entities, check, recipe.data), check


def _thresholds(head: HeadConfig, chosen: Chosen | None) -> dict[str, float]:
    """What the model starts with: the architecture's defaults, or what is chosen already."""
    known = head.default_thresholds()
    given = chosen.thresholds if chosen is not None else {}
    if strange := [name for name in given if name not in known]:
        raise AnynerError(f"chosen.thresholds: there is no {strange[0]!r}; the architecture has: {', '.join(known) or 'none'}")
    return {**known, **given}


def _examples(
    recognizer: Recognizer, data: Splits, entities: Sequence[Sequence[WordEntity]], check: DataCheck, wanted: DataConfig
) -> list[Example]:
    labels, text = recognizer.config.labels, recognizer.config.text
    examples: list[Example] = []
    opinions = data.opinions or (None,) * len(data.train)
    made = [False] * (len(data.train) - data.made) + [True] * data.made
    for document, in_words, opinion, joined in zip(data.train, entities, opinions, made, strict=True):
        # what is there was annotated, whatever the document says
        annotated = None if document.labels is None else document.labels | {entity.label for entity in document.entities}
        windows = recognizer.windows([document])
        note_unreachable(check, recognizer.model.head.config, windows, in_words)
        likely = [] if opinion is None else word_entities(replace(document, entities=opinion.entities), text, DataCheck())
        for window in windows:
            held = None
            if opinion is not None:
                held = Opinion.of(entities_in(window, likely), labels, wanted.opinion_share, opinion.know_gaps)
            example = Example.of(window, entities_in(window, in_words), labels, annotated, held)
            times = 1 if joined or example.contiguous.all() else wanted.gaps_repeated
            last_epoch = wanted.coordinated_epochs if joined else None
            examples.append(replace(example, last_epoch=last_epoch, times=times, source=document.doc))
    homes = {document.doc for document in data.train} - {None}
    check.dev_from_train = sum(document.doc in homes for document in data.dev)
    check.unknown_labels.update(e.label for document in data.dev for e in document.entities if e.label not in labels)
    return examples


def _accelerator() -> Accelerator:
    # A frozen encoder, or a head that alternates objectives, leaves parameters without gradient in some steps.
    # Buffers never change here, and static word vectors are large ones: they are not sent round before every step.
    several = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    # Its own mixed precision can be set only once in a process: the loop does that part.
    return Accelerator(cpu=not torch.cuda.is_available(), mixed_precision="no", kwargs_handlers=[several])


def _check_folder(folder: Path, recipe: Recipe, resume: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise AnynerError(f"{folder}: is a file, not a folder for a model")
    if not resume:
        if has_checkpoint(folder):
            raise AnynerError(f"{folder} holds an unfinished training: resume it, or choose another output folder")
        if (folder / CONFIG).exists():
            raise AnynerError(f"{folder} already holds a model: choose another output folder")
        if foreign := _foreign(folder, recipe):
            raise AnynerError(f"{folder} holds {foreign}, which a training would write over: choose another output folder")
        return
    if not has_checkpoint(folder):
        raise AnynerError(f"{folder} holds no checkpoint to resume from")
    if (folder / RECIPE).is_file() and (before := Recipe.read(folder / RECIPE)) != recipe:
        key = next(name for name in Recipe.model_fields if getattr(before, name) != getattr(recipe, name))
        raise AnynerError(f"{folder}: '{key}' is not what the training began with: resume it as it was, or start a new one")


def _check_kept(folder: Path, best_epoch: int) -> None:
    """The best epoch's model and score are files of their own: a checkpoint is of no use without them."""
    if best_epoch < 0:
        return
    if not (folder / WEIGHTS).is_file():
        raise AnynerError(f"{folder}: {WEIGHTS}, the model of epoch {best_epoch + 1}, is missing: start a new training")
    _read_metrics(folder)


def _read_metrics(folder: Path) -> dict[str, Any]:
    """What `_Keeper.keep` wrote."""
    try:
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        metrics = None
    if not isinstance(metrics, dict) or "dev" not in metrics:
        raise AnynerError(f"{folder / METRICS}: the best epoch's score is missing or damaged: start a new training")
    return metrics


def _check_entities(recipe: Recipe, data: Splits) -> None:
    found = f"; {summary(data.problems)}" if data.problems else ""  # what the readers dropped may be the reason
    if not any(document.entities for document in data.train):
        raise AnynerError(f"data.train has no entity at all: there is nothing to learn{found}")
    if recipe.chosen is None and not any(document.entities for document in data.dev):
        raise AnynerError(f"data.dev has no entity at all: no epoch and no threshold can be chosen on it{found}")


def _foreign(folder: Path, recipe: Recipe) -> str | None:
    """A file that a training would write over and that no training has left behind when it was cut short."""
    if (folder / EPOCHS).exists():
        return None
    there = [name for name in (RECIPE, CARD, METRICS, WEIGHTS) if (folder / name).exists()]
    if there == [RECIPE] and (folder / RECIPE).read_bytes() == recipe.to_yaml().encode():
        return None  # the very file that this training would write
    return there[0] if there else None


def _tell(listener: Listener, recipe: Recipe, data: Splits, recognizer: Recognizer, check: DataCheck) -> None:
    entities = sum(len(document.entities) for document in data.train)
    dev = f"{len(data.dev):,} for dev" if recipe.chosen is None else "those of dev among them"
    listener.note(
        f"{recipe.architecture} on {recipe.encoder.source}: {len(data.train):,} training documents with {entities:,} entities, "
        f"{dev}; labels {_some(data.labels)}; overlap policy {recognizer.config.overlap}"
    )
    if data.made:
        listener.note(f"{data.made:,} of the training documents were made by joining entities that end or begin alike")
    if data.opinions:
        heard = sum(opinion is not None for opinion in data.opinions)
        listener.note(f"opinions of other models on {heard:,} of {len(data.train):,} training documents")
    listener.note(f"trainable parameters: {trainable_summary(recognizer.model)}")
    for line in check.lines():
        listener.note(f"note: {line}")


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class _Keeper:
    """Writes the model folder whenever an epoch is to be kept, and the card when the training is over."""

    def __init__(self, recognizer: Recognizer, recipe: Recipe, folder: Path, data: Splits) -> None:
        self._recognizer, self._recipe, self._folder, self._data = recognizer, recipe, folder, data

    def keep(self, tuned: Tuned | None) -> None:
        """`tuned` on dev; None if everything was chosen before."""
        config = self._recognizer.config
        if tuned is not None:
            config = config.updated({"thresholds": dict(tuned.thresholds)}, CONFIG)
        save(Recognizer(self._recognizer.model, self._recognizer.vocabulary, config), self._folder, overwrite=True)
        metrics = {"dev": tuned.score.to_json() if tuned is not None else None, "documents": len(self._data.dev)}
        write_text(self._folder / METRICS, json.dumps(metrics, indent=2) + "\n")

    def finish(self, outcome: Outcome) -> None:
        metrics = _read_metrics(self._folder)
        metrics["training"] = asdict(outcome)
        write_text(self._folder / METRICS, json.dumps(metrics, indent=2) + "\n")
        config = read_config(self._folder)  # with the thresholds of the best epoch
        write_text(self._folder / CARD, card(config, metrics, self._recipe.to_yaml(), len(self._data.train)))
