"""The training loop: batches, losses, optimiser steps, dev scores, best model, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object

from anyner.architectures.draw import Draw
from anyner.encoding.batch import Batch, training_batch
from anyner.encoding.examples import Example
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import arithmetic
from anyner.inference.tuning import Tuned, Tuner, tuned_on
from anyner.storage.files import CONFIG, EPOCHS
from anyner.training import trackers
from anyner.training.checkpoint import CHECKPOINT_SECONDS, Place, has_checkpoint, hash_of, restore_checkpoint, write_checkpoint
from anyner.training.config import TrainingConfig
from anyner.training.data.passages import Passage, Passages, epoch_batches
from anyner.training.losses import DivergedError, LossSums, NumberWatch, total_loss
from anyner.training.optimizer import build_optimizer, schedule, set_rates
from anyner.training.processes import Interrupted, StopRequest
from anyner.training.progress import EpochRecord, Listener, MetricsFile
from anyner.training.regularize import WeightAverage, perturbed, with_case_dropout, with_word_dropout

_MAX_SEED = 2**31 - 1
_MAX_NORM = 1.0
"""Maximum gradient norm."""
_CHECK_EVERY = 10
"""Steps between checks that synchronise all processes or wait for the GPU."""

_TIMED_STEPS = 4
"""Number of steps from which the training time is estimated."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a training."""

    best_epoch: int
    best_f1: float | None
    """Strict F1 on dev; None for a refit."""
    epochs: int
    steps: int
    seconds: float
    sentences_per_second: float
    """Median over the epochs, without dev scoring."""


