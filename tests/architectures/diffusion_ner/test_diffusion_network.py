"""The denoiser: what it depends on, and what it must not depend on."""

from typing import Any

import pytest
import torch
from diffusion_batches import head_of, predicted
from head_batches import LENGTHS, alone, states_of

from anyner.architectures.diffusion_ner.network import Layer

FIRST = torch.tensor([[0, 1, 4], [0, 0, 0], [1, 2, 0]])
LAST = torch.tensor([[2, 1, 4], [0, 0, 0], [2, 2, 2]])
STEP = torch.tensor([3, 500, 999])
VARIANTS: list[dict[str, Any]] = [
    {}, {"denoiser": "paper"}, {"attention": "self"}, {"attention": "cross"}, {"attention": "none"},
]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_padding_changes_nothing(settings: dict[str, Any]) -> None:
    head, states = head_of(**settings), states_of()
    together = predicted(head, states, FIRST, LAST, STEP)
    for sentence, length in enumerate(LENGTHS):
        own = slice(sentence, sentence + 1)
        one = predicted(head, alone(states, sentence), FIRST[own], LAST[own], STEP[own])
        assert torch.allclose(one.left[0], together.left[sentence, :, :length], atol=1e-5)
        assert torch.allclose(one.right[0], together.right[sentence, :, :length], atol=1e-5)
        assert torch.allclose(one.types[0], together.types[sentence], atol=1e-5)
        assert (together.left[sentence, :, length:] < -9e3).all(), "padding is never pointed at"


@torch.no_grad()
@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_predictions_depend_on_the_span_and_on_the_step(settings: dict[str, Any]) -> None:
    head, states = head_of(**settings), states_of((5,))
    here, there, later = (
        predicted(head, states, torch.tensor([[first]]), torch.tensor([[4]]), torch.tensor([step])).left
        for first, step in ((0, 3), (2, 3), (0, 900))
    )
    assert not torch.allclose(here, there, atol=1e-6)
    assert not torch.allclose(here, later, atol=1e-6)


@torch.no_grad()
def test_without_slots_the_order_of_spans_does_not_matter() -> None:
    states, order = states_of(), torch.tensor([2, 0, 1])
    for denoiser in ("default", "paper"):
        head = head_of(denoiser=denoiser)
        one = predicted(head, states, FIRST, LAST, STEP).types[:, order]
        other = predicted(head, states, FIRST[:, order], LAST[:, order], STEP).types
        assert torch.allclose(one, other, atol=1e-5) == (denoiser == "default"), "the paper's spans have numbers"


@torch.no_grad()
def test_without_self_attention_spans_do_not_depend_on_each_other() -> None:
    head, states = head_of(attention="cross"), states_of()
    together, one = predicted(head, states, FIRST, LAST, STEP), predicted(head, states, FIRST[:, :1], LAST[:, :1], STEP)
    assert torch.allclose(together.left[:, :1], one.left, atol=1e-5)


def test_the_additive_pointer_is_the_papers_and_its_gradient_is_right() -> None:
    """It is computed for a few spans at a time, and once more in the backward pass."""
    pointer = head_of(denoiser="paper").denoiser.left_pointer
    assert pointer.output is not None
    spans = torch.randn(2, 19, 8, generator=torch.Generator().manual_seed(0), requires_grad=True)
    read = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(1))
    words, outside = pointer.read(read), torch.zeros(2, 1, 4)
    summed = torch.relu(pointer.of_spans(spans)[:, :, None] + pointer.of_words(read)[:, None])  # (B, K, M, w)
    expected = (summed @ pointer.output.weight[0]) + pointer.output.bias + pointer.bias
    found = pointer(spans, words, outside)
    assert torch.allclose(found, expected, atol=1e-5)
    with torch.no_grad():
        assert torch.allclose(pointer(spans, words, outside), expected, atol=1e-5)
    (target,) = torch.autograd.grad(expected.square().sum(), spans)
    (got,) = torch.autograd.grad(found.square().sum(), spans)
    assert torch.allclose(got, target, atol=1e-4)


def test_the_papers_layers_are_post_norm() -> None:
    """They equal torch's own post-norm decoder layer: self-attention, cross-attention, feed-forward with ReLU."""
    layer = head_of(denoiser="paper").denoiser.layers[0]
    assert isinstance(layer, Layer)
    own = torch.nn.TransformerDecoderLayer(8, 8, 1024, dropout=0.0, batch_first=True, norm_first=False).eval()
    theirs, weights = own.state_dict(), layer.state_dict()
    for name, mine in (("self_attn", "self_attention"), ("multihead_attn", "cross_attention")):
        for kind in ("weight", "bias"):
            theirs[f"{name}.in_proj_{kind}"] = torch.cat(
                [weights[f"{mine}.{part}.{kind}"] for part in ("query", "keys", "values")]
            )
            theirs[f"{name}.out_proj.{kind}"] = weights[f"{mine}.output.{kind}"]
    for number, mine in ((1, "self_attention"), (2, "cross_attention"), (3, "feed_forward")):
        theirs |= {f"norm{number}.{kind}": weights[f"{mine}.norm.{kind}"] for kind in ("weight", "bias")}
    for number, place in ((1, 0), (2, 3)):
        theirs |= {f"linear{number}.{kind}": weights[f"feed_forward.inner.{place}.{kind}"] for kind in ("weight", "bias")}
    own.load_state_dict(theirs)
    spans, words = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    with torch.no_grad():
        found = layer(spans, None, layer.memory(words), torch.where(mask, 0.0, -1e4)[:, None])
        assert torch.allclose(found, own(spans, words, memory_key_padding_mask=~mask), atol=1e-5)
