"""The training loop, whole and visible: batches, losses, steps, dev score, best model, checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor

from anyner.architectures.base import Losses
from anyner.architectures.draw import Draw
from anyner.encoding.batch import Batch, training_batch
from anyner.encoding.gold import Example
from anyner.errors import AnynerError
from anyner.inference.proposing import arithmetic
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuned, Tuner
from anyner.storage.files import CONFIG, EPOCHS
from anyner.training.adversarial import moved_uphill
from anyner.training.average import Average
from anyner.training.batches import EpochPlans
from anyner.training.checkpoint import Place, has_checkpoint, number_of, restore_checkpoint, write_checkpoint
from anyner.training.config import TrainingConfig
from anyner.training.frozen import FrozenPieces
from anyner.training.interrupt import StopRequest
from anyner.training.loss_sums import LossSums, NumberWatch, all_finite
from anyner.training.optimizer import build_optimizer, schedule, set_rates
from anyner.training.passages import Passages
from anyner.training.progress import EpochRecord, Listener, MetricsFile

_LARGEST_SEED = 2**31 - 1
_CASELESS = 0.2
"""Share of the windows whose capitals a training hides."""
_AGREE_EVERY = 10
"""Steps between two looks at what all processes must agree on, or what a GPU would have to be waited for."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed, or SIGTERM sent; everything needed to resume has been written."""

    def __init__(self, exit_code: int = 130) -> None:
        super().__init__()
        self.exit_code = exit_code


class DivergedError(AnynerError):
    """The loss, its gradient or a weight is no longer a finite number. What was saved before is still there."""


