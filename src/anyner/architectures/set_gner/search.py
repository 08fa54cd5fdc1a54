"""From head words to entities, all heads at once.

Beam search as in the paper, unless a cheaper search will do: contiguous entities all get their exact probability in one pass,
and if a span classifier bounds how far entities can reach, discontinuous ones take one more pass per gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.set_gner.config import ILLEGAL, NONE, Limits
from anyner.architectures.set_gner.network import Network, Sentences
from anyner.architectures.set_gner.targets import END
from anyner.layers.sequences import Sequences


class Reach(NamedTuple):
    """The last unit that entities of each of H heads may have, -1: no entity is possible."""

    contiguous: Tensor  # (H,)
    discontinuous: Tensor  # (H,)


class Hypotheses:
    """The F best sequences of each of H heads so far, best first."""

    def __init__(self, heads: int, limits: Limits, longest: int, device: torch.device) -> None:
        shape = (heads, limits.beam)
        self.limits, self.longest = limits, longest
        self.log = torch.full(shape, NONE, device=device)  # (H, F) log probability, -inf: none
        self.label, self.size = (torch.zeros(shape, dtype=torch.long, device=device) for _ in range(2))  # (H, F) each
        self.units = torch.zeros(*shape, longest, dtype=torch.long, device=device)  # (H, F, L) arbitrary beyond `size`

    def add(self, heads: Tensor, log: Tensor, size: int | Tensor, units: Tensor) -> None:
        """Adds candidates of heads (A,): log probabilities (A, S, X) of S sequences `units` (A, S, L) with each of X labels.

        `size` is one for all sequences, or one for each of S.
        """
        kept, (count, per_head, labels), device = self.limits.beam, log.shape, log.device
        new = (
            log.masked_fill(log < self.limits.least, NONE),
            torch.arange(labels, device=device),
            torch.as_tensor(size, device=device).expand(per_head)[:, None],
            torch.arange(kept, kept + per_head, device=device)[:, None],  # index into `stacked` below
        )
        old = (self.log[heads], self.label[heads], self.size[heads], torch.arange(kept, device=device).expand(count, -1))
        both = [torch.cat([one, other.expand_as(log).flatten(1)], dim=1) for one, other in zip(old, new, strict=True)]
        chosen = self._rank(both[0], both[2]).topk(kept)[1]  # (A, F)
        self.log[heads], self.label[heads], self.size[heads], source = (one.gather(1, chosen) for one in both)
        stacked = torch.cat([self.units[heads], units], dim=1)  # (A, F + S, L)
        self.units[heads] = stacked.gather(1, source[..., None].expand(-1, -1, self.longest))

    def hopeless(self, heads: Tensor, alive: Tensor) -> Tensor:
        """Which unfinished sequences (A, S) can no longer be among the best: continuing only makes them less probable."""
        at_best = alive / self.longest if self.limits.by_length else alive
        return (alive < self.limits.least) | (at_best <= self._rank(self.log[heads, -1:], self.size[heads, -1:]))

    def _rank(self, log: Tensor, size: Tensor) -> Tensor:
        return log / size.clamp(min=1) if self.limits.by_length else log

    def read_labels(self, labels: int, symbols: int) -> None:
        """Splits sequences that an end symbol has finished, at their first symbol that is not a unit.

        A sequence without a label there, or whose units do not ascend, keeps its place among the best but is no entity.
        """
        number = torch.arange(self.longest, device=self.units.device)
        unit = (self.units >= 0) | (number >= self.size[..., None])  # (H, F, L)
        self.size = torch.where(unit, self.longest - 1, number).amin(-1)  # (H, F)
        self.label = self.units.gather(2, self.size[..., None])[..., 0] + symbols
        rising = ((self.units.diff(dim=2) > 0) | (number[1:] >= self.size[..., None])).all(2)
        self.log = self.log.masked_fill((self.label >= labels) | ~rising, NONE)
        self.units = self.units.clamp(min=0)


def generate(
    network: Network, sentences: Sentences, sequences: Sequences, heads: Tensor, limits: Limits, *, reach: Reach | None = None
) -> Hypotheses:
    """The entities of `heads`, units (H,) in the sentences of `sequences`; `reach` None: no bound."""
    config = network.settings
    longest = min(limits.longest, sentences.keys.shape[1]) if config.constrained else limits.longest + 1
    limits = replace(limits, least=max(limits.least, ILLEGAL / 2))  # illegal symbols are improbable, but not impossible
    search = Search(network, sentences, Hypotheses(len(heads), limits, longest, heads.device))
    reach = Reach(heads + longest, torch.full_like(heads, -1)) if config.contiguous else reach
    if len(heads) and reach is not None:
        search.in_passes(sequences, heads, reach)
    elif len(heads):
        search.by_beams(sequences, heads)
    if not config.constrained:
        search.best.read_labels(network.labels, network.first_unit)
    return search.best


@dataclass(frozen=True, slots=True)
class Runs:
    """S sequences of each of H heads: given elements, then all units after them, of which any number may be taken."""

    heads: Tensor  # (H,) indices of heads
    sequences: Sequences  # H * S
    units: Tensor  # (H, S, L) may run past the end of the sentence
    given: Tensor  # (H, S) the index of the last one given
    log: Tensor  # (H, S) log probability of those given, -inf: no sequence


@dataclass(frozen=True, slots=True)
class Search:
    network: Network
    sentences: Sentences
    best: Hypotheses

    def by_beams(self, sequences: Sequences, heads: Tensor) -> None:
        """Continues the `beam` likeliest unfinished sequences of each head. Heads without any drop out.

        A label finishes a sequence; if there is an end symbol, only that does, and everything else continues it.
        """
        network, sentences, best, labels = self.network, self.sentences, self.best, self.network.labels
        constrained, beam, device = network.settings.constrained, best.limits.beam, heads.device
        ends = slice(0, labels) if constrained else slice(labels + END, labels + END + 1)
        skipped = network.first_unit if constrained else 0
        number = torch.arange(beam, device=device)
        active = torch.arange(len(heads), device=device)  # (A,) heads that still have unfinished sequences
        sequences = sequences.repeated(beam)  # A * beam from here on
        history = heads[:, None, None].expand(-1, beam, best.longest).clone()  # (A, beam, L)
        alive = torch.where(number == 0, 0.0, NONE).expand(len(heads), -1)  # (A, beam) at first all beams are equal
        cache = network.decoder.cache(len(sequences), best.longest, sentences.inputs)
        for step in range(best.longest):
            first, last = history[..., 0].flatten(), history[..., step].view(-1, 1)  # (A * beam,) and (A * beam, 1)
            states = network(sentences, sequences, last, first, (step, cache))  # (A * beam, 1, w)
            log = network.log_probabilities(sentences, sequences, states, first, last)[:, 0]  # (A * beam, symbols + U)
            total = alive[..., None] + log.view(*alive.shape, -1)  # (A, beam, symbols + U)
            best.add(active, total[..., ends], step + 1, history)
            if step + 1 == best.longest:
                break
            total[..., ends] = NONE
            alive, chosen = total[..., skipped:].flatten(1).topk(beam)  # (A, beam) each
            alive = alive.masked_fill(best.hopeless(active, alive), NONE)
            choices = total.shape[-1] - skipped
            parent = chosen // choices  # (A, beam)
            history = history.gather(1, parent[..., None].expand_as(history))
            history[..., step + 1] = chosen % choices + skipped - network.first_unit
            left = (alive > NONE).any(1).nonzero()[:, 0]  # (A',) the only wait for the device in a step
            if not len(left):
                break
            cache = cache.index_select(2, (left[:, None] * beam + parent[left]).flatten())
            sequences = sequences[(left[:, None] * beam + number).flatten()]
            active, alive, history = active[left], alive[left], history[left]

    def in_passes(self, sequences: Sequences, heads: Tensor, reach: Reach) -> None:
        """Scores contiguous entities in one pass, and discontinuous ones, if possible, in one more pass per gap."""
        farthest = int((torch.maximum(reach.contiguous, reach.discontinuous - 2) - heads).max())  # the host waits
        steps = max(1, min(self.best.longest, self.network.settings.farthest or self.best.longest, farthest + 1))
        number, given = torch.arange(len(heads), device=heads.device), torch.zeros_like(heads)[:, None]
        units = heads[:, None, None] + torch.arange(self.best.longest, device=heads.device)  # (H, 1, L)
        continuing = self._score(Runs(number, sequences, units, given, given.float()), steps, reach.contiguous)
        split = (reach.discontinuous >= heads + 2).nonzero()[:, 0]  # (G,) room for a gap and a unit after it
        runs = Runs(split, sequences[split], units[split], given[split], given[split].float())
        self._over_gaps(runs, continuing[split], reach.discontinuous[split])

    def _score(self, runs: Runs, steps: int, reach: Tensor) -> Tensor:
        """Adds every entity that ends at one of the first `steps` elements of a run, from the last one given to the reach (H,).

        Returns the log probabilities of continuing with each unit instead: (H, S, T, U).
        """
        network, sentences, (count, per_head, _) = self.network, self.sentences, runs.units.shape
        number = torch.arange(steps, device=runs.units.device)
        real = runs.units.clamp(max=sentences.keys.shape[1] - 1)  # (H, S, L)
        last, inside = runs.units[..., :steps], real[..., :steps].flatten(0, 1)  # (H, S, T), (H * S, T)
        states = network(sentences, runs.sequences, inside, inside[:, 0])
        log = network.log_probabilities(sentences, runs.sequences, states, inside[:, 0], inside)  # (H * S, T, symbols + U)
        log = log.view(count, per_head, steps, -1)
        units = log[..., network.first_unit :]  # (H, S, T, U)
        following = units[..., :-1, :].gather(3, real[..., 1:steps, None])[..., 0]  # (H, S, T - 1)
        following = following.masked_fill(number[:-1] < runs.given[..., None], 0.0)  # elements given are already in `log`
        before = runs.log[..., None] + functional.pad(following.cumsum(2), (1, 0))  # (H, S, T)
        length = sentences.lengths[runs.sequences.sentence].view(count, per_head, 1)
        before = before.masked_fill((last >= length) | (number < runs.given[..., None]), NONE)
        ends = before.masked_fill(last > reach[:, None, None], NONE)
        labelled = (ends[..., None] + log[..., : network.labels]).flatten(1, 2)  # (H, S * T, labels)
        sequences = real[:, :, None].expand(-1, -1, steps, -1).flatten(1, 2)  # (H, S * T, L)
        self.best.add(runs.heads, labelled, (number + 1).repeat(per_head), sequences)
        return before[..., None] + units

    def _over_gaps(self, runs: Runs, continuing: Tensor, reach: Tensor) -> None:
        """From one run per head and the log probabilities of continuing it (H, 1, T, U): the `beam` likeliest jumps over a gap of
        each head become runs of their own, which are continued in turn, within the reach (H,).
        """
        one_each, longest = runs.sequences, self.best.longest
        unit = torch.arange(continuing.shape[3], device=reach.device)
        while len(reach):
            steps, units = continuing.shape[2:]
            jumps = (unit > runs.units[..., :steps, None] + 1) & (unit <= reach[:, None, None, None])  # (H, S, T, U)
            if steps == longest:
                jumps[:, :, -1] = False  # no room for one more
            likely = continuing.masked_fill(~jumps, NONE).flatten(1)  # (H, S * T * U)
            log, chosen = likely.topk(min(self.best.limits.beam, likely.shape[1]))  # (H, S') each
            log = log.masked_fill(self.best.hopeless(runs.heads, log), NONE)
            left = (log > NONE).any(1).nonzero()[:, 0]  # (H',) the host waits for their number
            if not len(left):
                return
            log, chosen, reach, one_each = log[left], chosen[left], reach[left], one_each[left]
            parent, place, landed = chosen // (steps * units), chosen // units % steps, chosen % units  # (H', S') each
            number = torch.arange(longest, device=reach.device) - place[..., None] - 1  # (H', S', L) from the unit landed on
            kept = runs.units[left].gather(1, parent[..., None].expand(-1, -1, longest))
            sequences = one_each.packed().repeated(chosen.shape[1])  # few heads have gaps: the grid of all would be mostly empty
            runs = Runs(runs.heads[left], sequences, torch.where(number < 0, kept, landed[..., None] + number), place + 1, log)
            farthest = torch.where(log > NONE, runs.given + reach[:, None] - landed, 0)  # (H', S') the last index within reach
            continuing = self._score(runs, min(int(farthest.max()) + 1, longest), reach)
