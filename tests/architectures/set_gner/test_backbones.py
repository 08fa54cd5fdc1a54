"""Decoders that are taken over from a checkpoint's other half or the encoder's layers, and what is left out when saving."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModel, BartConfig, BertConfig, MBartConfig, PreTrainedConfig, T5Config

import anyner
from anyner.architectures.set_gner.head import Head
from anyner.corpora.synthetic import synthetic
from anyner.encoding.pretrained import fresh_vocabulary
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe

DOCUMENTS = synthetic(30, seed=4).documents
_BART: dict[str, Any] = {
    "vocab_size": 300, "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "pad_token_id": 0,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 1100,
}  # fmt: skip
CONFIGS: dict[str, PreTrainedConfig] = {
    "bart": BartConfig(**_BART),
    "mbart": MBartConfig(**_BART, scale_embedding=True),
    "t5": T5Config(vocab_size=300, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=2, num_heads=2, pad_token_id=0),
    "bert": BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32),
}


def trained(folder: Path, kind: str, rate: float = 1e-3, **head: Any) -> Recognizer:
    torch.manual_seed(1)
    AutoModel.from_config(CONFIGS[kind]).save_pretrained(folder / "checkpoint")
    fresh_vocabulary((document.text for document in DOCUMENTS), 300).save(folder / "checkpoint")
    anyner.write(DOCUMENTS, folder / "data.jsonl", "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": str(folder / "data.jsonl"), "dev": str(folder / "data.jsonl")},
            "encoder": {"source": str(folder / "checkpoint")},
            "architecture": "set_gner",
            "head": head,
            "training": {"epochs": 1, "batch_sentences": 10, "encoder_lr": rate, "head_lr": rate},
        },
        "recipe",
    )
    return anyner.load(anyner.train(recipe, folder / "model").folder)


def decoder_of(recognizer: Recognizer) -> Any:
    head = recognizer.model.head
    assert isinstance(head, Head)
    return head.forwards.generator.decoder


@pytest.mark.parametrize("kind", ["bart", "mbart", "t5"])
def test_the_other_half_of_a_checkpoint_is_the_decoder(kind: str, tmp_path: Path) -> None:
    recognizer = trained(tmp_path, kind, rate=1e-9)
    head = recognizer.model.head
    assert isinstance(head, Head)
    assert head.settings.decoder == "pretrained"
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    layer = decoder_of(recognizer).each_layer[1]
    theirs = whole.decoder.block[1].layer[2].DenseReluDense.wo if kind == "t5" else whole.decoder.layers[1].fc2
    assert torch.allclose(layer.feed.output.weight, theirs.weight, atol=1e-5)
    if kind != "t5":
        table = whole.decoder.embed_positions.weight[2:]
        assert torch.allclose(
            head.forwards.generator.positions.table, table[: len(head.forwards.generator.positions.table)], atol=1e-5
        )
        assert head.forwards.generator.positions.interval == 2, "1,100 rows for windows of 512 words"
    assert len(recognizer.predict([document.text for document in DOCUMENTS])) == len(DOCUMENTS)


def test_fewer_layers_are_the_first(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "bart", rate=1e-9, layers=1)
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    assert len(decoder_of(recognizer).each_layer) == 1
    assert torch.allclose(decoder_of(recognizer).each_layer[0].feed.output.weight, whole.decoder.layers[0].fc2.weight, atol=1e-5)


def test_the_encoders_upper_layers_can_be_the_decoder(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "bert", rate=1e-9, decoder="encoder", layers=1)
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    output = whole.encoder.layer[-1].output.dense.weight
    assert torch.allclose(decoder_of(recognizer).each_layer[0].feed.output.weight, output, atol=1e-5)


def test_what_cannot_be_taken_over_is_said(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="not half of a BART, mBART or T5 model"):
        trained(tmp_path, "bert", decoder="pretrained")


def test_the_inverse_decoder_learns_and_is_not_saved(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "bert", inverse=True, width=16, heads=2)
    head = recognizer.model.head
    assert isinstance(head, Head)
    assert head.inverse is None
    with safe_open(tmp_path / "model/model.safetensors", "pt") as weights:
        names = list(weights.keys())
    assert any("forwards." in name for name in names)
    assert not any("inverse." in name for name in names)


def test_labels_start_as_their_names_mean_of_pieces(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "bart", rate=1e-9, label_prompt=True)
    head, tokens = recognizer.model.head, recognizer.model.encoder.tables.tokens.weight
    assert isinstance(head, Head)
    for number, label in enumerate(head.labels):
        pieces = [piece for own in recognizer.vocabulary.cut([label.lower()]) for piece in own]
        assert torch.allclose(head.forwards.generator.symbols[number], tokens[pieces].mean(0), atol=1e-5)
    assert recognizer.proposer.prompt, "the labels are read, too"
