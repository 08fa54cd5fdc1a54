"""Decoders that start from pretrained weights against the library the weights come from."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from counted_sequences import sequences_of
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartModel,
    BertConfig,
    BertModel,
    CamembertConfig,
    ElectraConfig,
    ElectraModel,
    GPT2Config,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartModel,
    ModernBertConfig,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    T5Model,
    XLMRobertaConfig,
)

from anyner.errors import AnynerError
from anyner.layers.decoder import Decoder, RelativeBias
from anyner.layers.decoder_weights import (
    input_scale,
    position_rows,
    shape_like_encoder,
    shape_of_pretrained,
    start_from_encoder,
    start_from_pretrained,
)

SPECIAL = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None}
BART = {
    **{"vocab_size": 40, "d_model": 32, "max_position_embeddings": 24, "encoder_layers": 1, "decoder_layers": 3},
    **{"encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 48, **SPECIAL},
}
T5 = {
    **{"vocab_size": 40, "d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 1, "num_decoder_layers": 3, "num_heads": 4},
    **{"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0},
}
Kind = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[], Any]]
KINDS: dict[str, Kind] = {
    "bart": (BartModel, BartForConditionalGeneration, lambda: BartConfig(**BART)),
    "bart scaled": (BartModel, BartForConditionalGeneration, lambda: BartConfig(**BART, scale_embedding=True)),
    "mbart": (
        MBartModel,
        MBartForConditionalGeneration,
        lambda: MBartConfig(**BART, scale_embedding=True, activation_function="relu"),
    ),
    "t5": (T5Model, T5ForConditionalGeneration, lambda: T5Config(**T5, feed_forward_proj="relu")),
    "t5 v1.1": (
        *(T5Model, T5ForConditionalGeneration),
        lambda: T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)
BERT = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
ENCODERS: dict[str, Callable[[], Any]] = {
    "bert": lambda: BertModel(BertConfig(**BERT, hidden_act="gelu_new"), add_pooling_layer=False),
    "roberta": lambda: RobertaModel(RobertaConfig(**BERT, layer_norm_eps=1e-12), add_pooling_layer=False),
    "electra": lambda: ElectraModel(ElectraConfig(**BERT, embedding_size=16)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**BERT), add_pooling_layer=False),
}
encoders = pytest.mark.parametrize("encoder", ENCODERS)


@torch.no_grad()
def randomised(model: PreTrainedModel) -> PreTrainedModel:
    """The model with random weights: no norm is one, no bias zero, and attention is not uniform."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.copy_(0.3 * torch.randn_like(parameter) + (parameter.ndim == 1))
    return model.eval()


def loaded(model: PreTrainedModel, layers: int | None = None) -> Decoder:
    decoder = Decoder(shape_of_pretrained(model.config, layers, 0.1)).eval()
    start_from_pretrained(decoder, model)
    return decoder


def embedded(model: PreTrainedModel, ids: Tensor) -> Tensor:
    """The decoder's input, from the rows of the embedding tables."""
    inputs: Tensor = model.get_input_embeddings().weight[ids] * input_scale(model.config)
    positions = position_rows(model)
    return inputs if positions is None else inputs + positions[: ids.shape[1]]


def examples(width: int, steps: int = 11) -> tuple[Tensor, Tensor, Tensor]:
    """Decoder ids, states of two sentences, and their mask."""
    torch.manual_seed(1)
    return torch.randint(3, 40, (2, steps)), torch.randn(2, 6, width), torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


