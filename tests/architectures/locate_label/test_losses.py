"""The losses of both stages against their equations, number by number."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.locate_label import losses


@given(st.floats(-8, 8), st.booleans(), st.sampled_from([0.0, 1.0, 2.0]))
def test_the_focal_loss_is_equation_12(logit: float, positive: bool, focus: float) -> None:
    p = 1 / (1 + math.exp(-logit))
    expected = -((1 - p) ** focus) * math.log(p) if positive else -(p**focus) * math.log(1 - p)
    found = losses.binary_focal(torch.tensor([logit], dtype=torch.float64), torch.tensor([positive]), focus)
    assert float(found) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("focus", [0.5, 2.0])
def test_no_logit_is_too_large(focus: float) -> None:
    logits = torch.tensor([-1e4, 1e4, -1e4, 1e4], requires_grad=True)
    loss = losses.binary_focal(logits, torch.tensor([True, True, False, False]), focus)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    sharp = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    by_class = losses.class_focal(sharp, torch.tensor([0, 0]), focus)
    by_class.sum().backward()
    assert by_class.isfinite().all()
    assert sharp.grad is not None
    assert sharp.grad.isfinite().all()


def test_the_classifier_loss_is_cross_entropy_or_its_focal_form() -> None:
    logits, target = torch.tensor([[2.0, 0.5, -1.0], [0.0, 0.0, 0.0]]), torch.tensor([1, 2])
    p = logits.softmax(-1)[[0, 1], target]
    assert torch.allclose(losses.class_focal(logits, target, 0.0), -p.log())
    assert torch.allclose(losses.class_focal(logits, target, 2.0), -((1 - p) ** 2) * p.log())


@pytest.mark.parametrize(("iou", "positive", "softness", "expected"), [
    (0.8, True, 1.0, 0.8), (1.0, True, 1.0, 1.0), (0.0, False, 1.0, 1.0), (0.6, False, 1.0, 0.4), (0.6, False, 2.0, 0.16),
])  # fmt: skip
def test_soft_weights_are_equation_11(iou: float, positive: bool, softness: float, expected: float) -> None:
    assert float(losses.soft_weights(torch.tensor(iou), torch.tensor(positive), softness)) == pytest.approx(expected)


@pytest.mark.parametrize(("span", "wanted", "expected"), [
    ((2.0, 5.0), (2.0, 5.0), 0.0), ((2.0, 4.0), (2.0, 6.0), 0.5), ((0.0, 1.0), (1.0, 2.0), 1.0), ((0.0, 1.0), (3.0, 4.0), 1.5),
    ((2.5, 4.5), (2.0, 4.0), 0.4), ((9.0, -9.0), (3.0, 5.0), 1 + 4 / 6),
])  # fmt: skip
def test_the_overlap_loss_is_one_less_iou_and_grows_with_the_gap(
    span: tuple[float, float], wanted: tuple[float, float], expected: float
) -> None:
    found = losses.overlapping(*(torch.tensor([number]) for number in (*span, *wanted)))
    assert float(found) == pytest.approx(expected)


def test_a_large_offset_counts_linearly_and_a_small_one_by_its_square() -> None:
    found = losses.moving(torch.tensor([[0.5, 3.0]]), torch.tensor([[0.0, 0.0]]))
    assert float(found) == pytest.approx(0.5 * 0.25 + 2.5)
