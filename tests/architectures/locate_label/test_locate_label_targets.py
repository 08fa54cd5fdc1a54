"""Seeds, their targets and the losses, against loops over every span and the paper's equations."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.architectures.locate_label.targets import (
    EXTRA_NEGATIVES,
    Floats,
    Sampling,
    Seeds,
    Targets,
    enumerate_seeds,
    focal_loss,
    intersection_over_union,
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


def iou_slowly(one: Span, other: Span) -> float:
    mine, theirs = set(range(one[0], one[1] + 1)), set(range(other[0], other[1] + 1))
    return len(mine & theirs) / len(mine | theirs)


def seeds_slowly(count: int, lengths: list[int]) -> set[Span]:
    """Every length at every word, cut off at the end, duplicates dropped."""
    return {(first, min(first + length, count) - 1) for first in range(count) for length in lengths}


@given(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_iou_is_that_of_the_sets_of_words(one: Span, other: Span) -> None:
    one, other = (min(one), max(one)), (min(other), max(other))
    found = intersection_over_union(*(np.array([number]) for number in (*one, *other)))
    assert found[0] == np.float32(iou_slowly(one, other))


@given(sentences, seed_lengths)
def test_seeds_are_every_length_at_every_word(words: list[int], lengths: list[int]) -> None:
    grid = enumerate_seeds(torch.tensor(words), max(words), lengths)
    for number, count in enumerate(words):
        found = {(first, first + length) for length, first in grid[number].nonzero().tolist()}
        assert found == seeds_slowly(count, lengths)


samplings = st.builds(Sampling, seed_lengths.map(tuple), st.sampled_from([0.0, 0.5, 0.7]), st.integers(0, 3))
Labelled = dict[tuple[int, int, int], tuple[float, int]]
"""IoU and index of the nearest entity, by sentence, first and last word."""


def sampled_slowly(words: list[int], listed: list[tuple[int, int, int]], sampling: Sampling, chance: Floats) -> Labelled:
    """Every seed compared with every entity; negatives taken one by one in the order of their numbers."""
    chosen: Labelled = {}
    for b, count in enumerate(words):
        entities = {number: span[1:] for number, span in enumerate(listed) if span[0] == b}

        def nearest(span: Span, entities: dict[int, tuple[int, ...]] = entities) -> tuple[float, int]:
            found = [(np.float32(iou_slowly(span, own)), -number) for number, own in entities.items()]  # type: ignore[arg-type]
            iou, number = max(found, default=(np.float32(0.0), 0))
            return float(iou), -number

        seeds = sorted(seeds_slowly(count, list(sampling.lengths)), key=lambda span: (span[1] - span[0], span[0]))
        mine = {(b, *own): nearest(own) for own in entities.values()}  # type: ignore[arg-type, misc]
        mine |= {(b, *span): nearest(span) for span in seeds if nearest(span)[0] > np.float32(sampling.positive_iou)}
        room = len(mine) * sampling.negatives + EXTRA_NEGATIVES
        for number in np.argsort(chance[b, : len(seeds)], kind="stable"):
            if (b, *seeds[number]) not in mine and room:
                mine[(b, *seeds[number])] = nearest(seeds[number])
                room -= 1
        chosen |= mine
    return chosen


@settings(deadline=None)
@given(batches(), samplings, st.integers(0, 5))
def test_sampling_equals_a_loop_over_all_seeds(
    batch: tuple[list[int], list[tuple[int, int, int]]], sampling: Sampling, seed: int
) -> None:
    words, listed = batch
    chance = np.random.default_rng(seed).random((len(words), 99), dtype=np.float32)
    seeds = sample_seeds(words, entities_of(listed), sampling, chance)
    found: Labelled = {}
    for b, first, last, iou, entity in zip(*(getattr(seeds, name).tolist() for name in Seeds.__slots__), strict=True):
        assert (b, first, last) not in found, "a seed is there once"
        found[b, first, last] = (iou, entity if iou else 0)
    expected = sampled_slowly(words, listed, sampling, chance)
    assert found == {span: (iou, entity if iou else 0) for span, (iou, entity) in expected.items()}


def test_what_is_drawn_for_a_sentence_does_not_depend_on_the_batch() -> None:
    chance = np.random.default_rng(0).random((2, 99), dtype=np.float32)
    sampling = Sampling((1, 2, 3), 0.7, 2)
    both = sample_seeds([5, 9], entities_of([(0, 1, 2), (1, 0, 7)]), sampling, chance)
    alone = sample_seeds([5], entities_of([(0, 1, 2)]), sampling, chance[:1])
    mine = both[both.sentence == 0]
    assert sorted(zip(mine.first.tolist(), mine.last.tolist(), strict=True)) == sorted(
        zip(alone.first.tolist(), alone.last.tolist(), strict=True)
    )


def test_enough_negatives_are_drawn_even_when_all_numbers_are_large() -> None:
    """The short cut before sorting guesses from the share to draw; here the guess is wrong."""
    chance = np.linspace(0.9, 0.999, 99, dtype=np.float32)[None]
    seeds = sample_seeds([30], entities_of([]), Sampling((1, 2, 3), 0.7, 5), chance)
    assert (seeds.first.tolist(), seeds.last.tolist()) == ([0, 1], [0, 1])


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
    seeds = sample_seeds([1], entities_of([]), Sampling(tuple(lengths), 0.7, 5), np.zeros((1, 9), dtype=np.float32))
    assert (seeds.first.tolist(), seeds.last.tolist(), seeds.iou.tolist()) == ([0], [0], [0.0])


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
