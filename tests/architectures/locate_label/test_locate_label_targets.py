"""Seeds, their targets and the losses, against loops over every span and the paper's equations."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference_iou import reference_iou

from anyner.architectures.locate_label.targets import (
    EXTRA_NEGATIVES,
    POSITIVE_IOU,
    Floats,
    Targets,
    enumerate_seeds,
    focal_loss,
    nearest_entities,
    overlap_loss,
    regressor_loss,
    sample_seeds,
    soft_weights,
)
from anyner.encoding.gold import GoldArrays
from anyner.layers.contiguous import Entities
from anyner.layers.spanpool import Spans

Span = tuple[int, int]

sentences = st.lists(st.integers(1, 9), min_size=1, max_size=4)
seed_lengths = st.sets(st.integers(1, 11), min_size=1, max_size=5).map(sorted)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Words of each sentence, and entities as (sentence, first, last) in the order of the sentences."""
    words = draw(sentences)
    entities = []
    for number, count in enumerate(words):
        for one, other in draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=4)):
            entities.append((number, min(one, other), max(one, other)))
    return words, entities


def entities_of(listed: list[tuple[int, int, int]]) -> Entities:
    columns = np.array(listed, dtype=np.int64).reshape(-1, 3).T
    return Entities(columns[0], np.arange(len(listed)) % 3, columns[1], columns[2])


def reference_seeds(count: int, lengths: list[int]) -> set[Span]:
    """Every length at every word, cut off at the end, duplicates dropped."""
    return {(first, min(first + length, count) - 1) for first in range(count) for length in lengths}


@given(batches())
def test_iou_is_that_of_the_sets_of_words(batch: tuple[list[int], list[tuple[int, int, int]]]) -> None:
    words, listed = batch
    iou, entity = nearest_entities((len(words), 4, max(words)), entities_of(listed))
    for (b, length, first), found in np.ndenumerate(iou):
        own = [reference_iou((first, first + length), (start, end)) if b == c else 0.0 for c, start, end in listed]
        assert found == np.float32(max(own, default=0.0))
        assert not found or entity[b, length, first] == own.index(max(own))


@given(sentences, seed_lengths)
def test_seeds_are_every_length_at_every_word(words: list[int], lengths: list[int]) -> None:
    grid = enumerate_seeds(torch.tensor(words), max(words), lengths)
    for number, count in enumerate(words):
        found = {(first, first + length) for length, first in grid[number].nonzero().tolist()}
        assert found == reference_seeds(count, lengths)


def chances(words: list[int], lengths: list[int], seed: int) -> Floats:
    return np.random.default_rng(seed).random((len(words), max(words) * max(lengths)), dtype=np.float32)


Labelled = dict[tuple[int, int, int], tuple[float, int]]
"""IoU and index of the nearest entity, by sentence, first and last word."""


def reference_sample(
    words: list[int], listed: list[tuple[int, int, int]], lengths: list[int], negatives: int, chance: Floats
) -> Labelled:
    """Every seed compared with every entity; negatives taken one by one in the order of their numbers."""
    chosen: Labelled = {}
    for b, count in enumerate(words):
        entities = {number: span[1:] for number, span in enumerate(listed) if span[0] == b}

        def nearest(span: Span, entities: dict[int, tuple[int, ...]] = entities) -> tuple[float, int]:
            found = [(np.float32(reference_iou(span, own)), -number) for number, own in entities.items()]
            iou, number = max(found, default=(np.float32(0.0), 0))
            return float(iou), -number

        seeds = sorted(reference_seeds(count, lengths), key=lambda span: (span[1] - span[0], span[0]))
        mine = {(b, *own): nearest(own) for own in entities.values()}  # type: ignore[arg-type, misc]
        mine |= {(b, *span): nearest(span) for span in seeds if nearest(span)[0] > np.float32(POSITIVE_IOU)}
        room = len(mine) * negatives + EXTRA_NEGATIVES
        for first, last in sorted(seeds, key=lambda span: chance[b, span[0] * max(lengths) + span[1] - span[0]]):
            if (b, first, last) not in mine and room:
                mine[b, first, last] = nearest((first, last))
                room -= 1
        chosen |= mine
    return chosen


