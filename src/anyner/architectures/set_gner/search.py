"""From head words to their entities, all heads at once: exact in one pass where entities have no gaps, else by beams.

Where a check says beforehand how far entities may reach, those without gaps are found in one pass there, too, and those with gaps
in one more for each gap.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from anyner.architectures.set_gner.finished import NONE, Finished, Grown, Limits
from anyner.architectures.set_gner.generator import HIDDEN, Generator, Sentences
from anyner.architectures.set_gner.runs import Runs, add_gaps, add_runs
from anyner.architectures.set_gner.targets import unit_symbol
from anyner.layers.rows import Rows


def grown(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """The entities of heads, units (H,) in their rows' sentences."""
    if not len(heads):
        empty = heads.new_zeros(0, limits.places)
        return Grown(heads.new_zeros(0, limits.places, 1), empty, empty, empty.float())
    limits = replace(limits, least=max(limits.least, HIDDEN / 2))  # what may not follow is improbable, but not impossible
    if generator.rules.contiguous:
        return _in_one_pass(generator, sentences, rows, heads, limits)
    if limits.reach is None:
        return _by_beams(generator, sentences, rows, heads, limits)
    return _by_reach(generator, sentences, rows, heads, limits)


def _by_reach(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """Entities without gaps in one pass, and those with gaps in one more for each gap, where there may be any."""
    assert limits.reach is not None
    whole, gaps = limits.reach.whole, limits.reach.gaps
    longest = min(limits.longest, sentences.units.shape[1])
    finished = Finished(len(heads), limits, longest, heads.device)
    gapped = (gaps >= heads + 2).nonzero()[:, 0]  # (G,) a gap and a unit behind it
    farthest = int((torch.maximum(whole, gaps - 2) - heads).max())  # the host waits for the length of the pass
    runs = Runs.of_heads(rows, heads, longest)
    most = max(1, min(farthest + 1, longest, generator.rules.farthest))
    going_on = add_runs(finished, generator, sentences, runs, most=most, reach=whole, nothing=limits.null_counts)
    if len(gapped):
        add_gaps(finished, generator, sentences, runs.of_some(gapped), going_on[gapped], reach=gaps[gapped])
    return finished.grown()


def _in_one_pass(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    longest = min(limits.longest, generator.rules.farthest, sentences.units.shape[1])
    finished = Finished(len(heads), limits, longest, heads.device)
    add_runs(finished, generator, sentences, Runs.of_heads(rows, heads, longest), most=longest, nothing=limits.null_counts)
    return finished.grown()


def _by_beams(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """Unfinished rows are followed, `places` at each head; a label finishes one. Heads without any left drop out."""
    labels, places, device = generator.rules.labels, limits.places, heads.device
    units = sentences.units.shape[1]
    longest = min(limits.longest, units)
    finished = Finished(len(heads), limits, longest, device)
    beam = torch.arange(places, device=device)
    active = torch.arange(len(heads), device=device)  # (A,) heads that still have unfinished rows
    rows = rows.repeated(places)  # A * P from here on
    history = heads[:, None, None].expand(-1, places, longest).clone()  # (A, P, L)
    alive = torch.where(beam == 0, 0.0, NONE).expand(len(heads), -1)  # (A, P) log probabilities; at first all beams are alike
    cache = generator.decoder.cache(len(rows), longest, sentences.units)
    for step in range(longest):
        first, last = history[..., 0].flatten(), history[..., step].flatten()  # (A * P,) each
        states = generator.step(sentences, rows, first, last, number=step, cache=cache)[:, None]  # (A * P, 1, w)
        said = generator.log_probabilities(sentences, rows, states, first, last[:, None])[:, 0]  # (A * P, labels + 2 + U)
        total = alive[..., None] + said.view(*alive.shape, -1)  # (A, P, labels + 2 + U)
        if step == 0 and limits.null_counts:
            finished.add(active, total[:, :1, labels : unit_symbol(labels)], labels, 1, history)
        ends, going_on = total[..., :labels], total[..., unit_symbol(labels) :]  # (A, P, labels), (A, P, U)
        finished.add(active, ends, 0, step + 1, history)
        if step + 1 == longest:
            break
        alive, chosen = going_on.flatten(1).topk(places)  # (A, P) each
        alive = alive.masked_fill(finished.beyond_reach(active, alive), NONE)
        parent = chosen // units  # (A, P)
        history = history.gather(1, parent[..., None].expand_as(history))
        history[..., step + 1] = chosen % units
        left = (alive > NONE).any(1).nonzero()[:, 0]  # (A',) the one wait of a step
        if not len(left):
            break
        cache = cache.reordered((left[:, None] * places + parent[left]).flatten())
        rows = rows[(left[:, None] * places + beam).flatten()]
        active, alive, history = active[left], alive[left], history[left]
    return finished.grown()