@dataclass(frozen=True, slots=True)
class _Share:
    """One process's part of a batch; without a part of its own it stands in with an example that does not count."""

    places: Sequence[int]
    batch: Batch
    counts: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended."""

    best_epoch: int
    best_f1: float | None
    """On dev; None if dev trained as well."""
    epochs: int
    steps: int
    seconds: float
    sentences_per_second: float
    """Of the median epoch, dev scoring aside."""


class Trainer:
    """Trains a recognizer's model on examples and keeps the epoch with the best strict F1 on dev; without a tuner the last."""

    def __init__(
        self,
        recognizer: Recognizer,
        examples: Sequence[Example],
        passages: Passages,
        tuner: Tuner | None,
        config: TrainingConfig,
        *,
        last_epoch: int,
        folder: Path,
        keep_best: Callable[[Tuned | None], None],
        listener: Listener,
        accelerator: Accelerator,
    ) -> None:
        self.recognizer, self.tuner, self.config = recognizer, tuner, config
        self.folder, self.keep_best, self.listener, self.accelerator = folder, keep_best, listener, accelerator
        self.last_epoch = last_epoch
        self.plans = EpochPlans(passages, recognizer.proposer.extra, config)
        self.model = recognizer.model
        self.optimizer = build_optimizer(self.model, config)
        self.wrapped: Any = accelerator.prepare(self.model)
        in_epochs = [-(-len(self.plans.of(epoch).batches) // config.accumulate) for epoch in range(config.epochs)]
        self.steps, self.last_step = sum(in_epochs), sum(in_epochs[:last_epoch])
        averaged = config.average_epochs * self.steps / config.epochs
        self.average = Average(self.model, averaged) if averaged else None
        self._learned_from = number_of(recognizer.config.labels, examples)
        self.place = Place(0, 0, 0, -1.0, -1, 0.0, 0, {}, self._learned_from)
        self._frozen: FrozenPieces | None = None
        self._stop, self._watch = StopRequest(), NumberWatch()

    def resume(self) -> None:
        """Goes back to the last checkpoint in the folder."""
        self.place = restore_checkpoint(self.folder, self.model, self.optimizer, self._learned_from, self.average)
        self.accelerator.wait_for_everyone()  # the next checkpoint must not be written while another process reads this one

    def train(self) -> Outcome:
        writes = self.accelerator.is_main_process
        self._metrics = MetricsFile(self.folder / EPOCHS, keep=self.place.records, writes=writes)
        self._best_f1, self._best_epoch, self._step = self.place.best_f1, self.place.best_epoch, self.place.step
        self._began = time.monotonic() - self.place.seconds
        self._saved = time.monotonic()
        rates: list[float] = []
        epoch = self.place.epoch - 1
        with self._stop.on_ctrl_c():
            for epoch in range(self.place.epoch, self.last_epoch):
                sums = LossSums({name: list(total) for name, total in self.place.loss_sums.items()})
                rates.append(self._train_epoch(epoch, self.place.batch, sums))
                with self.average.applied() if self.average is not None else nullcontext():
                    self._score(epoch, sums, rates[-1])
                self.place = self._placed(epoch + 1, 0, LossSums())
                patience = self.config.patience
                if self.tuner is not None and patience is not None and epoch - self._best_epoch >= patience:
                    self.listener.note(f"no better dev F1 for {patience} epochs: stopped")
                    break
                if self._checkpoint_due():
                    self._write_checkpoint()
        return Outcome(
            best_epoch=self._best_epoch,
            best_f1=self._best_f1 if self.tuner is not None else None,
            epochs=epoch + 1,
            steps=self._step,
            seconds=time.monotonic() - self._began,
            sentences_per_second=median(rates) if rates else 0.0,
        )

    @property
    def _device(self) -> torch.device:
        return self.accelerator.device  # type: ignore[no-any-return]

    def _train_epoch(self, epoch: int, skipped: int, sums: LossSums) -> float:
        """Trains the batches of one epoch from `skipped` on; returns sentences a second."""
        self._plan = self.plans.of(epoch)
        self._freeze(epoch < self.config.frozen_epochs)
        plan, accumulate = self._plan.batches, self.config.accumulate
        self.wrapped.train()
        began, sentences, shown = time.monotonic(), 0, 0.0
        for number in range(skipped, len(plan)):
            together = min(accumulate, len(plan) - number // accumulate * accumulate)
            self._one_batch(self._share(plan[number], epoch), epoch, number, together, sums)
            sentences += sum(len(self._plan.passages[place].sentences) for place in plan[number])
            if time.monotonic() - shown > 0.5:
                shown = time.monotonic()
                spent = shown - self._began
                left = spent * (self.last_step - self._step) / max(1, self._step)
                self.listener.step(epoch + 1, (number + 1) / len(plan), sum(sums.means().values()), left)
            if (number + 1) % accumulate == 0 or number + 1 == len(plan):
                self._pause_if_due(epoch, number + 1, sums, number + 1 == len(plan))
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return sentences / max(1e-9, time.monotonic() - began)

    def _share(self, places: Sequence[int], epoch: int) -> _Share:
        """This process's part of a batch, on the device. The batch is the same whatever the number of processes."""
        mine = places[self.accelerator.process_index :: self.accelerator.num_processes]
        stand_in = mine or places[:1]
        proposer = self.recognizer.proposer
        examples = self.plans.examples([self._plan.passages[place] for place in stand_in])
        if self.config.word_dropout and self._frozen is None:
            examples = self._with_hidden_words(examples, epoch)
        if self.model.encoder.config.features.shapes:
            examples = self._with_hidden_casing(examples, epoch)
        batch = training_batch(examples, proposer.vocabulary.frame, proposer.prompt, self.model.encoder.features)
        return _Share(stand_in, batch.to(self._device), counts=bool(mine))

    def _with_hidden_words(self, examples: Sequence[Example], epoch: int) -> list[Example]:
        keys = [example.window.content_key for example in examples]
        lengths = [len(example.window.words) for example in examples]
        drawn = Draw(self.config.seed, epoch + 1).uniform("word dropout", keys, max(lengths))
        hidden, unknown = drawn < self.config.word_dropout, self.recognizer.vocabulary.frame.unknown
        return [one.without(row[:length], unknown) for one, row, length in zip(examples, hidden, lengths, strict=True)]

    def _with_hidden_casing(self, examples: Sequence[Example], epoch: int) -> list[Example]:
        """Texts in one casing must be read as well, and few corpora have any."""
        keys = [example.window.content_key for example in examples]
        drawn = Draw(self.config.seed, epoch + 1).uniform("casing", keys, 1)[:, 0]
        return [
            replace(one, window=replace(one.window, caseless=True)) if chance < _CASELESS else one
            for one, chance in zip(examples, drawn, strict=True)
        ]

    def _one_batch(self, share: _Share, epoch: int, number: int, together: int, sums: LossSums) -> None:
        """Gradients of one batch, and a step after the last of those whose gradients are averaged `together`."""
        config, accelerator = self.config, self.accelerator
        set_rates(self.optimizer, schedule(self._step, self.steps, config.warmup))
        pieces = self._frozen.batch(share.places) if self._frozen is not None else None

        def learn(into: LossSums) -> None:
            torch.manual_seed(_seed(config.seed, epoch, number, accelerator.process_index))
            with arithmetic(self._device, config.precision):
                losses = self.wrapped(share.batch, Draw(config.seed, epoch + 1, self._step), pieces)
            accelerator.backward(self._total(losses, share.counts, into) / together)

        table = self.model.encoder.tables.tokens.weight
        earlier = table.grad.clone() if config.adversarial and table.grad is not None else None  # of batches before this one
        learn(sums)
        if config.adversarial and self._frozen is None:
            own = table.grad - earlier if table.grad is not None and earlier is not None else table.grad
            with moved_uphill(table, own, config.adversarial):
                learn(LossSums())
        if number % config.accumulate == together - 1:
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self._step += 1
            self._watch.add(self._step, norm)
            if self.average is not None:
                self.average.add(self._step)

    def _total(self, losses: Losses, counts: bool, sums: LossSums) -> Tensor:
        """The weighted parts, each divided by its denominator over all processes; DDP averages, so the world multiplies."""
        world, share = self.accelerator.num_processes, float(counts)
        both = [torch.stack((p.numerator.detach().float(), p.denominator.detach().float())) for p in losses.values()]
        everyone = torch.stack(both)  # (P, 2)
        if world > 1:
            everyone = self.accelerator.reduce(everyone * share, "sum")
        sums.add(losses, everyone)
        self._watch.add(self._step + 1, everyone.sum())
        total = torch.zeros((), device=self._device)
        for part, denominator in zip(losses.values(), everyone[:, 1], strict=True):
            total = total + part.weight * world * share * part.numerator / denominator.clamp_min(1e-12)
        return total

    def _freeze(self, frozen: bool) -> None:
        self.model.encoder.pretrained.requires_grad_(not frozen)
        if not frozen:
            self._frozen = None
        elif self._frozen is None:
            windows = [example.window for example in self.plans.examples(self._plan.passages)]
            self._frozen = FrozenPieces(self.recognizer.proposer, windows, self.config.batch_tokens)

    def _score(self, epoch: int, sums: LossSums, rate: float) -> None:
        tuned: Tuned | None = None
        if self.tuner is not None:
            tuned = broadcast_object_list([self.tuner.tune()])[0]  # one process decides for all
        if tuned is not None and not tuned.score.predicted:
            self.listener.note(f"epoch {epoch + 1}: no entity passes any threshold on dev")
        score = tuned.score if tuned is not None else None
        better = score.f1 > self._best_f1 if score else epoch + 1 == self.last_epoch
        if better:
            self._best_f1, self._best_epoch = score.f1 if score else self._best_f1, epoch
            if self.accelerator.is_main_process:
                self.keep_best(tuned)
        record = EpochRecord(
            epoch=epoch + 1,
            step=self._step,
            losses={name: round(value, 6) for name, value in sums.means().items()},
            dev_precision=score.precision if score else None,
            dev_recall=score.recall if score else None,
            dev_f1=score.f1 if score else None,
            dev_gaps_f1=tuned.discontinuous.f1 if tuned is not None and tuned.discontinuous.gold else None,
            thresholds=dict(tuned.thresholds if tuned is not None else self.recognizer.config.thresholds),
            sentences_per_second=round(rate, 1),
            seconds=round(time.monotonic() - self._began, 2),
            best=better,
        )
        self.listener.epoch(record)
        self._metrics.add(record)

    def _placed(self, epoch: int, batch: int, sums: LossSums) -> Place:
        seconds = time.monotonic() - self._began
        best = (self._best_f1, self._best_epoch)
        return Place(self._step, epoch, batch, *best, seconds, self._metrics.records, sums.plain(), self._learned_from)

    def _checkpoint_due(self) -> bool:
        every = self.config.checkpoint_steps
        by_steps = every is not None and self._step % every == 0
        return by_steps or time.monotonic() - self._saved > 60 * self.config.checkpoint_minutes

    def _pause_if_due(self, epoch: int, batch: int, sums: LossSums, epoch_ends: bool) -> None:
        stop = self._all_stop()
        if stop or epoch_ends or self._step % _AGREE_EVERY == 0:  # the same steps in all processes: none may leave alone
            self._refuse_bad_numbers(weights=stop or epoch_ends)
        first = epoch_ends and not has_checkpoint(self.folder)  # whoever has a model can go on from it
        if stop or first or self._checkpoint_due():
            self.place = self._placed(epoch, batch, sums)
            self._write_checkpoint()
        if stop:
            raise Interrupted(self._stop.exit_code)

    def _all_stop(self) -> bool:
        """Whether to stop now. Processes agree on the step now and then: one that left alone would leave the others waiting."""
        if self.accelerator.num_processes == 1:
            return self._stop.asked
        if self._step % _AGREE_EVERY:
            return False
        asked = torch.tensor(float(self._stop.asked), device=self._device)
        return bool(self.accelerator.reduce(asked, "sum") > 0)

    def _refuse_bad_numbers(self, weights: bool) -> None:
        """Nothing is saved after a number that is not finite; `weights` are looked at where they are about to be saved."""
        step = self._watch.first_bad()
        if step is None and weights and not self._weights_finite():
            step = self._step
        if step is None:
            return
        kept = "the last good model and checkpoint are kept" if (self.folder / CONFIG).exists() else "no model was kept"
        raise DivergedError(
            f"{self.folder}: the loss or a weight is not finite in step {step}: start a new training with a smaller "
            f"training.encoder_lr and training.head_lr, or with training.precision=float32; {kept}"
        )

    def _weights_finite(self) -> bool:
        return all_finite(list(self.model.parameters()))

    def _write_checkpoint(self) -> None:
        # between two looks of all processes a bad checkpoint is left out, and the next look ends the training
        if self.accelerator.is_main_process and self._watch.first_bad() is None and self._weights_finite():
            write_checkpoint(self.folder, self.model, self.optimizer, self.place, self.average)
        self._saved = time.monotonic()


def _seed(*parts: int) -> int:
    """One number from several, the same everywhere: what dropout is drawn from at each step."""
    mixed = 0
    for part in parts:
        mixed = (mixed * 1_000_003 + part + 1) % _LARGEST_SEED
    return mixed
