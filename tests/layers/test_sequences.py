"""Sequences know their places, and the grid returns what was put into it."""

import numpy as np
import torch
from counted_sequences import sequences_of
from hypothesis import given
from hypothesis import strategies as st

from anyner.layers.sequences import Sequences

CPU = torch.device("cpu")


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(1, 3))
def test_sequences_know_their_sentence_and_their_place(counts: list[int], times: int) -> None:
    sequences, most = sequences_of(counts), max(counts, default=0)
    expected = [(sentence, number) for sentence, count in enumerate(counts) for number in range(count)]
    assert len(sequences) == len(expected)
    assert sequences.sentence.tolist() == [sentence for sentence, _ in expected]
    assert sequences.place.tolist() == [sentence * most + number for sentence, number in expected]
    assert sequences.filled == (len(set(counts)) < 2)
    more = sequences.repeated(times)
    same = sequences_of([count * times for count in counts])
    assert torch.equal(more.sentence, same.sentence)
    assert torch.equal(more.place, same.place)
    assert (more.sentences, more.most, more.filled) == (same.sentences, same.most, same.filled)


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=5))
def test_some_sequences_are_packed_as_if_there_were_no_others(kept: list[list[bool]]) -> None:
    sequences = sequences_of([len(own) for own in kept])
    chosen = torch.tensor([own for each in kept for own in each], dtype=torch.bool).nonzero()[:, 0]
    packed, same = sequences[chosen].packed(), sequences_of([sum(own) for own in kept])
    assert torch.equal(packed.sentence, same.sentence) and torch.equal(packed.place, same.place)
    assert (packed.sentences, packed.most) == (same.sentences, same.most)


@torch.no_grad()
def test_a_grid_returns_what_was_put_into_it() -> None:
    states = torch.randn(6, 3, 5, generator=torch.Generator().manual_seed(0))
    for sequences in (
        sequences_of([3, 3]),
        sequences_of([1, 0, 5]),
        sequences_of([4, 4])[torch.tensor([7, 0, 2, 1, 5, 6])],
    ):
        grid = sequences.to_grid(states)
        assert grid.shape == (sequences.sentences, sequences.most * 3, 5)
        assert torch.equal(sequences.from_grid(grid, 3), states)


@given(st.lists(st.integers(0, 3), max_size=12))
def test_sequences_in_any_order_have_different_places_in_their_sentences(sentence: list[int]) -> None:
    found = Sequences.of(np.array(sentence, dtype=np.int64), 4, CPU)
    assert found.most == max(map(sentence.count, range(4)))
    assert len(set(found.place.tolist())) == len(sentence)
    assert found.sentence.tolist() == [own // found.most for own in found.place.tolist()] == sentence
    assert found.filled == (found.place.tolist() == list(range(4 * found.most)))


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=5))
def test_sequences_of_a_mask_are_those_of_its_counts(mask: list[list[bool]]) -> None:
    found, column = Sequences.of_mask(torch.tensor(mask))
    same = sequences_of([sum(own) for own in mask])
    assert torch.equal(found.sentence, same.sentence) and torch.equal(found.place, same.place)
    assert column.tolist() == [number for own in mask for number, there in enumerate(own) if there]
