"""Losses against loops, and denoising from noise to proposals."""

from typing import Any

import numpy as np
import pytest
import torch
from diffusion_batches import decoding, head_of, predicted
from head_batches import ENTITIES, LABELS, LENGTHS, alone, gold_of, states_of

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.head import normals_at
from anyner.architectures.diffusion_ner.network import Pointed, Predictions
from anyner.architectures.diffusion_ner.targets import by_inputs, by_predictions, noised, on_device
from anyner.architectures.draw import Draw
from anyner.layers.contiguous import Entities
from anyner.text.align import WordEntity

SETTINGS: list[dict[str, Any]] = [
    {}, {"matching": "predictions"}, {"matching": "one_to_one"}, {"expansion": "repeat"}, {"expansion": "random"},
    {"schedule": "linear", "diffusion_steps": 50},
    {"attention": "self"}, {"attention": "cross"}, {"attention": "none"}, {"span_classifier": {"width": 8}},
    {"denoiser": "paper"}, {**Config.PAPER, "width": 8},
]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("matching", ["inputs", "predictions"])
def test_the_losses_are_those_of_the_assigned_entities(matching: str) -> None:
    head, states, gold = head_of(matching=matching, spans=30, span_classifier={"width": 0}), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(1, 1))
    rows = Entities.of(gold.host).rows(3)
    noisy = noised(rows, states, head.settings, head.alpha_bar, Draw(1, 1))
    predictions = predicted(head, states, *map(torch.from_numpy, (noisy.first, noisy.last, noisy.step)))
    if matching == "inputs":
        assigned = by_inputs(rows, noisy)
    else:
        assigned = by_predictions(predictions, rows, on_device(rows, states), head.settings)
    boundary = kind = 0.0
    matched, typed = 0, 0
    for (b, k), entity in np.ndenumerate(assigned):
        label = int(rows.label[b, entity]) + 1 if entity >= 0 else 0
        if matching == "inputs":
            pointed = (int(predictions.left[b, k].argmax()), int(predictions.right[b, k].argmax()))
            own_gold = range(int(rows.counts[b]))
            label = sum(int(rows.label[b, g]) + 1 for g in own_gold if (rows.first[b, g], rows.last[b, g]) == pointed)
        kind -= float(predictions.types[b, k].log_softmax(-1)[label])
        typed += label > 0
        if entity >= 0:
            matched += 1
            for logits, target in ((predictions.left, rows.first), (predictions.right, rows.last)):
                for word in range(LENGTHS[b]):
                    p = float(logits[b, k, word].sigmoid())
                    boundary -= np.log(p if word == target[b, entity] else 1 - p)
    assert float(parts["boundary"].numerator) == pytest.approx(boundary, rel=1e-4)
    assert float(parts["boundary"].denominator) == matched > 30
    assert typed > 0
    assert float(parts["type"].numerator) == pytest.approx(kind, rel=1e-4)
    assert float(parts["type"].denominator) == 3 * 30


@torch.no_grad()
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_loss_of_a_batch_is_the_sum_of_its_sentences(settings: dict[str, Any]) -> None:
    head, states = head_of(**settings), states_of()
    for name, part in head.loss(states, gold_of(), Draw(0, 1)).items():
        numerator = denominator = 0.0
        for sentence, length in enumerate(LENGTHS):
            own = gold_of((length,), ENTITIES[sentence : sentence + 1])
            one = head.loss(alone(states, sentence), own, Draw(0, 1))[name]
            numerator += float(one.numerator)
            denominator += float(one.denominator)
        assert float(part.numerator) == pytest.approx(numerator, rel=1e-4)
        assert float(part.denominator) == pytest.approx(denominator)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_losses_are_finite_and_gradients_reach_every_parameter(settings: dict[str, Any]) -> None:
    for lengths, entities in ((LENGTHS, ENTITIES), ((1,), [[]]), ((4, 2), [[], []])):
        head = head_of(**settings).train()
        parts = head.loss(states_of(lengths), gold_of(lengths, entities), Draw(0, 1))
        total = torch.stack([part.weight * part.numerator / part.denominator.clamp(min=1) for part in parts.values()]).sum()
        assert total.isfinite()
        total.backward()
        for name, parameter in head.named_parameters():
            if any(entities):
                assert parameter.grad is not None, name
                assert parameter.grad.isfinite().all(), name
                # a key's bias shifts all of a query's scores alike, so attention never changes with it
                assert parameter.grad.abs().sum() > 0 or name.endswith("keys.bias"), name
        with torch.no_grad():
            proposals = head.eval().propose(states_of(lengths), decoding(head, score=0.0), Draw(0)).on_host()
        assert np.isfinite(proposals["score"]).all()


