"""Which entity a span learns: costs against loops, assignments against what they promise."""

import numpy as np
import pytest
import torch
from head_batches import gold_of

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.denoiser import Answers
from anyner.architectures.diffusion_ner.matching import by_inputs, by_predictions, costs, labels_pointed_at
from anyner.architectures.diffusion_ner.noising import NoisySpans
from anyner.layers.assignment import NOTHING
from anyner.layers.contiguous import Entities
from anyner.text.align import WordEntity


def noisy(spans: list[list[tuple[int, int]]], source: list[list[int]]) -> NoisySpans:
    place = torch.tensor(spans)
    return NoisySpans(place[..., 0], place[..., 1], np.zeros(len(spans), dtype=np.int64), np.array(source))


def test_costs_are_less_the_three_probabilities() -> None:
    generator = torch.Generator().manual_seed(0)
    answers = Answers(*(torch.randn(2, 3, size, generator=generator) for size in (5, 5, 4)))
    first, last, label = torch.tensor([[0, 1], [2, 0]]), torch.tensor([[4, 1], [3, 0]]), torch.tensor([[0, 2], [1, 0]])
    found = costs(answers, first, last, label)
    for b in range(2):
        for k in range(3):
            for g in range(2):
                left = answers.left[b, k].sigmoid()[first[b, g]]
                right = answers.right[b, k].sigmoid()[last[b, g]]
                type_ = answers.types[b, k].softmax(-1)[label[b, g] + 1]
                assert float(found[b, k, g]) == pytest.approx(-float(left + right + type_), abs=1e-6)


def test_a_span_learns_the_entity_nearest_to_it() -> None:
    gold = Entities.of(gold_of().host).rows(3)  # (0, 4) and (1, 2); (0, 0); none
    spans = [[(0, 4), (1, 3), (2, 2), (3, 4)], [(0, 0)] * 4, [(0, 2)] * 4]
    assigned = by_inputs(gold, noisy(spans, [[0, 1, 1, 0], [0] * 4, [-1] * 4]), "nearest")
    assert assigned.tolist() == [[0, 1, 1, 0], [0] * 4, [NOTHING] * 4]


def test_a_span_apart_from_all_entities_learns_to_be_nothing() -> None:
    gold = Entities.of(gold_of((9,), [[WordEntity("A", ((2, 4),)), WordEntity("B", ((7, 8),))]]).host).rows(1)
    spans = noisy([[(0, 1), (0, 2), (3, 6), (5, 6), (5, 7), (8, 8)]], [[-1] * 6])
    assert by_inputs(gold, spans, "nothing")[0].tolist() == [NOTHING, 0, 0, NOTHING, 1, NOTHING]
    assert by_inputs(gold, spans, "nearest")[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_a_span_has_the_label_of_what_it_points_at() -> None:
    generator = torch.Generator().manual_seed(1)
    answers = Answers(*(torch.randn(2, 40, size, generator=generator) for size in (4, 4, 3)))
    first, last, label = (
        torch.tensor([[0, 1, 0], [2, 0, 0]]),
        torch.tensor([[3, 1, 0], [3, 0, 0]]),
        torch.tensor([[1, 0, 0], [1, 0, 0]]),
    )
    counts = torch.tensor([3, 1])
    found = labels_pointed_at(answers, first, last, label, counts)
    for b in range(2):
        known = {(int(first[b, g]), int(last[b, g])): int(label[b, g]) + 1 for g in range(int(counts[b]))}
        for k in range(40):
            pointed = (int(answers.left[b, k].argmax()), int(answers.right[b, k].argmax()))
            assert int(found[b, k]) == known.get(pointed, 0)
    assert {int(one) for one in found.unique()} == {0, 1, 2}


def test_of_two_entities_as_near_a_span_learns_the_one_put_into_it() -> None:
    gold = Entities.of(gold_of().host).rows(3)
    between = [[(1, 3), (0, 3), (1, 3), (0, 3)], [(0, 0)] * 4, [(0, 2)] * 4]  # (0, 3): one from (0, 4), two from (1, 2)
    assert by_inputs(gold, noisy(between, [[0, 0, 1, 1], [0] * 4, [-1] * 4]), "nearest")[0].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("assignment", ["repeat", "one_to_one"])
def test_by_predictions_every_entity_is_learned(assignment: str) -> None:
    gold = Entities.of(gold_of().host).rows(3)
    cost = np.random.default_rng(0).random((3, 5, 2), dtype=np.float32)
    config = Config.of({"assignment": assignment, "tie": 0.0}, "head")
    assigned = by_predictions(cost, gold, noisy([[(0, 0)] * 5] * 3, [[0] * 5] * 3), np.ones(3, dtype=np.float32), config)
    counts = [np.bincount(own[own != NOTHING], minlength=2).tolist() for own in assigned]
    assert counts == ([[3, 2], [5, 0], [0, 0]] if assignment == "repeat" else [[1, 1], [1, 0], [0, 0]])


def test_little_noise_ties_a_span_to_what_was_put_into_it() -> None:
    gold = Entities.of(gold_of().host).rows(3)
    cost = np.zeros((3, 4, 2), dtype=np.float32)
    cost[0] = [[-2.0, 0.0], [-2.0, 0.0], [0.0, -2.0], [0.0, -2.0]]  # the answers say: first two the first entity
    spans = noisy([[(0, 0)] * 4] * 3, [[1, 1, 0, 0]] * 3)  # but the others were put in
    for kept, expected in ((1.0, [1, 1, 0, 0]), (0.1, [0, 0, 1, 1])):
        assigned = by_predictions(cost, gold, spans, np.full(3, kept, dtype=np.float32), Config(matching="predictions"))
        assert assigned[0].tolist() == expected
