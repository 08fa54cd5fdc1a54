"""Only real, later units of the sentence may follow, and every entity within the limits can be written."""

from itertools import pairwise

import torch
from head_batches import LABELS
from hypothesis import given, settings
from hypothesis import strategies as st
from set_batches import entity_sets

from anyner.architectures.set_gner.legal import Rules, legal
from anyner.architectures.set_gner.targets import SPECIAL
from anyner.text.align import WordEntity

C = len(LABELS)


def may_follow(first: int, last: int, length: int, units: int, rules: Rules) -> tuple[bool, bool, set[int]]:
    """Whether a label may follow, whether "nothing" may, and which units."""
    found = legal(torch.tensor([[first]]), torch.tensor([[last]]), torch.tensor([[length]]), torch.arange(units), rules)[0, 0]
    assert found.shape == (C + SPECIAL + units,)
    assert len(set(found[:C].tolist())) == len(set(found[C : C + SPECIAL].tolist())) == 1
    return bool(found[0]), bool(found[C]), set(found[C + SPECIAL :].nonzero()[:, 0].tolist())


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 3), st.booleans(), st.integers(1, 9), st.data())
def test_no_walk_leaves_the_sentence_or_goes_back(
    length: int, padding: int, contiguous: bool, farthest: int, data: st.DataObject
) -> None:
    rules = Rules(C, contiguous, farthest)
    first = last = data.draw(st.integers(0, length - 1))
    for step in range(12):
        label, nothing, units = may_follow(first, last, length, length + padding, rules)
        assert label
        assert nothing == (step == 0)
        assert units == {unit for unit in range(last + 1, min(length, first + farthest)) if not contiguous or unit == last + 1}
        if not units:
            break
        last = data.draw(st.sampled_from(sorted(units)))


@settings(deadline=None)
@given(entity_sets())
def test_every_entity_can_be_written(sentence: tuple[int, list[WordEntity]]) -> None:
    length, entities = sentence
    for entity in entities:
        words = entity.word_indices
        rules = Rules(C, len(entity.fragments) == 1, entity.last - entity.first + 1)
        for last, following in pairwise(words):
            assert following in may_follow(words[0], last, length, length, rules)[2]
        assert may_follow(words[0], words[-1], length, length, rules)[0]