class Trainer:
    """Trains a model and keeps the epoch with the best strict F1 on dev; without a tuner, the last epoch."""

    def __init__(
        self,
        recognizer: Recognizer,
        examples: Sequence[Example],
        tuner: Tuner | None,
        config: TrainingConfig,
        *,
        last_epoch: int,
        folder: Path,
        keep_best: Callable[[Tuned | None], None],
        listener: Listener,
        accelerator: Accelerator,
        most_scored: int = 1,
    ) -> None:
        """Dev is scored after at most `most_scored` epochs, fewer if dev is larger than train: scoring must take no longer than
        training."""
        self.recognizer, self.tuner, self.config = recognizer, tuner, config
        self.folder, self.keep_best, self.listener, self.accelerator = folder, keep_best, listener, accelerator
        self.passages = Passages(examples, recognizer.budget, config.seed, one_each=not config.passages)
        scored = last_epoch * self.passages.words // max(1, tuner.words) if tuner is not None else 1
        self.last_epoch, self._scored_every = last_epoch, -(-last_epoch // min(max(1, scored), most_scored))
        self.model = recognizer.model
        self.optimizer = build_optimizer(self.model, config)
        self._parameters = list(self.model.parameters())
        self.wrapped: Any = accelerator.prepare(self.model)
        in_epochs = [len(self.batches(epoch)) for epoch in range(config.epochs)]
        self.steps, self.last_step = sum(in_epochs), sum(in_epochs[:last_epoch])
        averaged = config.average_epochs * self.steps / config.epochs
        self.average = WeightAverage(self.model, averaged) if averaged else None
        self.place = Place(learned_from=hash_of(recognizer.config.labels, examples))
        self._stop, self._watch = StopRequest(), NumberWatch(accelerator.device)

    def resume(self) -> None:
        """Restores the last checkpoint in the folder."""
        self.place = restore_checkpoint(self.folder, self.model, self.optimizer, self.place.learned_from, self.average)
        self.accelerator.wait_for_everyone()  # before one process writes the next checkpoint

    def train(self) -> Outcome:
        place, patience = self.place, self.config.patience
        self._metrics = MetricsFile(self.folder / EPOCHS, keep=place.records, writes=self.accelerator.is_main_process)
        self._began, self._saved = time.monotonic() - place.seconds, time.monotonic()
        epoch, skipped, sums = place.epoch - 1, place.batch, LossSums(place.loss_sums)
        rates: list[float] = []
        with self._stop.on_ctrl_c():
            for epoch in range(place.epoch, self.last_epoch):
                rates.append(self._train_epoch(epoch, skipped, sums))
                with self.average.applied() if self.average is not None else nullcontext():
                    self._score(epoch, sums, rates[-1])
                skipped, sums = 0, LossSums()
                if self._is_scored(epoch) and patience is not None and epoch - place.best_epoch >= patience:
                    self.listener.note(f"stopped: no better dev F1 for {patience} epochs")
                    break
                if self._checkpoint_due():
                    self._write_checkpoint(epoch + 1, 0, sums)
        return Outcome(
            best_epoch=place.best_epoch,
            best_f1=place.best_f1 if self.tuner is not None else None,
            epochs=epoch + 1,
            steps=place.step,
            seconds=time.monotonic() - self._began,
            sentences_per_second=median(rates) if rates else 0.0,
        )

    def timed_steps(self) -> tuple[float, int]:
        """Trains on a few batches of the first epoch; gives the seconds and the number of pieces. The first step is not timed."""
        batches = self.batches(0)
        timed = [batches[len(batches) * number // _TIMED_STEPS] for number in range(_TIMED_STEPS)]
        self.wrapped.train()
        for number, passages in enumerate([timed[0], *timed]):
            if number == 1:
                self._finish_on_device()
                began = time.monotonic()
            self._train_step(passages, 0, number, LossSums())
        self._finish_on_device()
        return time.monotonic() - began, sum(self.passages.size(passage) for passages in timed for passage in passages)

    def _finish_on_device(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    @property
    def _device(self) -> torch.device:
        return self.accelerator.device  # type: ignore[no-any-return]

    def batches(self, epoch: int) -> list[list[Passage]]:
        return epoch_batches(self.passages, self.recognizer.vocabulary.frame.special, self.config, epoch)

    def _train_epoch(self, epoch: int, skipped: int, sums: LossSums) -> float:
        """Trains on the batches of one epoch, after the first `skipped`; returns sentences per second."""
        batches = self.batches(epoch)
        self.wrapped.train()
        began, sentences, shown = time.monotonic(), 0, 0.0
        for number, passages in enumerate(batches[skipped:], skipped):
            self._train_step(passages, epoch, number, sums)
            sentences += sum(len(passage.sentences) for passage in passages)
            if time.monotonic() - shown > 0.5:
                shown = time.monotonic()
                left = (shown - self._began) * (self.last_step - self.place.step) / max(1, self.place.step)
                self.listener.step(epoch + 1, (number + 1) / len(batches), sum(sums.means().values()), left)
            self._pause_if_due(epoch, number + 1, sums, number + 1 == len(batches))
        self._finish_on_device()
        return sentences / max(1e-9, time.monotonic() - began)

    def _train_step(self, passages: Sequence[Passage], epoch: int, number: int, sums: LossSums) -> None:
        """Forward, backward, update. Every process has its share of the batch; if it is empty, a passage with a loss of 0."""
        mine = passages[self.accelerator.process_index :: self.accelerator.num_processes]
        batch = self._batch(mine or passages[:1], epoch)
        set_rates(self.optimizer, schedule(self.place.step, self.steps))
        self._backward(batch, bool(mine), (epoch, number), sums)
        if self.config.adversarial:
            with perturbed(self.model.encoder.tables.tokens.weight, self.config.adversarial):
                self._backward(batch, bool(mine), (epoch, number), LossSums())
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, _MAX_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.place.step += 1
        self._watch.add(self.place.step, norm)
        if self.average is not None:
            self.average.add(self.place.step)

    def _batch(self, passages: Sequence[Passage], epoch: int) -> Batch:
        """The batch of these passages, on the device."""
        frame, draw = self.recognizer.vocabulary.frame, Draw(self.config.seed, epoch + 1)
        examples = [self.passages.example(passage) for passage in passages]
        if self.config.word_dropout:
            examples = with_word_dropout(examples, self.config.word_dropout, frame.unknown, draw)
        if self.model.encoder.shapes is not None:
            examples = with_case_dropout(examples, draw)
        batch = training_batch(examples, frame, self.model.encoder.shapes)
        return batch.to(self._device)

    def _backward(self, batch: Batch, counts: bool, place: tuple[int, int], sums: LossSums) -> None:
        """Accumulates the gradients of one batch. Dropout is seeded by epoch, batch and process, so resuming is exact."""
        torch.manual_seed(_seed(self.config.seed, *place, self.accelerator.process_index))
        with arithmetic(self._device, self.config.precision):
            losses = self.wrapped(batch, Draw(self.config.seed, place[0] + 1, self.place.step))
        total, parts = total_loss(losses, counts, self.accelerator)
        sums.add(losses, parts)
        self._watch.add(self.place.step + 1, parts.sum())
        self.accelerator.backward(total)

    def _is_scored(self, epoch: int) -> bool:
        return self.tuner is not None and ((epoch + 1) % self._scored_every == 0 or epoch + 1 == self.last_epoch)

    def _tuned(self, tuner: Tuner) -> Tuned:
        """Every process predicts its share of dev; the main process tunes for all."""
        if self.accelerator.num_processes == 1:
            return tuner.tune()
        shares = gather_object(tuner.share(self.accelerator.process_index, self.accelerator.num_processes))
        tuned = tuned_on([tuner.documents_read(shares)]) if self.accelerator.is_main_process else None
        return broadcast_object_list([tuned])[0]  # type: ignore[no-any-return]

    def _score(self, epoch: int, sums: LossSums, rate: float) -> None:
        tuned: Tuned | None = None
        if self.tuner is not None and self._is_scored(epoch):
            with self.listener.running(f"epoch {epoch + 1}: scoring dev"):
                tuned = self._tuned(self.tuner)
        if tuned is not None and not tuned.score.predicted:
            self.listener.note(f"epoch {epoch + 1}: no entity passes any threshold on dev")
        score = tuned.score if tuned is not None else None
        better = score.f1 > self.place.best_f1 if score else self.tuner is None and epoch + 1 == self.last_epoch
        if better:
            self.place.best_f1, self.place.best_epoch = score.f1 if score else self.place.best_f1, epoch
            if self.accelerator.is_main_process:
                self.keep_best(tuned)
        record = EpochRecord(
            epoch=epoch + 1,
            step=self.place.step,
            losses={name: round(value, 6) for name, value in sums.means().items()},
            dev_precision=score.precision if score else None,
            dev_recall=score.recall if score else None,
            dev_f1=score.f1 if score else None,
            dev_discontinuous_f1=tuned.discontinuous.f1 if tuned is not None and tuned.discontinuous.gold else None,
            thresholds=dict(tuned.thresholds if tuned is not None else self.recognizer.config.thresholds),
            sentences_per_second=round(rate, 1),
            seconds=round(time.monotonic() - self._began, 2),
            best=better,
        )
        self.listener.epoch(record)
        self._metrics.add(record)
        trackers.log(self.accelerator, record)

    def _checkpoint_due(self) -> bool:
        return time.monotonic() - self._saved > CHECKPOINT_SECONDS

    def _pause_if_due(self, epoch: int, batch: int, sums: LossSums, epoch_ends: bool) -> None:
        stop = self._all_stop()
        if stop or epoch_ends or self.place.step % _CHECK_EVERY == 0:  # the same steps in all processes
            self._check_finite(weights=stop or epoch_ends)
        first = epoch_ends and not has_checkpoint(self.folder)  # to resume if killed while the first model is written
        if stop or first or self._checkpoint_due():
            self._write_checkpoint(epoch, batch, sums)
        if stop:
            raise Interrupted(self._stop.exit_code)

    def _all_stop(self) -> bool:
        """Whether to stop now. All processes agree: one that stopped alone would leave the others waiting."""
        if self.accelerator.num_processes == 1:
            return self._stop.asked
        if self.place.step % _CHECK_EVERY:
            return False
        asked = torch.tensor(float(self._stop.asked), device=self._device)
        return bool(self.accelerator.reduce(asked, "sum") > 0)

    def _check_finite(self, weights: bool) -> None:
        """Raises if a loss or a gradient is not finite; `weights` are checked only before they are saved."""
        step = self._watch.first_bad()
        if step is None and weights and not self._weights_finite():
            step = self.place.step
        if step is None:
            return
        kept = "the last good model and checkpoint are kept" if (self.folder / CONFIG).exists() else "no model was kept"
        raise DivergedError(
            f"{self.folder}: the loss or a weight is not finite in step {step}: start a new training with lower "
            f"training.encoder_lr and training.head_lr, or with training.precision=float32; {kept}"
        )

    def _weights_finite(self) -> bool:
        return bool(torch.stack([weight.detach().isfinite().all() for weight in self.model.parameters()]).all())

    def _write_checkpoint(self, epoch: int, batch: int, sums: LossSums) -> None:
        # no checkpoint is written if a value is not finite; the next check of all processes ends the training
        if self.accelerator.is_main_process and self._watch.first_bad() is None and self._weights_finite():
            self.place.epoch, self.place.batch, self.place.loss_sums = epoch, batch, sums.plain()
            self.place.seconds, self.place.records = time.monotonic() - self._began, self._metrics.records
            write_checkpoint(self.folder, self.model, self.optimizer, self.place, self.average)
        self._saved = time.monotonic()


def _seed(*parts: int) -> int:
    """Several numbers mixed into one seed, the same on every machine."""
    mixed = 0
    for part in parts:
        mixed = (mixed * 1_000_003 + part + 1) % _MAX_SEED
    return mixed
