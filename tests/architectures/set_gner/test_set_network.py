"""Legal symbols, positions of sequences, and distances to the next word."""

from functools import cache
from itertools import pairwise
from typing import Any

import torch
from head_batches import LABELS, gold_of, states_of
from hypothesis import given
from hypothesis import strategies as st
from set_batches import config_of, entity_sets, head_of

from anyner.architectures.draw import Draw
from anyner.architectures.set_gner.network import Network, Positions
from anyner.architectures.set_gner.targets import END, FRAGMENT, NO_ENTITY
from anyner.text.align import WordEntity

C = len(LABELS)


@cache
def network_of(**changed: Any) -> Network:
    return head_of(**changed).network


def may_follow(network: Network, first: int, last: int, length: int, units: int) -> tuple[bool, bool, set[int]]:
    """Whether a label may follow, whether "no entity" and "fragment" may, and which units."""
    found = network.legal(torch.tensor([[first]]), torch.tensor([[last]]), torch.tensor([[length]]), units)[0, 0]
    assert found.shape == (C + 2 + units,)
    assert len(set(found[:C].tolist())) == len(set(found[C : C + 2].tolist())) == 1
    return bool(found[0]), bool(found[C]), set(found[C + 2 :].nonzero()[:, 0].tolist())


@given(st.integers(1, 9), st.integers(0, 3), st.booleans(), st.integers(1, 9), st.data())
def test_no_sequence_leaves_the_sentence_or_goes_back(
    length: int, padding: int, contiguous: bool, farthest: int, data: st.DataObject
) -> None:
    network = network_of(contiguous=contiguous, farthest=farthest)
    first = last = data.draw(st.integers(0, length - 1))
    for step in range(12):
        label, nothing, units = may_follow(network, first, last, length, length + padding)
        assert label
        assert nothing == (step == 0)
        assert units == {unit for unit in range(last + 1, min(length, first + farthest)) if not contiguous or unit == last + 1}
        if not units:
            break
        last = data.draw(st.sampled_from(sorted(units)))


@given(entity_sets())
def test_every_entity_can_be_generated(sentence: tuple[int, list[WordEntity]]) -> None:
    length, entities = sentence
    for entity in entities:
        words = entity.word_indices
        network = network_of(contiguous=len(entity.fragments) == 1, farthest=entity.last - entity.first + 1)
        for last, following in pairwise(words):
            assert following in may_follow(network, words[0], last, length, length)[2]
        assert may_follow(network, words[0], words[-1], length, length)[0]


def test_without_constraints_only_padding_is_illegal() -> None:
    network = network_of(constrained=False, farthest=1)
    for last in (2, NO_ENTITY - 3, FRAGMENT - 3, END - 3 - C):  # a unit, and symbols below zero
        found = network.legal(torch.tensor([[1]]), torch.tensor([[last]]), torch.tensor([[4]]), 6)[0, 0]
        assert found.tolist() == [True] * (C + 3 + 4) + [False] * 2


def test_positions_reach_a_thousand_words_and_never_coincide() -> None:
    config = config_of(most_units=1000, longest=20, interval=4)
    new = Positions(config, 16, None)
    last = new.of_sequences(torch.tensor([999]), torch.arange(20))
    assert last.shape == (1, 20, 16)
    assert len({tuple(row.tolist()) for row in new.table.detach()[-40:]}) == 40
    pretrained = Positions(config, 16, 1026)
    assert pretrained.interval == 1, "the table of a checkpoint has no more rows, so positions are closer"
    near, next_one = (pretrained.of_sequences(torch.tensor([first]), torch.tensor([0])) for first in (998, 999))
    assert not torch.equal(near, next_one)
    assert pretrained.of_sequences(torch.tensor([5000]), torch.arange(20)).shape == (1, 20, 16), "beyond the table: its last row"


def test_positions_are_head_word_times_interval_plus_step() -> None:
    """Equation 13, and the ablation without it: interval 0."""
    for interval in (0, 1, 4):
        positions = Positions(config_of(interval=interval), 16, None)
        found = positions.of_sequences(torch.tensor([0, 3]), torch.arange(5))
        for row, first in enumerate((0, 3)):
            for step in range(5):
                assert torch.equal(found[row, step], positions.table[first * interval + step])
        assert len({tuple(row.tolist()) for row in positions.of_units(12).detach()}) == 12, "words still have different positions"


@torch.no_grad()
def test_a_sequence_knows_how_far_its_next_word_is() -> None:
    plain, head = head_of(contiguous=False), head_of(contiguous=False, distances=2)
    head.load_state_dict(plain.state_dict(), strict=False)
    assert head.network.distances is not None
    states, gold, draw = states_of(), gold_of(), Draw(0, 1)
    before, same = (one.loss(states, gold, draw)["generation"].numerator for one in (plain, head))
    assert torch.equal(before, same)
    head.network.distances[1] += 1.0
    assert head.loss(states, gold, draw)["generation"].numerator != before