@given(batches(), seed_lengths, st.integers(0, 3), st.integers(0, 5))
def test_sampling_equals_a_loop_over_all_seeds(
    batch: tuple[list[int], list[tuple[int, int, int]]], lengths: list[int], negatives: int, seed: int
) -> None:
    words, listed = batch
    chance = chances(words, lengths, seed)
    spans, ious, entities = sample_seeds(words, entities_of(listed), lengths, negatives, chance)
    found: Labelled = {}
    for b, first, last, iou, entity in zip(*spans.tolist(), ious.tolist(), entities.tolist(), strict=True):
        assert (b, first, last) not in found, "a seed is there once"
        found[b, first, last] = (iou, entity if iou else 0)
    expected = reference_sample(words, listed, lengths, negatives, chance)
    assert found == {span: (iou, entity if iou else 0) for span, (iou, entity) in expected.items()}


def test_sampling_does_not_depend_on_the_batch() -> None:
    chance = chances([5, 9], [1, 2, 3], 0)
    (sentence, *both), *_ = sample_seeds([5, 9], entities_of([(0, 1, 2), (1, 0, 7)]), [1, 2, 3], 2, chance)
    (_, *alone), *_ = sample_seeds([5], entities_of([(0, 1, 2)]), [1, 2, 3], 2, chance[:1, : 5 * 3])
    assert [row[sentence == 0].tolist() for row in both] == [row.tolist() for row in alone]


def test_discontinuous_gold_is_no_target() -> None:
    gold = GoldArrays(
        sentence=np.array([0, 0]),
        label=np.array([1, 2]),
        first=np.array([0, 1]),
        last=np.array([3, 2]),
        words=np.array([0, 3, 1, 2]),
        offsets=np.array([0, 2, 4]),
    )
    entities = Entities.of(gold)
    assert (entities.label.tolist(), entities.first.tolist(), entities.last.tolist()) == ([2], [1], [2])


@pytest.mark.parametrize("lengths", [[1], [7]])
def test_a_sentence_of_one_word_has_one_seed(lengths: list[int]) -> None:
    spans, iou, _ = sample_seeds([1], entities_of([]), lengths, 5, chances([1], lengths, 0))
    assert (spans.tolist(), iou.tolist()) == ([[0], [0], [0]], [0.0])


@given(st.floats(-8, 8), st.booleans())
def test_the_focal_loss_is_equation_12(logit: float, positive: bool) -> None:
    p = 1 / (1 + math.exp(-logit))
    expected = -((1 - p) ** 2) * math.log(p) if positive else -(p**2) * math.log(1 - p)
    found = focal_loss(torch.tensor([logit], dtype=torch.float64), torch.tensor([positive]))
    assert float(found) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_no_logit_is_too_large() -> None:
    logits = torch.tensor([-1e4, 1e4, -1e4, 1e4], requires_grad=True)
    loss = focal_loss(logits, torch.tensor([True, True, False, False]))
    loss.sum().backward()
    assert loss.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize(("iou", "positive", "expected"), [
    (0.8, True, 0.8), (1.0, True, 1.0), (0.0, False, 1.0), (0.6, False, 0.4),
])  # fmt: skip
def test_soft_weights_are_equation_11(iou: float, positive: bool, expected: float) -> None:
    assert float(soft_weights(torch.tensor(iou), torch.tensor(positive))) == pytest.approx(expected)


@pytest.mark.parametrize(("span", "target", "expected"), [
    ((2.0, 5.0), (2.0, 5.0), 0.0), ((2.0, 4.0), (2.0, 6.0), 0.5), ((0.0, 1.0), (1.0, 2.0), 1.0), ((0.0, 1.0), (3.0, 4.0), 1.5),
    ((2.5, 4.5), (2.0, 4.0), 0.4), ((9.0, -9.0), (3.0, 5.0), 1 + 4 / 6),
])  # fmt: skip
def test_the_overlap_loss_is_equation_15(span: tuple[float, float], target: tuple[float, float], expected: float) -> None:
    assert float(overlap_loss(torch.tensor([span]), torch.tensor([target]))) == pytest.approx(expected)


def test_the_regressor_loss_adds_smooth_l1_and_overlap_loss() -> None:
    seeds = Spans(torch.tensor([0]), torch.tensor([2]), torch.tensor([3]))
    nothing = torch.zeros(1)
    aims = Targets(seeds, nothing, nothing.bool(), torch.tensor([[0.0, 0.0]]), nothing)
    overlap = 1 - 1.5 / 5  # [2.5, 7) beside [2, 4)
    assert float(regressor_loss(torch.tensor([[0.5, 3.0]]), aims)) == pytest.approx(0.5 * 0.25 + 2.5 + overlap)