@torch.no_grad()
def test_labels_that_are_not_annotated_give_no_loss() -> None:
    head, states = head_of(), states_of((5,))
    gold = gold_of((5,), [[WordEntity("A", ((0, 5),))]], [frozenset({"A"})])
    before = float(head.loss(states, gold, Draw(0))["type"].numerator)
    head.denoiser.types.bias[2:] += 7.0
    assert float(head.loss(states, gold, Draw(0))["type"].numerator) == pytest.approx(before, rel=1e-5)


class Perfect(torch.nn.Module):
    """A stub of the denoiser: always predicts one entity, and records its inputs."""

    def __init__(self, first: int, last: int, label: int) -> None:
        super().__init__()
        self.entity, self.inputs = (first, last, label), list[tuple[list[int], list[int], int]]()

    def read(self, states: Any) -> Any:
        return states

    def time(self, steps: torch.Tensor) -> torch.Tensor:
        return steps[:, None]

    def pointed(self, states: Any, first: torch.Tensor, last: torch.Tensor, time: torch.Tensor) -> Pointed:
        self.inputs.append((first[0].tolist(), last[0].tolist(), int(time)))
        shape = (*first.shape, states.words.shape[1])
        left, right = torch.full(shape, -9.0), torch.full(shape, -9.0)
        left[..., self.entity[0]], right[..., self.entity[1]] = 9.0, 9.0
        return Pointed(left, left, right)

    def typed(self, states: Any, pointed: Pointed) -> Predictions:
        types = torch.full((*pointed.left.shape[:2], len(LABELS) + 1), -9.0)
        types[..., self.entity[2] + 1] = 9.0
        return Predictions(pointed.left, pointed.right, types)


def test_spans_converge_to_the_entity_of_a_perfect_denoiser() -> None:
    head = head_of(span_classifier={"width": 0})
    head.denoiser = perfect = Perfect(2, 6, 1)  # type: ignore[assignment]
    proposals = head.propose(states_of((9,)), decoding(head, spans=40, steps=20), Draw(0)).on_host()
    assert {tuple(place) for place in proposals["place"].tolist()} == {(0, 1, 2, 6)}
    assert [step for *_, step in perfect.inputs] == list(range(999, 0, -50))
    off = [np.abs(np.array(first) - 2).mean() + np.abs(np.array(last) - 6).mean() for first, last, _ in perfect.inputs]
    assert off[0] > 3
    assert off[-1] < 1.0, "near the end the spans lie at the entity"


def test_options_set_spans_steps_and_samples() -> None:
    head = head_of(span_classifier={"width": 0})
    head.denoiser = perfect = Perfect(0, 1, 2)  # type: ignore[assignment]
    states = states_of((4,))
    for options, steps, found in (
        ({"spans": 3, "steps": 1}, [999], 1),
        ({"spans": 5, "steps": 2, "samples": 3}, [999, 499] * 3, 3),
        ({"spans": 5, "steps": 2, "voting": False}, [999, 499], 1),
        ({"spans": 5, "steps": 4, "after_step": 2}, [999, 749], 1),
    ):  # fmt: skip
        perfect.inputs.clear()
        proposals = head.propose(states, decoding(head, **options), Draw(0)).on_host()  # type: ignore[arg-type]
        assert [step for *_, step in perfect.inputs] == steps
        assert len(proposals["score"]) == found
        assert {len(first) for first, _, _ in perfect.inputs} == {options["spans"]}


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"samples": 2}, {"voting": False}])
def test_every_way_to_predict_works_in_lower_precision(options: dict[str, Any]) -> None:
    head, states = head_of(span_classifier={"width": 8}), states_of((9, 4))
    with torch.autocast("cpu", torch.bfloat16):
        proposals = head.propose(states, decoding(head, score=0.05, **options), Draw(0)).on_host()
    assert len(proposals["score"]) > 0
    assert np.isfinite(proposals["score"]).all()


