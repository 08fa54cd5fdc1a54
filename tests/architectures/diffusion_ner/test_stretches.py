"""Stretches of long windows: every word is read, and every entity belongs to one of them that holds it whole."""

from dataclasses import replace

import numpy as np
import torch
from diffusion_batches import decoding, head_of
from head_batches import LENGTHS, alone, gold_of, states_of
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.stretches import Stretches
from anyner.architectures.draw import Draw
from anyner.architectures.settings import CorpusFacts
from anyner.layers.contiguous import Entities
from anyner.text.align import WordEntity

lengths_drawn = st.lists(st.integers(1, 200), min_size=1, max_size=5).map(tuple)


@given(lengths_drawn, st.integers(2, 40))
def test_stretches_cover_their_windows_and_share_half(lengths: tuple[int, ...], most: int) -> None:
    stretches = Stretches.of(lengths, most)
    for window, length in enumerate(lengths):
        rows = np.flatnonzero(stretches.window == window)
        starts, stops = stretches.start[rows], stretches.start[rows] + stretches.length[rows]
        assert starts[0] == 0 and stops[-1] == length and (stretches.length[rows] <= most).all()
        assert (stops[:-1] - starts[1:] >= most // 2).all()
        assert stretches.own_start[rows].tolist() == [0, *stretches.own_stop[rows][:-1]]
        assert stretches.own_stop[rows][-1] == length


@given(lengths_drawn, st.integers(4, 40), st.data())
def test_an_entity_of_half_a_stretch_or_less_lies_in_the_one_it_belongs_to(
    lengths: tuple[int, ...], most: int, data: st.DataObject
) -> None:
    stretches = Stretches.of(lengths, most)
    window = data.draw(st.integers(0, len(lengths) - 1))
    size = data.draw(st.integers(1, min(most // 2, lengths[window])))
    first = data.draw(st.integers(0, lengths[window] - size))
    middle = (2 * first + size - 1) // 2
    own = (stretches.window == window) & (stretches.own_start <= middle) & (middle < stretches.own_stop)
    assert own.sum() == 1
    (row,) = np.flatnonzero(own)
    assert stretches.start[row] <= first and first + size <= stretches.start[row] + stretches.length[row]


@given(lengths_drawn, st.integers(2, 40), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 199), st.integers(1, 20))))
def test_gold_is_in_every_stretch_that_holds_it(lengths: tuple[int, ...], most: int, drawn: list[tuple[int, int, int]]) -> None:
    there = sorted((w, f, f + size - 1) for w, f, size in drawn if w < len(lengths) and f + size <= lengths[w])
    array = np.array(there, dtype=np.int64).reshape(-1, 3)
    entities = Entities(array[:, 0], np.arange(len(there)), array[:, 1], array[:, 2])
    stretches = Stretches.of(lengths, most)
    found = stretches.entities(entities)
    expected = [
        (row, number, first - start, last - start)
        for row, (window, start, length) in enumerate(zip(stretches.window, stretches.start, stretches.length, strict=True))
        for number, (own, first, last) in enumerate(there)
        if own == window and first >= start and last < start + length
    ]
    assert list(zip(found.sentence, found.label, found.first, found.last, strict=True)) == expected


@torch.no_grad()
def test_the_words_of_a_stretch_are_those_of_its_window() -> None:
    states = states_of()
    stretches = Stretches.of(states.lengths, 3)
    rows = stretches.states(states)
    assert len(rows.lengths) > len(states.lengths) and max(rows.lengths) == 3
    for row, (window, start, length) in enumerate(zip(stretches.window, stretches.start, stretches.length, strict=True)):
        assert torch.equal(rows.words[row, :length], states.words[window, start : start + length])
        assert rows.windows[row].words == states.windows[window].words[start : start + length]
        assert rows.word_mask[row].tolist() == [place < length for place in range(3)]


def test_short_windows_are_not_touched() -> None:
    states = states_of()
    assert Stretches.of(states.lengths, max(LENGTHS)).states(states) is states


@torch.no_grad()
def test_proposals_of_stretches_lie_in_their_windows_whatever_the_batch() -> None:
    head, states = head_of(stretch=3, spans=20).eval(), states_of()
    chosen = decoding(head, score=1e-6)
    together = head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    assert sum(map(len, together)) > 0
    for number, length in enumerate(LENGTHS):
        assert all(0 <= entity.first <= entity.last < length for entity in together[number])
        (own,) = head.decode(head.propose(alone(states, number), chosen, Draw(0)).on_host(), 1, chosen)
        assert [entity.fragments for entity in own] == [entity.fragments for entity in together[number]]


def test_it_learns_in_stretches() -> None:
    losses = head_of(stretch=3, spans=20, pairs=8).loss(states_of(), gold_of(), Draw(1, 1))
    assert all(torch.isfinite(part.numerator) for part in losses.values())


def test_the_stretch_follows_from_the_corpus_and_what_is_longer_is_told() -> None:
    facts = CorpusFacts(("A",), (1,), (1,) * 999 + (70,), (1,), 1, 1, 512, False, False)
    assert Config().fitted(facts).stretch == 32
    assert Config().fitted(replace(facts, spans=(20,) * 9)).stretch == 40
    config = Config(stretch=8)
    short, long = WordEntity("A", ((0, 8),)), WordEntity("A", ((0, 9),))
    assert config.unreachable([short, long], [1] * 20) == [None, "longer than head.stretch, 8 words"]
    assert config.unreachable([long], [1] * 9) == ["longer than head.stretch, 8 words"]
