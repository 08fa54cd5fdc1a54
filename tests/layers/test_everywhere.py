"""Every span of real words is learned, and nothing else. The oracle adds up span by span."""

import pytest
import torch
from torch import nn

from anyner.encoding.batch import training_batch
from anyner.encoding.gold import Example, Gold, Opinion
from anyner.encoding.pieces import Frame
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.everywhere import expecting_nothing, loss_everywhere
from anyner.text.align import WordEntity
from anyner.text.windows import Window

LABELS = ("A", "B")
LENGTHS = (4, 2)
ENTITIES = (
    (WordEntity("A", ((0, 2),)), WordEntity("B", ((3, 4),)), WordEntity("A", ((0, 1), (2, 3)))),
    (WordEntity("A", ((0, 1),)), WordEntity("B", ((0, 1),))),
)
LEARNED = {(0, 0, 1): 1, (0, 3, 3): 2, (1, 0, 0): 2}
"""The discontinuous one is no span, unless it is a kind of its own; of two labels for the same words the later stays."""


SAID = (WordEntity("B", ((0, 2),), 0.6), WordEntity("A", ((1, 2),), 0.3), WordEntity("B", ((1, 2),), 0.9))
"""Of other models about the first sentence; those on (1, 1) are together more than sure."""


SAID_OF_GAPS = (WordEntity("A", ((0, 1), (2, 3)), 0.7), WordEntity("B", ((0, 3),), 0.6))
"""Both with the same ends; the first counts only where it is a kind."""


def gold(annotated: frozenset[str] | None = None, share: float | None = None, know_gaps: bool = False) -> Gold:
    windows = [Window(0, 0, list(range(n)), list(range(1, n + 1)), ["w"] * n, [(5,)] * n) for n in LENGTHS]
    heard = (*SAID, *SAID_OF_GAPS) if know_gaps else SAID
    said = [None if share is None else Opinion.of(heard, LABELS, share, know_gaps), None]
    examples = [Example.of(w, own, LABELS, annotated, about) for w, own, about in zip(windows, ENTITIES, said, strict=True)]
    made = training_batch(examples, Frame((1,), (2,), 0, 3)).gold
    assert made is not None
    return made


def by_hand(logits: torch.Tensor, learned: dict[tuple[int, int, int], int]) -> float:
    total = 0.0
    for sentence, length in enumerate(LENGTHS):
        for first in range(length):
            for last in range(first, length):
                probabilities = logits[sentence, :, first, last].softmax(0)
                total -= probabilities[learned.get((sentence, first, last), 0)].log().item()
    return total


@pytest.mark.parametrize(("kinds", "learned"), [(3, LEARNED), (5, {**LEARNED, (0, 0, 2): 3})])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_that_of_all_spans_one_by_one(seed: int, kinds: int, learned: dict[tuple[int, int, int], int]) -> None:
    logits = torch.randn(2, kinds, 4, 4, generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    assert loss_everywhere(logits, mask, gold()).item() == pytest.approx(by_hand(logits, learned), rel=1e-5)


@pytest.mark.parametrize(
    ("kinds", "with_a_gap", "know_gaps"), [(3, False, False), (3, False, True), (5, True, False), (5, True, True)]
)
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_opinions_are_a_part_of_the_target_where_there_are_some(
    kinds: int, with_a_gap: bool, know_gaps: bool, share: float
) -> None:
    logits = torch.randn(2, kinds, 4, 4, generator=torch.Generator().manual_seed(4))
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    held = {(0, 1): {2: 0.6}, (1, 1): {1: 0.25, 2: 0.75}}  # by first and last word: how likely each kind
    if know_gaps:
        held[0, 2] = {2: 0.6 / 1.3, 3: 0.7 / 1.3} if with_a_gap else {2: 0.6}
    total = 0.0
    for sentence, length in enumerate(LENGTHS):
        for first in range(length):
            for last in range(first, length):
                target = torch.zeros(kinds)
                kind = 3 if with_a_gap and (sentence, first, last) == (0, 0, 2) else LEARNED.get((sentence, first, last), 0)
                target[kind] = 1.0
                if sentence == 0 and (kind < 3 or know_gaps):
                    opinion = torch.zeros(kinds)
                    for likely_kind, likely in held.get((first, last), {}).items():
                        opinion[likely_kind] = likely
                    opinion[0] = 1 - opinion.sum()
                    target = (1 - share) * target + share * opinion
                total -= (target * logits[sentence, :, first, last].log_softmax(0)).sum().item()
    assert loss_everywhere(logits, mask, gold(share=share, know_gaps=know_gaps)).item() == pytest.approx(total, rel=1e-5)


def test_a_label_that_was_not_annotated_is_neither_right_nor_wrong() -> None:
    logits = torch.zeros(2, 3, 4, 4)
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    likely = logits.clone()
    likely[:, 2, 1, 1] = 9.0  # label B where nothing is marked
    assert loss_everywhere(likely, mask, gold()) > loss_everywhere(logits, mask, gold()) + 5
    known = gold(frozenset({"A"}))
    assert torch.equal(loss_everywhere(likely, mask, known), loss_everywhere(logits, mask, known))
    heard = gold(frozenset({"A"}), share=0.5)
    assert torch.equal(loss_everywhere(likely, mask, heard), loss_everywhere(logits, mask, heard))


def test_pairs_expect_nothing_and_what_stands_beside_them_takes_it_back() -> None:
    pairs, beside = BoundaryPairs(4, 3, 3, dropout=0.0), nn.Linear(2, 3)
    before = (pairs.linear.bias.clone(), beside.bias.clone())
    expecting_nothing(pairs, beside)
    assert (pairs.linear.bias + beside.bias)[0].item() == 0
    assert pairs.linear.bias[0] > 4
    assert torch.equal(pairs.linear.bias[1:], before[0][1:])
    assert torch.equal(beside.bias[1:], before[1][1:])
