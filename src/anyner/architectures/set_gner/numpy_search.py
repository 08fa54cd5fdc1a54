"""From head words to entities, all heads at once, as in `search.py`: the network is a step, the rest is numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.numpy_head import placed_in_grid
from anyner.architectures.numpy_spans import Floats, Integers
from anyner.architectures.set_gner.config import ILLEGAL, NONE, Config, Limits

Array = NDArray[Any]
Reach = tuple[Integers, Integers]
"""The last word that contiguous and discontinuous entities of each of H heads may have, -1: no entity is possible."""


@dataclass(frozen=True, slots=True)
class Heads:
    sentence: Integers  # (H,)
    word: Integers  # (H,)
    reach: Reach | None
    """None: no bound."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """What all sequences share."""

    following: Callable[[Mapping[str, Array]], Mapping[str, Array]]
    """The step: log probabilities (N, T, symbols + M) of what follows each element of sequences."""
    fixed: Mapping[str, Array]
    lengths: Integers  # (B,)
    labels: int

    @property
    def words(self) -> int:
        return int(self.fixed["keys"].shape[1])

    def continued(self, sentence: Integers, elements: Integers) -> tuple[Floats, Floats]:
        """Log probabilities of labels (N, T, C) and words (N, T, M) after each element (N, T) of sequences in sentences (N,),
        which are sorted."""
        placed = placed_in_grid(sentence, len(self.lengths))
        log = self.following({**self.fixed, **placed, "elements": elements})["log"]
        return log[..., : self.labels], log[..., log.shape[2] - self.words :]


class Hypotheses:
    """The F best sequences of each of H heads so far, best first."""

    def __init__(self, heads: int, limits: Limits, longest: int) -> None:
        shape = (heads, limits.beam)
        self.limits, self.longest = limits, longest
        self.log = np.full(shape, NONE, dtype=np.float32)  # (H, F) log probability, -inf: none
        self.label, self.size = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        self.units = np.zeros((*shape, longest), dtype=np.int64)  # (H, F, L) arbitrary beyond `size`

    def add(self, heads: Integers, log: Floats, size: Integers, units: Integers) -> None:
        """Adds candidates of heads (A,): log probabilities (A, S, X) of S sequences `units` (A, S, L) with each of X labels.

        `size` (S,) is that of each sequence.
        """
        kept, (count, _, labels) = self.limits.beam, log.shape
        flat = np.where(log < self.limits.least, np.float32(NONE), log).reshape(count, -1)
        chosen = best_places(np.concatenate([self.log[heads], flat], axis=1), kept)  # (A, F)
        new, row = np.maximum(chosen - kept, 0), np.arange(count)[:, None]
        old, sequence, place = chosen < kept, new // labels, np.minimum(chosen, kept - 1)
        self.log[heads] = np.where(old, self.log[heads[:, None], place], flat[row, new])
        self.label[heads] = np.where(old, self.label[heads[:, None], place], new % labels)
        self.size[heads] = np.where(old, self.size[heads[:, None], place], size[sequence])
        self.units[heads] = np.where(old[..., None], self.units[heads[:, None], place], units[row, sequence])

    def hopeless(self, heads: Integers, alive: Floats) -> NDArray[np.bool_]:
        """Which unfinished sequences (A, S) can no longer be among the best: continuing only makes them less probable."""
        lost: NDArray[np.bool_] = (alive < self.limits.least) | (alive <= self.log[heads, -1:])
        return lost


def best_places(values: Floats, count: int) -> Integers:
    """Indices of the largest values of each row (N, W), largest first, ties by index: (N, count)."""
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


def generate(sentences: Sentences, heads: Heads, limits: Limits, config: Config) -> Hypotheses:
    """The entities of `heads`."""
    longest = min(limits.longest, sentences.words)
    limits = replace(limits, least=max(limits.least, ILLEGAL / 2))  # illegal symbols are improbable, but not impossible
    search = Search(sentences, Hypotheses(len(heads.word), limits, longest), config)
    reach = (heads.word + longest, np.full_like(heads.word, -1)) if config.contiguous else heads.reach
    if len(heads.word) and reach is not None:
        search.in_passes(heads, reach)
    elif len(heads.word):
        search.by_beams(heads)
    return search.best


@dataclass(frozen=True, slots=True)
class Runs:
    """S sequences of each of H heads: given elements, then all words after them, of which any number may be taken."""

    heads: Integers  # (H,) indices of heads
    sentence: Integers  # (H,)
    units: Integers  # (H, S, L) may run past the end of the sentence
    given: Integers  # (H, S) the index of the last one given
    log: Floats  # (H, S) log probability of those given, -inf: no sequence


@dataclass(frozen=True, slots=True)
class Search:
    sentences: Sentences
    best: Hypotheses
    config: Config

    def by_beams(self, heads: Heads) -> None:
        """Continues the `beam` likeliest unfinished sequences of each head. Heads without any drop out."""
        best, beam, words = self.best, self.best.limits.beam, self.sentences.words
        active, sentence = np.arange(len(heads.word)), heads.sentence  # (A,) heads that still have unfinished sequences
        history = np.repeat(heads.word[:, None, None], beam, axis=1)  # (A, beam, elements so far)
        alive = np.full((len(active), beam), NONE, dtype=np.float32)
        alive[:, 0] = 0.0  # at first all beams are equal
        for step in range(best.longest):
            ends, units = (
                log[:, -1].reshape(len(active), beam, -1)
                for log in self.sentences.continued(np.repeat(sentence, beam), history.reshape(-1, step + 1))
            )
            padded = np.pad(history, ((0, 0), (0, 0), (0, best.longest - step - 1)))
            best.add(active, alive[..., None] + ends, np.full(beam, step + 1), padded)
            if step + 1 == best.longest:
                return
            total = (alive[..., None] + units).reshape(len(active), -1)  # (A, beam * M)
            chosen = best_places(total, beam)  # (A, beam)
            alive = np.take_along_axis(total, chosen, 1)
            alive[best.hopeless(active, alive)] = NONE
            row = np.arange(len(active))[:, None]
            history = np.concatenate([history[row, chosen // words], (chosen % words)[..., None]], axis=2)
            left = np.flatnonzero((alive > NONE).any(1))  # (A',)
            if not len(left):
                return
            active, sentence, alive, history = active[left], sentence[left], alive[left], history[left]

    def in_passes(self, heads: Heads, reach: Reach) -> None:
        """Scores contiguous entities in one pass, and discontinuous ones, if possible, in one more pass per gap."""
        contiguous, discontinuous = reach
        farthest = int((np.maximum(contiguous, discontinuous - 2) - heads.word).max())
        steps = max(1, min(self.best.longest, self.config.farthest or self.best.longest, farthest + 1))
        given = np.zeros((len(heads.word), 1), dtype=np.int64)
        units = heads.word[:, None, None] + np.arange(self.best.longest)  # (H, 1, L)
        runs = Runs(np.arange(len(heads.word)), heads.sentence, units, given, given.astype(np.float32))
        continuing = self._score(runs, steps, contiguous)
        split = np.flatnonzero(discontinuous >= heads.word + 2)  # (G,) room for a gap and a word after it
        runs = Runs(split, heads.sentence[split], units[split], given[split], runs.log[split])
        self._over_gaps(runs, continuing[split], discontinuous[split])

    def _score(self, runs: Runs, steps: int, reach: Integers) -> Floats:
        """Adds every entity that ends at one of the first `steps` elements of a run, from the last one given to the reach (H,).

        Returns the log probabilities of continuing with each word instead: (H, S, T, M).
        """
        count, per_head, _ = runs.units.shape
        number, none = np.arange(steps), np.float32(NONE)
        real = np.minimum(runs.units, self.sentences.words - 1)  # (H, S, L)
        last, inside = runs.units[..., :steps], real[..., :steps].reshape(-1, steps)  # (H, S, T), (H * S, T)
        labels, units = (
            log.reshape(count, per_head, steps, -1)
            for log in self.sentences.continued(np.repeat(runs.sentence, per_head), inside)
        )
        following = np.take_along_axis(units[..., :-1, :], real[..., 1:steps, None], 3)[..., 0]  # (H, S, T - 1)
        following = np.where(number[:-1] < runs.given[..., None], np.float32(0), following)  # elements given are already in `log`
        before = runs.log[..., None] + np.pad(following.cumsum(2), ((0, 0), (0, 0), (1, 0)))  # (H, S, T)
        length = self.sentences.lengths[runs.sentence][:, None, None]
        before = np.where((last >= length) | (number < runs.given[..., None]), none, before)
        ends = np.where(last > reach[:, None, None], none, before)
        labelled = (ends[..., None] + labels).reshape(count, per_head * steps, -1)  # (H, S * T, labels)
        sequences = np.repeat(real, steps, axis=1)  # (H, S * T, L)
        self.best.add(runs.heads, labelled, np.tile(number + 1, per_head), sequences)
        continuing: Floats = before[..., None] + units
        return continuing

    def _over_gaps(self, runs: Runs, continuing: Floats, reach: Integers) -> None:
        """From one run per head and the log probabilities of continuing it (H, 1, T, M): the `beam` likeliest jumps over a gap of
        each head become runs of their own, which are continued in turn, within the reach (H,).
        """
        longest, none = self.best.longest, np.float32(NONE)
        word = np.arange(continuing.shape[3])
        while len(reach):
            steps, words = continuing.shape[2:]
            jumps = (word > runs.units[..., :steps, None] + 1) & (word <= reach[:, None, None, None])  # (H, S, T, M)
            if steps == longest:
                jumps[:, :, -1] = False  # no room for one more
            likely = np.where(jumps, continuing, none).reshape(len(reach), -1)  # (H, S * T * M)
            chosen = best_places(likely, self.best.limits.beam)  # (H, S')
            log = np.take_along_axis(likely, chosen, 1)
            log[self.best.hopeless(runs.heads, log)] = NONE
            left = np.flatnonzero((log > NONE).any(1))  # (H',)
            if not len(left):
                return
            log, chosen, reach = log[left], chosen[left], reach[left]
            parent, place, landed = chosen // (steps * words), chosen // words % steps, chosen % words  # (H', S') each
            number = np.arange(longest) - place[..., None] - 1  # (H', S', L) from the word landed on
            kept = runs.units[left][np.arange(len(left))[:, None], parent]
            units = np.where(number < 0, kept, landed[..., None] + number)
            runs = Runs(runs.heads[left], runs.sentence[left], units, place + 1, log)
            farthest = np.where(log > NONE, runs.given + reach[:, None] - landed, 0)  # (H', S') the last index within reach
            continuing = self._score(runs, min(int(farthest.max()) + 1, longest), reach)
