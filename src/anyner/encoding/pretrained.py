"""Where the pretrained encoder and its vocabulary come from: a folder, a hub id, a saved config, or nothing (fresh)."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import is_offline_mode
from huggingface_hub.errors import LocalEntryNotFoundError
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertConfig, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
from transformers.utils.logging import disable_progress_bar

from anyner.encoding.config import EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.wordpieces import learned_pieces
from anyner.errors import AnynerError

disable_progress_bar()
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
"""One of these is in every folder that has a tokenizer."""
_NOT_KEPT = ("auto_map", "_name_or_path", "attn_implementation", "_attn_implementation")
"""Of an encoder's config: what would fetch code from elsewhere when it is built again, or tells where it once lay."""


def pretrained_encoder(config: EncoderConfig, texts: Iterable[str]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder to start training from. `texts` make the vocabulary of a fresh one and are not read otherwise."""
    if config.source == "fresh":
        vocabulary = fresh_vocabulary(texts, config.fresh_vocabulary)
        return encoder_from_config(_fresh_config(config, vocabulary)), vocabulary
    name = _place(config.source)
    model = load_pretrained(config.source)
    try:
        with _quiet_libraries():
            tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False, use_fast=True)
    except (OSError, ValueError, KeyError) as error:
        raise AnynerError(f"encoder.source: no tokenizer in {name!r}: {_reason(error)}") from None
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise AnynerError(f"encoder.source: {name!r} has no fast tokenizer")
    if Path(name).is_dir() and not any((Path(name) / file).is_file() for file in _TOKENIZERS):
        # the library makes an empty one then
        raise AnynerError(f"encoder.source: no tokenizer in {name!r}: none of its files is there")
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    return _encoder_half(model), PieceVocabulary(backend, tokenizer.pad_token_id, tokenizer.unk_token_id)


def load_pretrained(source: str) -> PreTrainedModel:
    """A checkpoint in float32, whole: for heads that start from a decoder that the encoder leaves behind."""
    model, missing = load_with_missing(source, AutoModel)
    if new := sorted(name for name in missing if "pooler" not in name):  # which nothing here reads
        warnings.warn(f"encoder.source: {source} lacks {len(new)} weights, the first {new[0]}: they start new", stacklevel=2)
    return model


def load_with_missing(source: str, kind: type) -> tuple[PreTrainedModel, frozenset[str]]:
    """The same, and the names of the weights that the checkpoint does not have: the library makes them up."""
    name = _place(source)
    try:
        with _quiet_libraries():
            model, told = kind.from_pretrained(  # type: ignore[attr-defined]
                name, trust_remote_code=False, dtype=torch.float32, output_loading_info=True
            )
    except (OSError, ValueError, KeyError) as error:
        raise AnynerError(f"encoder.source: cannot load {name!r}: {_reason(error)}") from None
    return model, frozenset(told["missing_keys"])


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """No warnings of the libraries that load: they report weights that nobody misses, and every retry of a request."""
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Why nothing was loaded, in one line."""
    if isinstance(error.__cause__, LocalEntryNotFoundError):
        offline = " (HF_HUB_OFFLINE is set)" if is_offline_mode() else ""
        return f"no such folder or bundled model, and the Hugging Face Hub is not reachable{offline}"
    return str(error).strip().splitlines()[0]


def _place(source: str) -> str:
    folder = Path(source).expanduser()
    if not folder.is_dir() and (source.count("/") > 1 or source.startswith((".", "/", "~"))):
        raise AnynerError(f"encoder.source: there is no folder {source}")
    return str(folder) if folder.is_dir() else source


def is_encoder_half(pretrained: PreTrainedModel) -> bool:
    """Whether it is half of a sequence-to-sequence model, as BART and T5 kinds are."""
    return pretrained.config.model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES


def encoder_from_config(plain: PreTrainedConfig | Mapping[str, Any]) -> PreTrainedModel:
    """An encoder with new weights, from a Hugging Face config or its JSON form; never runs code from outside the library."""
    config = plain
    if not isinstance(plain, PreTrainedConfig):
        fields = {key: value for key, value in kept_settings(plain).items() if key != "model_type"}
        try:
            config = AutoConfig.for_model(plain["model_type"], **fields)
        except (KeyError, ValueError):
            raise AnynerError(f"config.json: unknown encoder type {plain.get('model_type')!r}") from None
    return _encoder_half(AutoModel.from_config(config, trust_remote_code=False))


def kept_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of an encoder's config is stored with a model, and read from there."""
    return {key: value for key, value in config.items() if key not in _NOT_KEPT}


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
