"""Pairs of fragments: against brute force, by hand, and the same with and without torch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from head_batches import LABELS, WIDTH, states_of

from anyner.architectures.biaffine.config import Config
from anyner.architectures.biaffine.numpy_head import NumpyHead
from anyner.architectures.numpy_head import Array, Arrays
from anyner.architectures.numpy_spans import MOST_FRAGMENTS, Floats, Integers, fragment_pairs
from anyner.architectures.spans import SpanProposals
from anyner.layers.fragments import FragmentPairs

C = len(LABELS)
LENGTHS = (30, 25, 30, 28)


def spans(number: int) -> tuple[Integers, Floats]:
    """`number` spans (P, 4) and scores (P,), many of them equal."""
    random = np.random.default_rng(number)
    sentence, first = random.integers(0, len(LENGTHS), number), random.integers(0, 25, number)
    last = np.minimum(first + random.integers(0, 4, number), 24)
    place = np.column_stack([sentence, random.integers(0, 2 * C, number), first, last])
    return place, (random.integers(1, 20, number) / 20).astype(np.float32)


@pytest.mark.parametrize("number", [0, 1, 12, 60, 400])
def test_pairs_are_of_one_sentence_and_label_with_a_word_between(number: int) -> None:
    """Also if a sentence has more fragments than are paired; of equal scores, the earlier fragment is paired."""
    place, score = spans(number)
    expected = set()
    for sentence in range(len(LENGTHS)):
        own = [row for row in range(number) if place[row, 0] == sentence and place[row, 1] >= C]
        best = sorted(own, key=lambda row: (-score[row], row))[:MOST_FRAGMENTS]
        for one, other in product(best, best):
            if place[one, 1] == place[other, 1] and place[one, 3] + 1 < place[other, 2]:
                expected.add((sentence, place[one, 1] - C, *place[one, 2:], *place[other, 2:]))
    found = fragment_pairs(place, score, C)
    assert found.shape[1:] == (6,)
    assert set(map(tuple, found.tolist())) == expected
    assert number < 60 or len(expected) > 2


@pytest.mark.parametrize("number", [0, 1, 12, 400])
@torch.no_grad()
def test_both_runtimes_score_every_pair_by_the_words_of_its_sentence(number: int) -> None:
    place, score = spans(number)
    layer, states = FragmentPairs(WIDTH, 16, C, dropout=0.0).eval(), states_of(LENGTHS)
    with_torch = SpanProposals.of(layer, states, torch.from_numpy(place), torch.from_numpy(score))

    def run(step: str, inputs: Arrays) -> dict[str, Array]:
        assert step == "pairs"
        return {"logits": layer(*(torch.from_numpy(inputs[name]) for name in ("words", "pairs"))).numpy()}

    in_numpy = NumpyHead(Config(fragments=True), LABELS, run).span_proposals({"words": states.words.numpy()}, place, score)
    probability = in_numpy["pair_score"]
    assert with_torch.pair.tolist() == in_numpy["pair"].tolist()
    assert with_torch.pair_score.numpy() == pytest.approx(probability, abs=1e-6)
    assert number < 400 or bool(((probability > 0) & (probability < 1)).all())


def test_without_fragments_there_are_no_pairs() -> None:
    layer, states = FragmentPairs(WIDTH, 16, C, dropout=0.0), states_of((6,))
    place = torch.tensor([[0, 0, 0, 0], [0, C, 2, 2]])
    for pairs in (None, layer):
        proposals = SpanProposals.of(pairs, states, place, torch.ones(2))
        assert (proposals.pair.shape, proposals.pair_score.shape) == ((0, 6), (0,))
