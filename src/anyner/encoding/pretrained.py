"""Where the pretrained encoder and its vocabulary come from: a folder, a hub id, a saved config, or nothing (from scratch)."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES
from transformers.utils.logging import disable_progress_bar

from anyner.encoding.budget import Budget, budget_of, not_finite
from anyner.encoding.config import SCRATCH, EncoderConfig
from anyner.encoding.pieces import TOKENIZER_SETTINGS, PieceVocabulary, tokenizer_settings
from anyner.encoding.stored import stored_shapes
from anyner.encoding.untrusted import ENCODER_KINDS, encoder_settings, read_json
from anyner.encoding.wordpieces import learned_pieces
from anyner.errors import AnynerError, first_line

disable_progress_bar()
_SCRATCH_LAYERS, _SCRATCH_PIECES = 2, 4000
"""Layers and vocabulary size of an encoder that is trained from scratch."""
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
"""Every folder with a tokenizer has one of these."""
_MOST_INDEX = 64 << 20
_GENERIC_TOKENIZERS = {"PreTrainedTokenizer", "TokenizersBackend", "HerbertTokenizer", "MBart50Tokenizer", "XLMRobertaTokenizer"}


def pretrained_encoder(config: EncoderConfig, texts: Iterable[str]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder to start training from. `texts` are only read to learn the vocabulary of one trained from scratch."""
    if config.source == SCRATCH:
        vocabulary = train_vocabulary(texts)
        return encoder_from_config(_scratch_config(config.scratch_width, vocabulary)), vocabulary
    name = _place(config.source)
    encoder = _encoder_half(load_pretrained(config.source))
    vocabulary = _vocabulary(name, str(encoder.config.model_type))
    vocabulary.check_fits(encoder.get_input_embeddings().num_embeddings, f"encoder.source: {name}")
    return encoder, vocabulary


def pretrained_width(config: EncoderConfig) -> int:
    """Hidden size of the encoder to start training from; its weights are not read."""
    if config.source == SCRATCH:
        return config.scratch_width
    name = _place(config.source)
    with _loading_errors(name):
        return int(_checkpoint_config(name, local=Path(name).is_dir()).hidden_size)


def pretrained_vocabulary(source: str) -> PieceVocabulary:
    """The vocabulary of an encoder to start training from; its weights are not read."""
    name = _place(source)
    with _loading_errors(name):
        kind = str(_checkpoint_config(name, local=Path(name).is_dir()).model_type)
    return _vocabulary(name, kind)


@contextmanager
def _loading_errors(name: str) -> Iterator[None]:
    """Turns any error of the library into one line: every encoder checks its settings and weights in its own way."""
    try:
        yield
    except Exception as error:
        raise AnynerError(f"encoder.source: cannot load {name!r}: {_reason(error)}") from None


def _vocabulary(name: str, kind: str) -> PieceVocabulary:
    tokenizer = _tokenizer(name, kind)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    return PieceVocabulary(backend, tokenizer.pad_token_id, tokenizer.unk_token_id)


def _tokenizer(name: str, kind: str) -> Any:
    folder = Path(name) if Path(name).is_dir() else None
    if folder is not None:
        _check_tokenizer_files(folder)
    try:
        with _quiet_libraries():
            tokenizer = AutoTokenizer.from_pretrained(
                name,
                config=AutoConfig.for_model(kind),  # only its type is needed
                trust_remote_code=False,
                local_files_only=folder is not None,
                use_fast=True,
            )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the tokenizers library panics with a BaseException
        raise AnynerError(f"encoder.source: no tokenizer in {name!r}: {_reason(error)}") from None
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise AnynerError(f"encoder.source: {name!r} has no fast tokenizer")
    return tokenizer


def _check_tokenizer_files(folder: Path) -> None:
    if not any((folder / file).is_file() for file in _TOKENIZERS):  # the library would make an empty one
        raise AnynerError(f"encoder.source: no tokenizer in {str(folder)!r}: no tokenizer file found")
    if (folder / "tokenizer.json").is_file():
        PieceVocabulary.load(folder)
    path, plain = folder / TOKENIZER_SETTINGS, tokenizer_settings(folder)
    named = plain.get("tokenizer_class")
    known = _GENERIC_TOKENIZERS | {str(TOKENIZER_MAPPING_NAMES.get(kind)).removesuffix("Fast") for kind in ENCODER_KINDS}
    if named is not None and str(named).removesuffix("Fast") not in known:
        raise AnynerError(f"{path}: 'tokenizer_class' is not that of a text encoder: {str(named)[:80]!r}")
    if elsewhere := [key for key in plain if key.endswith("_file") and plain[key] is not None]:
        raise AnynerError(f"{path}: {elsewhere[0]!r} names a file: a tokenizer may only use the files of its own folder")


