"""Where the pretrained encoder and its vocabulary come from: a folder, a hub id, a saved config, or nothing (fresh)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertConfig, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging

from anyner.encoding.config import EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.wordpieces import learned_pieces
from anyner.errors import AnynerError

logging.disable_progress_bar()
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def pretrained_encoder(config: EncoderConfig, texts: Iterable[str]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder to start training from. `texts` make the vocabulary of a fresh one and are not read otherwise."""
    if config.source == "fresh":
        vocabulary = fresh_vocabulary(texts, config.fresh_vocabulary)
        return encoder_from_config(_fresh_config(config, vocabulary)), vocabulary
    source = Path(config.source).expanduser()
    if not source.is_dir() and (config.source.count("/") > 1 or config.source.startswith((".", "/", "~"))):
        raise AnynerError(f"encoder.source: there is no folder {config.source}")
    name = str(source) if source.is_dir() else config.source
    try:
        model = AutoModel.from_pretrained(name, trust_remote_code=False, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False, use_fast=True)
    except (OSError, ValueError, KeyError) as error:
        raise AnynerError(f"encoder.source: cannot load {name!r}: {str(error).strip().splitlines()[0]}") from None
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise AnynerError(f"encoder.source: {name!r} has no fast tokenizer")
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    return _encoder_half(model), PieceVocabulary(backend, tokenizer.pad_token_id, tokenizer.unk_token_id)


def encoder_from_config(plain: PreTrainedConfig | Mapping[str, Any]) -> PreTrainedModel:
    """An encoder with new weights, from a Hugging Face config or its JSON form; never runs code from outside the library."""
    config = plain
    if not isinstance(plain, PreTrainedConfig):
        fields = {key: value for key, value in plain.items() if key not in ("auto_map", "model_type")}
        try:
            config = AutoConfig.for_model(plain["model_type"], **fields)
        except (KeyError, ValueError):
            raise AnynerError(f"config.json: unknown encoder type {plain.get('model_type')!r}") from None
    return _encoder_half(AutoModel.from_config(config, trust_remote_code=False))


def _encoder_half(model: PreTrainedModel) -> PreTrainedModel:
    """The encoder of BART and T5 kinds; without the pooler of BERT kinds, which nothing here reads."""
    if getattr(model, "decoder", None) is not None and getattr(model, "encoder", None) is not None:
        return model.get_encoder()
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _fresh_config(config: EncoderConfig, vocabulary: PieceVocabulary) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary.tokenizer.get_vocab_size(),
        hidden_size=config.fresh_width,
        num_hidden_layers=config.fresh_layers,
        num_attention_heads=max(1, config.fresh_width // 32),
        intermediate_size=2 * config.fresh_width,
        max_position_embeddings=512,
        pad_token_id=vocabulary.frame.pad,
    )


def fresh_vocabulary(texts: Iterable[str], size: int) -> PieceVocabulary:
    """A WordPiece vocabulary made from the texts; the same texts give the same vocabulary."""
    normalizer, cutter = BertNormalizer(lowercase=False, strip_accents=False), BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(text)))
    pieces = [*_SPECIAL, *learned_pieces(words, size - len(_SPECIAL))]
    tokenizer = Tokenizer(WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(list(_SPECIAL))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, cutter
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PieceVocabulary(tokenizer)