@torch.no_grad()
def ours(decoder: Decoder, model: PreTrainedModel, ids: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    found: Tensor = decoder(embedded(model, ids), sequences_of([1, 1]), decoder.project_memory(states, mask))
    return found


@torch.no_grad()
def theirs(model: PreTrainedModel, ids: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    output = model.get_decoder()(input_ids=ids, encoder_hidden_states=states, encoder_attention_mask=mask.long())
    found: Tensor = output.last_hidden_state
    return found


@kinds
def test_the_loaded_decoder_equals_that_of_the_checkpoint(kind: str) -> None:
    whole, _, config = KINDS[kind]
    model = randomised(whole(config()))
    # more steps than the buckets tell apart
    ids, states, mask = examples(32, steps=20)
    found = ours(loaded(model), model, ids, states, mask)
    assert found.std() > 0.1
    assert torch.allclose(found, theirs(model, ids, states, mask), atol=1e-4)


@kinds
@torch.no_grad()
def test_logits_are_those_of_the_whole_model(kind: str) -> None:
    _, generating, config = KINDS[kind]
    model: Any = randomised(generating(config()))
    ids, _, mask = examples(32)
    text = torch.randint(3, 40, mask.shape)
    states = model.get_encoder()(input_ids=text, attention_mask=mask.long()).last_hidden_state
    found = ours(loaded(model), model, ids, states, mask)
    scale = model.config.d_model**-0.5 if kind == "t5" else 1.0
    logits = model.lm_head(found * scale) + getattr(model, "final_logits_bias", 0)
    expected = model(input_ids=text, attention_mask=mask.long(), decoder_input_ids=ids).logits
    assert torch.allclose(logits, expected, atol=1e-4)


@kinds
@pytest.mark.parametrize("layers", [1, 2])
def test_the_first_layers_equal_a_shortened_checkpoint(kind: str, layers: int) -> None:
    whole, _, config = KINDS[kind]
    model = randomised(whole(config()))
    decoder, shortened = loaded(model, layers), copy.deepcopy(model)
    if kind.startswith("t5"):
        shortened.get_decoder().block = shortened.get_decoder().block[:layers]
    else:
        shortened.get_decoder().layers = shortened.get_decoder().layers[:layers]
    ids, states, mask = examples(32)
    assert len(decoder.layers) == layers
    assert torch.allclose(ours(decoder, model, ids, states, mask), theirs(shortened, ids, states, mask), atol=1e-4)


@kinds
@torch.no_grad()
def test_incremental_decoding_equals_the_checkpoint(kind: str) -> None:
    whole, _, config = KINDS[kind]
    model = randomised(whole(config()))
    ids, states, mask = examples(32)
    decoder, inputs, expected = loaded(model), embedded(model, ids), theirs(model, ids, states, mask)
    rows, memory, cache = sequences_of([1, 1]), decoder.project_memory(states, mask), decoder.cache(2, 11, inputs)
    for number in range(11):
        assert torch.allclose(
            decoder(inputs[:, number : number + 1], rows, memory, past=(number, cache))[:, 0], expected[:, number], atol=1e-4
        )


@kinds
def test_weights_are_copied_not_shared(kind: str) -> None:
    whole, _, config = KINDS[kind]
    model = randomised(whole(config()))
    decoder = loaded(model)
    before = {name: tensor.clone() for name, tensor in decoder.state_dict().items()}
    positions = position_rows(model)
    kept = positions.clone() if positions is not None else None
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(torch.equal(tensor, before[name]) for name, tensor in decoder.state_dict().items())
    assert all(parameter.requires_grad for parameter in decoder.parameters())
    if positions is not None and kept is not None:
        assert not positions.requires_grad
        assert torch.equal(positions, kept)


def test_positions_start_after_the_offset() -> None:
    model = randomised(BartModel(BartConfig(**BART)))
    rows = position_rows(model)
    assert rows is not None
    assert torch.equal(rows, model.decoder.embed_positions.weight[2:])
    assert len(rows) == 24
    assert position_rows(T5Model(T5Config(**T5))) is None


@torch.no_grad()
@pytest.mark.parametrize(("buckets", "farthest"), [(8, 12), (32, 128)])
def test_bidirectional_buckets_are_those_of_an_encoder(buckets: int, farthest: int) -> None:
    config = T5Config(**{**T5, "relative_attention_num_buckets": buckets, "relative_attention_max_distance": farthest})
    attention = randomised(T5EncoderModel(config)).encoder.block[0].layer[0].SelfAttention
    bias = RelativeBias(buckets, farthest, 4)
    bias.table.load_state_dict(attention.relative_attention_bias.state_dict())
    assert torch.equal(bias(150, causal=False), attention.compute_bias(150, 150))


def test_unsupported_checkpoints_are_refused() -> None:
    for config in (GPT2Config(), BertConfig()):
        with pytest.raises(AnynerError, match="pretrained needs the encoder of a BART, mBART or T5 model"):
            shape_of_pretrained(config, None, 0.1)
    for config in (BartConfig(**BART, activation_function="tanh"), T5Config(**T5, feed_forward_proj="gated-tanh")):
        with pytest.raises(AnynerError, match="activations gelu, gelu_new, relu, silu in the checkpoint, got tanh"):
            shape_of_pretrained(config, None, 0.1)
    with pytest.raises(AnynerError, match="expected at most 3, as many as the checkpoint has, got 4"):
        shape_of_pretrained(BartConfig(**BART), 4, 0.1)
    for config in (ModernBertConfig(), T5Config(), BartConfig()):
        with pytest.raises(AnynerError, match=f"cannot start from the layers of a {config.model_type} encoder"):
            shape_like_encoder(config, 2, 0.1)
    with pytest.raises(AnynerError, match="activations gelu, gelu_new, relu, silu in the encoder, got tanh"):
        shape_like_encoder(BertConfig(hidden_act="tanh"), 2, 0.1)
    with pytest.raises(AnynerError, match="expected at most 3, as many as the encoder has, got 4"):
        shape_like_encoder(BertConfig(**BERT), 4, 0.1)
    for kind in (BertConfig, RobertaConfig, XLMRobertaConfig, CamembertConfig, ElectraConfig, MPNetConfig):
        shape = shape_like_encoder(kind(**BERT), 2, 0.3)
        assert (shape.width, shape.layers, shape.heads, shape.feed_forward, shape.memory_width) == (32, 2, 4, 48, 32)
        assert (shape.norm_first, shape.input_norm, shape.output_norm, shape.dropout) == (False, True, False, 0.3)


@encoders
@pytest.mark.parametrize("layers", [1, 2])
@torch.no_grad()
def test_without_cross_attention_it_equals_the_last_layers_of_the_encoder(encoder: str, layers: int) -> None:
    model = randomised(ENCODERS[encoder]())
    for layer in model.encoder.layer:
        # a norm of ones and zeros behind another one changes nothing
        norm = layer.attention.LayerNorm if encoder == "mpnet" else layer.attention.output.LayerNorm
        norm.weight.fill_(1)
        norm.bias.zero_()
    if encoder == "mpnet":
        model.encoder.relative_attention_bias.weight.zero_()
    decoder = Decoder(replace(shape_like_encoder(model.config, layers, 0.1), input_norm=False)).eval()
    start_from_encoder(decoder, model)
    memory = decoder.project_memory(torch.randn(2, 4, 32), None)
    states = model(input_ids=torch.randint(3, 40, (2, 7)), output_hidden_states=True).hidden_states
    entered, rows = states[3 - layers], sequences_of([1, 1])
    with_cross_attention = decoder(entered, rows, memory, causal=False)
    for own in decoder.each_layer:
        own.to_memory.output.weight.zero_()
        own.to_memory.output.bias.zero_()
    assert torch.allclose(decoder(entered, rows, memory, causal=False), states[-1], atol=1e-4)
    assert not torch.allclose(with_cross_attention, states[-1], atol=1e-2)


@encoders
@torch.no_grad()
def test_cross_attention_begins_as_self_attention(encoder: str) -> None:
    """With the same states as queries and as memory its output is that of the encoder's layer."""
    model = randomised(ENCODERS[encoder]())
    decoder = Decoder(shape_like_encoder(model.config, 2, 0.1)).eval()
    start_from_encoder(decoder, model)
    states, rows = torch.randn(2, 5, 32), sequences_of([1, 1])
    for layer, source in zip(decoder.each_layer, model.encoder.layer[1:], strict=True):
        output = layer.memory_norm(states + layer.to_memory(states, rows, layer.to_memory.project_memory(states), None))
        assert torch.allclose(output, source.attention(states)[0], atol=1e-5)
        assert torch.equal(layer.among_norm.weight, layer.memory_norm.weight)
        assert layer.among_norm.weight.data_ptr() != layer.memory_norm.weight.data_ptr()
