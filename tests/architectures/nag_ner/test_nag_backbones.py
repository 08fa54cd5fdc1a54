"""Pretrained decoders, and all three output spaces, from training to prediction."""

from pathlib import Path

import pytest
import torch
from checkpoints import DOCUMENTS, trained
from transformers import AutoModel

from anyner.architectures.nag_ner.head import Head


@pytest.mark.parametrize("kind", ["bart", pytest.param("t5", marks=pytest.mark.slow), "bert"])
def test_a_decoder_starts_from_pretrained_weights(kind: str, tmp_path: Path) -> None:
    settings = {"decoder": "encoder", "layers": 1} if kind == "bert" else {}
    recognizer = trained(tmp_path, "nag_ner", kind, rate=1e-9, **settings)
    head = recognizer.model.head
    assert isinstance(head, Head)
    assert head.settings.space == ("pointer" if kind == "bert" else "sentence")
    whole = AutoModel.from_pretrained(tmp_path / "checkpoint")
    theirs = {
        "bart": lambda: whole.decoder.layers[0].fc2,
        "t5": lambda: whole.decoder.block[0].layer[2].DenseReluDense.wo,
        "bert": lambda: whole.encoder.layer[-1].output.dense,
    }[kind]()
    assert torch.allclose(head.network.decoder.each_layer[0].feed.output.weight, theirs.weight, atol=1e-5)
    assert len(recognizer.predict([document.text for document in DOCUMENTS])) == len(DOCUMENTS)


@pytest.mark.parametrize("space", ["sentence", "vocab"])
def test_pieces_are_generated_and_become_words(space: str, tmp_path: Path) -> None:
    recognizer = trained(tmp_path, "nag_ner", "bert", rate=3e-3, space=space)
    loose = {"start": 0.05, "score": 0.05}
    for document in recognizer.predict([document.text for document in DOCUMENTS], thresholds=loose):
        for entity in document.entities:
            assert all(document.text[start:end].strip() for start, end in entity.fragments)
