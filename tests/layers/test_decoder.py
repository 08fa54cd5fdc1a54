"""The shared decoder: rows that share keys against rows that do not, one step at a time against all at once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from counted_sequences import sequences_of
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from anyner.layers.decoder import Decoder, DecoderShape, Memory

NEW = DecoderShape(width=16, layers=2, heads=2, head_width=8, feed_forward=24, memory_width=12)
T5 = replace(NEW, head_width=6, norm="rms", activation="relu", bias=False, scaled=False, relative=(8, 6))
SHAPES = {
    "new": NEW,
    "bart": replace(NEW, norm_first=False, input_norm=True, output_norm=False),
    "mbart": replace(NEW, input_norm=True, activation="silu"),
    "t5": T5,
    "t5 v1.1": replace(T5, activation="gelu_new", gated=True),
}
kinds = pytest.mark.parametrize("kind", SHAPES)


def random_decoder(shape: DecoderShape, seed: int = 0) -> Decoder:
    """A decoder in which every weight matters: no norm is one, no bias zero."""
    decoder, generator = Decoder(shape).double().eval(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator) + (parameter.ndim == 1))
    return decoder


def drawn(*size: int, seed: int = 1) -> Tensor:
    """Random numbers in float64, so that equal results compare equal."""
    return torch.randn(*size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sentences(decoder: Decoder, lengths: list[int]) -> tuple[Tensor, Tensor]:
    states = drawn(len(lengths), max(lengths), decoder.shape.memory_width)
    return states, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from(sorted(SHAPES)),
    st.booleans(),
)
@torch.no_grad()
def test_rows_that_share_keys_equal_rows_alone(
    drawn_sentences: list[tuple[int, int]], steps: int, kind: str, causal: bool
) -> None:
    counts, lengths = [count for count, _ in drawn_sentences], [length for _, length in drawn_sentences]
    decoder = random_decoder(SHAPES[kind])
    states, mask = sentences(decoder, lengths)
    inputs, rows = drawn(sum(counts), steps, decoder.shape.width), sequences_of(counts)
    together = decoder(inputs, rows, decoder.project_memory(states, mask), causal=causal)
    assert together.shape == inputs.shape
    owners = [sentence for sentence, count in enumerate(counts) for _ in range(count)]
    for row, sentence in enumerate(owners):
        own = decoder.project_memory(states[sentence : sentence + 1, : lengths[sentence]], None)
        alone = decoder(inputs[row : row + 1], sequences_of([1]), own, causal=causal)
        assert torch.allclose(together[row : row + 1], alone, atol=1e-10)


@torch.no_grad()
def test_a_subset_of_rows_has_the_same_outputs() -> None:
    decoder = random_decoder(NEW)
    memory = decoder.project_memory(*sentences(decoder, [4, 2]))
    inputs, rows, chosen = drawn(4, 3, 16), sequences_of([2, 2]), torch.tensor([3, 0])
    whole = decoder(inputs, rows, memory)
    assert torch.allclose(decoder(inputs[chosen], rows[chosen], memory), whole[chosen], atol=1e-10)


@kinds
@torch.no_grad()
def test_more_rows_than_a_kernel_takes_have_the_same_outputs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = random_decoder(SHAPES[kind])
    memory = decoder.project_memory(*sentences(decoder, [3, 5]))
    inputs, rows = drawn(5, 4, decoder.shape.width), sequences_of([3, 2])
    at_once = decoder(inputs, rows, memory)
    monkeypatch.setattr("anyner.layers.decoder._MOST_SEQUENCES", 2)
    assert torch.allclose(decoder(inputs, rows, memory), at_once, atol=1e-10)


@kinds
@torch.no_grad()
def test_incremental_decoding_equals_full_decoding_and_allows_reordering(kind: str) -> None:
    decoder, steps = random_decoder(SHAPES[kind]), 9
    memory = decoder.project_memory(*sentences(decoder, [3, 5, 4]))
    counts = [2, 0, 3]
    inputs, rows = drawn(5, steps, decoder.shape.width), sequences_of(counts)
    order = torch.tensor([1, 1, 4, 2, 2])  # each from a row of the same sentence, as the beams of a search do
    cache = decoder.cache(5, steps, inputs)
    whole = decoder(inputs, rows, memory)
    for number in range(4):
        assert torch.allclose(
            decoder(inputs[:, number : number + 1], rows, memory, past=(number, cache))[:, 0], whole[:, number], atol=1e-10
        )
    cache = cache.index_select(2, order)
    changed = torch.cat([inputs[order, :4], inputs[:, 4:]], dim=1)
    whole = decoder(changed, rows, memory)
    for number in range(4, steps):
        assert torch.allclose(
            decoder(changed[:, number : number + 1], rows, memory, past=(number, cache))[:, 0], whole[:, number], atol=1e-10
        )


@kinds
@torch.no_grad()
def test_later_positions_are_seen_only_without_causal(kind: str) -> None:
    decoder = random_decoder(SHAPES[kind])
    memory, rows = decoder.project_memory(*sentences(decoder, [3])), sequences_of([2])
    inputs = drawn(2, 4, decoder.shape.width)
    changed = inputs.clone()
    changed[:, 3] = drawn(2, decoder.shape.width, seed=2)
    assert torch.equal(decoder(inputs, rows, memory)[:, :3], decoder(changed, rows, memory)[:, :3])
    seen, otherwise = decoder(inputs, rows, memory, causal=False), decoder(changed, rows, memory, causal=False)
    assert ((seen - otherwise).abs().amax(dim=(0, 2)) > 1e-3).all()


@torch.no_grad()
def test_memory_is_made_once_for_any_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, seen = random_decoder(NEW), []
    memory = decoder.project_memory(*sentences(decoder, [4, 6]))
    assert [tensor.shape for pair in memory.layers for tensor in pair] == [(2, 2, 6, 8)] * 4
    attention = nn.functional.scaled_dot_product_attention

    def watched(query: Tensor, key: Tensor, *rest: object, **named: object) -> Tensor:
        seen.append(key.data_ptr())
        return attention(query, key, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watched)
    decoder(drawn(21, 3, 16), sequences_of([20, 1]), memory)
    assert [pointer for pointer in seen if pointer in {key.data_ptr() for key, _ in memory.layers}] == seen[1::2]


@kinds
@pytest.mark.parametrize("causal", [True, False])
def test_gradients_reach_every_parameter(kind: str, causal: bool) -> None:
    decoder = random_decoder(SHAPES[kind]).train()
    states, mask = sentences(decoder, [3, 5])
    inputs = drawn(4, 3, decoder.shape.width).requires_grad_()
    output = decoder(inputs, sequences_of([1, 3]), decoder.project_memory(states.requires_grad_(), mask), causal=causal)
    (output * drawn(*output.shape, seed=3)).sum().backward()
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-6, name
    assert inputs.grad is not None
    assert inputs.grad.abs().amax(dim=(1, 2)).min() > 0
    assert states.grad is not None
    assert torch.equal(states.grad.abs().sum(-1) > 0, mask)


def test_sharing_keys_changes_no_gradient() -> None:
    found = []
    for together in (True, False):
        decoder = random_decoder(NEW)
        states, mask = sentences(decoder, [3, 5])
        inputs, weights, counts = drawn(4, 3, 16), drawn(4, 3, 16, seed=3), [1, 3]
        if together:
            output = decoder(inputs, sequences_of(counts), decoder.project_memory(states, mask))
        else:
            each = torch.tensor([0, 1, 1, 1])
            output = decoder(inputs, sequences_of([1] * 4), decoder.project_memory(states[each], mask[each]))
        (output * weights).sum().backward()
        found.append([parameter.grad for parameter in decoder.parameters()])
    for shared, alone in zip(*found, strict=True):
        assert shared is not None
        assert alone is not None
        assert torch.allclose(shared, alone, atol=1e-10)


def test_residual_projections_of_a_new_decoder_start_smaller() -> None:
    torch.manual_seed(0)
    decoder = Decoder(replace(NEW, width=256, layers=8, head_width=128, feed_forward=256, memory_width=256))
    added = 0
    for name, module in decoder.named_modules():
        if isinstance(module, nn.Linear):
            expected = 0.02 / math.sqrt(16) if name.endswith("output") else 0.02
            added += name.endswith("output")
            assert module.weight.std().item() == pytest.approx(expected, rel=0.05), name
            assert not module.bias.any(), name
    assert added == 3 * 8


@torch.no_grad()
def test_dropout_is_for_training_only() -> None:
    decoder = random_decoder(NEW)
    memory, rows, inputs = decoder.project_memory(*sentences(decoder, [3])), sequences_of([1]), drawn(1, 3, 16)
    assert torch.equal(decoder(inputs, rows, memory), decoder(inputs, rows, memory))
    decoder.train()
    assert not torch.allclose(decoder(inputs, rows, memory), decoder(inputs, rows, memory))


@kinds
@torch.no_grad()
def test_rows_stay_in_the_type_of_autocast(kind: str) -> None:
    decoder = random_decoder(SHAPES[kind]).float()
    states, mask = sentences(decoder, [3, 5])
    states, inputs, rows = states.float(), drawn(4, 3, decoder.shape.width).float(), sequences_of([1, 3])
    exact = decoder(inputs, rows, decoder.project_memory(states, mask))
    kept: set[torch.dtype] = set()
    for layer in decoder.each_layer:
        layer.register_forward_hook(lambda module, taken, given: kept.add(given.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        memory: Memory = decoder.project_memory(states, mask)
        output, cache = decoder(inputs, rows, memory), decoder.cache(4, 3, inputs)
        steps = [decoder(inputs[:, number : number + 1], rows, memory, past=(number, cache))[:, 0] for number in range(3)]
    assert kept == {output.dtype, steps[0].dtype, cache.dtype} == {torch.bfloat16}
    for found in (output, torch.stack(steps, dim=1)):
        assert (found.float() - exact).norm() < 0.1 * exact.norm()
