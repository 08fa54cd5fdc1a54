"""Tiny checkpoints of several kinds with random weights, and a short training that starts from one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, BartConfig, BertConfig, MBartConfig, PreTrainedConfig, T5Config

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.encoding.pretrained import train_vocabulary
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe

DOCUMENTS = synthetic(8, seed=4).documents
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


def trained(folder: Path, architecture: str, kind: str, *, rate: float = 1e-3, whole: Any = AutoModel, **head: Any) -> Recognizer:
    torch.manual_seed(1)
    whole.from_config(CONFIGS[kind]).save_pretrained(folder / "checkpoint")
    train_vocabulary((document.text for document in DOCUMENTS), 300).save(folder / "checkpoint")
    anyner.write(DOCUMENTS, folder / "data.jsonl", "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": str(folder / "data.jsonl"), "dev": str(folder / "data.jsonl")},
            "encoder": {"source": str(folder / "checkpoint")},
            "architecture": architecture,
            "head": head,
            "training": {"epochs": 1, "batch_sentences": 4, "encoder_lr": rate, "head_lr": rate},
        },
        "recipe",
    )
    return anyner.load(anyner.train(recipe, folder / "model").folder)