def load_pretrained(source: str) -> PreTrainedModel:
    """A full checkpoint in float32, for heads that start from its decoder. Warns of missing weights."""
    name = _place(source)
    local = Path(name).is_dir()
    budget = _checked_checkpoint(Path(name)) if local else nullcontext()
    with _loading_errors(name), _quiet_libraries(), budget:
        model, info = AutoModel.from_pretrained(
            name,
            config=_checkpoint_config(name, local=local),
            trust_remote_code=False,
            use_safetensors=True,  # anything else is a pickle, and a pickle can run code
            local_files_only=local,
            dtype=torch.float32,
            output_loading_info=True,
        )
    if broken := not_finite(model.state_dict()):
        raise AnynerError(f"encoder.source: cannot load {name!r}: {broken} holds values that are not finite")
    if new := sorted(key for key in info["missing_keys"] if "pooler" not in key):  # a pooler is not used
        message = f"encoder.source: {source} lacks {len(new)} weights, the first {new[0]}: initialized at random"
        warnings.warn(message, stacklevel=2)
    return model


def _checkpoint_config(name: str, *, local: bool) -> PreTrainedConfig:
    plain = read_json(Path(name) / "config.json") if local else PreTrainedConfig.get_config_dict(name)[0]
    if not isinstance(plain, dict):
        raise AnynerError("config.json: not the config of an encoder")
    return _config(plain)


def _checked_checkpoint(folder: Path) -> Budget:
    """Checks the files of a checkpoint before any library reads them; the budget is the size of its weights."""
    where = f"encoder.source: cannot load {str(folder)!r}"
    if not (folder / "config.json").is_file():
        raise AnynerError(f"{where}: no config.json")
    if (folder / "adapter_config.json").is_file():
        raise AnynerError(f"{where}: it holds an adapter, not an encoder: merge it into its base model first")
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        files = {"model.safetensors"}
    elif index.is_file():
        files = _shards(index)
    elif any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
        raise AnynerError(
            f'{where}: its weights are a pickle, which can run code. If you trust it, convert it: python -c "from transformers '
            f"import AutoModel as M; M.from_pretrained('DIR', use_safetensors=False).save_pretrained('DIR')\""
        )
    else:
        raise AnynerError(f"{where}: no model.safetensors")
    return budget_of([header for file in sorted(files) for header in stored_shapes(folder / file).values()])


def _shards(index: Path) -> set[str]:
    plain = read_json(index, _MOST_INDEX)
    named = plain.get("weight_map") if isinstance(plain, dict) else None
    files = set(map(str, named.values())) if isinstance(named, dict) else set()
    if not files or any(Path(file).name != file or not file.endswith(".safetensors") for file in files):
        raise AnynerError(f"{index}: not a list of safetensors files in its folder")
    return files


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Silences the loading libraries: they warn of unused weights and of every retry of a request."""
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """Why nothing was loaded, in one line."""
    if isinstance(error.__cause__, LocalEntryNotFoundError):
        offline = " (HF_HUB_OFFLINE is set)" if is_offline_mode() else ""
        return f"no such folder or bundled model, and the Hugging Face Hub is not reachable{offline}"
    return first_line(error)


def _place(source: str) -> str:
    folder = Path(source).expanduser()
    if not folder.is_dir() and (source.count("/") > 1 or source.startswith((".", "/", "~"))):
        raise AnynerError(f"encoder.source: no such folder: {source}")
    return str(folder) if folder.is_dir() else source


def is_encoder_half(pretrained: PreTrainedModel) -> bool:
    """Whether it is the encoder of a sequence-to-sequence model such as BART or T5."""
    return pretrained.config.model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES


def encoder_from_config(plain: PreTrainedConfig | Mapping[str, Any]) -> PreTrainedModel:
    """An encoder with random weights, from a Hugging Face config or its JSON form; never runs code from outside the library."""
    config = plain if isinstance(plain, PreTrainedConfig) else _config(plain)
    return _encoder_half(AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32))


def width_of(plain: Mapping[str, Any]) -> int:
    """Hidden size of an encoder with this config."""
    return int(_config(plain).hidden_size)


def _config(plain: Mapping[str, Any]) -> PreTrainedConfig:
    """A config of a listed type only, without keys that name code or other checkpoints: AutoConfig would prompt on stdin."""
    kind, settings = encoder_settings(plain)
    with _quiet_libraries():
        return AutoConfig.for_model(kind, **settings)


def _encoder_half(model: PreTrainedModel) -> PreTrainedModel:
    """The encoder half of BART and T5; drops the pooler of BERT, which is not used."""
    if getattr(model, "decoder", None) is not None and getattr(model, "encoder", None) is not None:
        return model.get_encoder()
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _scratch_config(width: int, vocabulary: PieceVocabulary) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary.tokenizer.get_vocab_size(),
        hidden_size=width,
        num_hidden_layers=_SCRATCH_LAYERS,
        num_attention_heads=max(1, width // 32),
        intermediate_size=2 * width,
        max_position_embeddings=512,
        pad_token_id=vocabulary.frame.pad,
    )


def train_vocabulary(texts: Iterable[str], size: int = _SCRATCH_PIECES) -> PieceVocabulary:
    """A WordPiece vocabulary learned from the texts; the same texts give the same vocabulary."""
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