@torch.no_grad()
def test_the_dense_span_loss_can_be_switched_off() -> None:
    states, gold = states_of(), gold_of()
    learning = head_of(span_classifier={"width": 8}).loss(states, gold, Draw(1, 1))["spans"]
    assert float(learning.denominator) == sum(LENGTHS)
    assert float(learning.numerator) > 0
    assert "spans" not in head_of(span_classifier={"width": 8, "loss_weight": 0.0}).loss(states, gold, Draw(1, 1))
    assert "spans" not in head_of(span_classifier={"width": 0}).loss(states, gold, Draw(1, 1))


@torch.no_grad()
def test_the_span_classifier_rescores_what_is_found() -> None:
    head, states = head_of(span_classifier={"width": 8}), states_of((9, 4))
    assert head.span_classifier is not None
    torch.nn.init.zeros_(head.span_classifier.spans.linear.bias)
    plain, both = (head.propose(states, decoding(head, score=1e-9, score_share=share), Draw(0)).on_host() for share in (0.0, 0.3))
    table = head.span_classifier.spans(states.words).softmax(1)  # (B, 1 + C, M, M)
    assert len(plain["score"]) > 5
    assert np.array_equal(plain["place"], both["place"])
    for (sentence, label, first, last), score, together in zip(plain["place"], plain["score"], both["score"], strict=True):
        probability = float(table[sentence, 1 + label, first, last])
        assert together == pytest.approx(score**0.7 * probability**0.3, rel=1e-4)
    unlearned = head_of(span_classifier={"width": 8, "loss_weight": 0.0})
    ways = [unlearned.propose(states, decoding(unlearned, score=1e-9, score_share=s), Draw(0)).on_host() for s in (0.0, 0.3)]
    assert np.array_equal(ways[0]["score"], ways[1]["score"])


def test_every_sample_and_every_seed_has_its_own_noise() -> None:
    head = head_of(span_classifier={"width": 0})
    head.denoiser = perfect = Perfect(0, 1, 2)  # type: ignore[assignment]
    for seed in (0, 0, 1):
        head.propose(states_of((9,)), decoding(head, spans=30, steps=1, samples=2), Draw(seed))
    starts = [first for first, _, _ in perfect.inputs]
    assert starts[0] == starts[2] != starts[1] == starts[3]
    assert starts[4] not in (starts[0], starts[1])


def test_the_device_reads_the_numbers_of_the_host() -> None:
    draw, keys = Draw(3, epoch=1), [0, 12345, 2**64 - 1]
    on_device = normals_at(torch.from_numpy(draw.normal_places("sample 0", keys)), 5000)
    np.testing.assert_array_equal(on_device.numpy(), draw.normal("sample 0", keys, 5000))


@torch.no_grad()
def test_with_samples_a_score_does_not_depend_on_the_threshold() -> None:
    head, states = head_of(), states_of((9, 4))
    loose, strict = (
        head.decode(head.propose(states, chosen, Draw(0)).on_host(), 2, chosen)
        for chosen in (decoding(head, score=score, samples=3, score_share=0.0) for score in (0.01, 0.03))
    )
    known = {(place, e.label, e.fragments): e.score for place, listed in enumerate(loose) for e in listed}
    kept = {(place, e.label, e.fragments): e.score for place, listed in enumerate(strict) for e in listed}
    assert kept == {key: score for key, score in known.items() if (score or 0.0) >= 0.03}
    assert 0 < len(kept) < len(known)


def test_what_it_can_express_and_what_is_refused() -> None:
    assert Config().shapes() == {"flat", "nested", "crossing"}
    entities = [WordEntity("A", ((0, 4),)), WordEntity("B", ((0, 4),)), WordEntity("A", ((0, 1), (2, 3)))]
    assert Config().unreachable(entities, [1] * 4) == [None, "a second label on the same words", "discontinuous"]
    with pytest.raises(ValueError, match="multiple of 8"):
        Config(width=10)
