"""Limits on model folders of unknown origin: which encoders, how large, how deep; never code or network access."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from anyner.errors import AnynerError

ENCODER_KINDS = frozenset(
    {
        *("albert", "bart", "bert", "big_bird", "camembert", "convbert", "data2vec-text", "deberta"),
        *("deberta-v2", "distilbert", "electra", "ernie", "eurobert", "gte", "ibert", "jina_embeddings_v3"),
        *("longformer", "longt5", "marian", "mbart", "megatron-bert", "mobilebert", "modernbert", "mpnet"),
        *("mt5", "mvp", "nomic_bert", "nystromformer", "pegasus", "plbart", "rembert", "roberta"),
        *("roberta-prelayernorm", "roformer", "t5", "umt5", "xlm-roberta", "xlm-roberta-xl"),
    }
)
"""The text encoders, by `model_type`. Other kinds can fetch a backbone, compile kernels or ask on stdin whether to run code."""

_DROPPED = frozenset(
    {
        *("auto_map", "custom_pipelines", "custom_generate", "trust_remote_code", "code_revision"),  # code
        *("_name_or_path", "name_or_path", "transformers_weights", "tokenizer_class", "gguf_file"),  # files elsewhere
        *("backbone", "use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs"),  # other checkpoints
        *("attn_implementation", "_attn_implementation", "_attn_implementation_internal", "experts_implementation"),  # kernels
        *("reference_compile", "use_kernels"),
    }
)
_NOT_READ = frozenset(
    {
        *("num_labels", "id2label", "label2id", "problem_type"),  # of a classifier; the first makes tables of that size
        *("dtype", "torch_dtype"),  # weights are float32 in memory
        *("return_dict", "torchscript", "chunk_size_feed_forward", "transformers_version"),
        *("output_hidden_states", "output_attentions"),
    }
)
"""Keys of an encoder's config that are stored with a model but not used."""

_MOST_JSON = 4 << 20
_DEEPEST = 32
_LARGEST = 10_000_000
"""Far above any vocabulary, position table or width."""
_MOST_LAYERS = 256
_SURROGATE = re.compile(rb"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


def read_json(path: Path, most: int = _MOST_JSON, otherwise: str = "not valid JSON") -> Any:
    """The content of a JSON file of at most `most` bytes and limited depth; errors never quote the file."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise AnynerError(f"{path}: too large: the limit is {most >> 20} MB")
        plain = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
        if _SURROGATE.search(content):
            json.dumps(plain, ensure_ascii=False).encode()  # fails on a lone surrogate, which cannot be printed
    except (RecursionError, MemoryError):
        raise AnynerError(f"{path}: {otherwise}: too deep") from None
    except OSError as error:
        raise AnynerError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise AnynerError(f"{path}: {otherwise}: not UTF-8 text") from None
    except ValueError as error:
        raise AnynerError(f"{path}: {otherwise}: {error}") from None
    if depth(plain) > _DEEPEST:
        raise AnynerError(f"{path}: too deep: the limit is {_DEEPEST} levels")
    return plain


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def depth(plain: Any) -> int:
    """Levels of nested lists and objects, counted up to one above the limit."""
    level, here = 0, [plain] if isinstance(plain, dict | list) else []
    while here and level <= _DEEPEST:
        here = [inner for one in here for inner in _inside(one) if isinstance(inner, dict | list)]
        level += 1
    return level


def _inside(plain: Any) -> Iterator[Any]:
    """The values in a list or an object."""
    if isinstance(plain, dict):
        yield from plain.values()
    elif isinstance(plain, list | tuple):
        yield from plain


def kept_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an encoder's config that is stored with a model: no key that names code, kernels or other checkpoints."""
    return {key: _kept(value) for key, value in config.items() if not _is_dropped(key)}


def _kept(value: Any) -> Any:
    if isinstance(value, Mapping):
        return kept_settings(value)
    return [_kept(one) for one in value] if isinstance(value, list | tuple) else value


def _is_dropped(key: object) -> bool:
    # none of the text encoders has a config inside its config
    return key in _DROPPED or (isinstance(key, str) and key.endswith("_config"))


def encoder_settings(plain: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of an encoder and the settings to build it with; a kind or a size that is not allowed is refused."""
    kind = plain.get("model_type")
    if not isinstance(kind, str) or kind not in ENCODER_KINDS:
        raise AnynerError(f"config.json: unknown encoder type {_short(kind)}: expected one of {', '.join(sorted(ENCODER_KINDS))}")
    settings = {key: value for key, value in kept_settings(plain).items() if key not in _NOT_READ and key != "model_type"}
    for key, value in settings.items():
        check_size(key, value, _LARGEST, "config.json: the encoder's")
    return kind, settings


def check_size(key: str, value: Any, most: int, where: str) -> None:
    """Refuses a setting that holds a larger number than `most`, or more layers than any model has."""
    most = min(most, _MOST_LAYERS) if "layers" in key else most
    if any(abs(number) > most for number in _numbers(value)):
        raise AnynerError(f"{where} {_short(key)} is too large: the limit is {most:,}")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    else:
        for inner in _inside(value):
            yield from _numbers(inner)
