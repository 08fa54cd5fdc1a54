"""Decoders initialised from a checkpoint's decoder or the encoder's layers, and weights that are not saved."""

from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import DOCUMENTS, trained
from safetensors import safe_open
from transformers import AutoModel

from anyner.architectures.set_gner.head import Head
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer


def decoder_of(recognizer: Recognizer) -> Any:
    head = recognizer.model.head
    assert isinstance(head, Head)
    return head.network.decoder


@pytest.mark.parametrize("kind", ["bart", "mbart", "t5"])
def test_the_decoder_starts_from_the_checkpoint(kind: str, tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "set_gner", kind, rate=1e-9)
    head = recognizer.model.head
    assert isinstance(head, Head)
    assert head.settings.decoder == "pretrained"
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    layer = decoder_of(recognizer).each_layer[1]
    theirs = whole.decoder.block[1].layer[2].DenseReluDense.wo if kind == "t5" else whole.decoder.layers[1].fc2
    assert torch.allclose(layer.feed.output.weight, theirs.weight, atol=1e-5)
    if kind != "t5":
        table = whole.decoder.embed_positions.weight[2:]
        assert torch.allclose(head.network.positions.table, table[: len(head.network.positions.table)], atol=1e-5)
        assert head.network.positions.interval == 2, "a table of 1,100 positions for windows of 512 words"
    assert len(recognizer.predict([document.text for document in DOCUMENTS])) == len(DOCUMENTS)


def test_fewer_layers_are_the_first_ones(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "set_gner", "bart", rate=1e-9, layers=1)
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    assert len(decoder_of(recognizer).each_layer) == 1
    assert torch.allclose(decoder_of(recognizer).each_layer[0].feed.output.weight, whole.decoder.layers[0].fc2.weight, atol=1e-5)


def test_the_encoders_upper_layers_can_be_the_decoder(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "set_gner", "bert", rate=1e-9, decoder="encoder", layers=1)
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    output = whole.encoder.layer[-1].output.dense.weight
    assert torch.allclose(decoder_of(recognizer).each_layer[0].feed.output.weight, output, atol=1e-5)


def test_an_encoder_without_a_decoder_in_its_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="pretrained needs the encoder of a BART, mBART or T5 model"):
        trained(tmp_path, "set_gner", "bert", decoder="pretrained")


def test_the_inverse_decoder_learns_and_is_not_saved(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "set_gner", "bert", inverse=True, width=16)
    head = recognizer.model.head
    assert isinstance(head, Head)
    assert head.inverse is None
    with safe_open(tmp_path / "model/model.safetensors", "pt") as weights:
        names = list(weights.keys())
    assert any("network." in name for name in names)
    assert not any("inverse." in name for name in names)


def test_labels_start_as_the_mean_of_their_names_pieces(tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "set_gner", "bart", rate=1e-9, constrained=False)
    head, tokens = recognizer.model.head, recognizer.model.encoder.tables.tokens.weight
    assert isinstance(head, Head)
    for number, label in enumerate(head.labels):
        pieces = [piece for own in recognizer.vocabulary.cut([label.lower()]) for piece in own]
        assert torch.allclose(head.network.symbols[number], tokens[pieces].mean(0), atol=1e-5)
