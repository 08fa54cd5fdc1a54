"""Limits on a `tokenizer.json`: one that turns each character into a thousand would exhaust memory at the first word."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from anyner.errors import AnynerError

MOST_BYTES = 64 << 20
_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MOST_VALUES = 2_000
"""Maximum number of values in one part, nested ones included."""
_LONGEST_TEXT = 1_000
"""Maximum characters of a pattern or a replacement."""
_MOST_GROWTH = 256
"""SentencePiece's NFKC turns one character into up to 18, and some pattern replacements come on top."""
_MOST_PIECES = 10_000_000
_CHARSMAP = "precompiled_charsmap"


def check_tokenizer(plain: Any, where: str) -> None:
    """Refuses a file that is not a tokenizer, has no pieces, or could blow up a text."""
    if not isinstance(plain, Mapping) or not isinstance(plain.get("model"), Mapping):
        raise AnynerError(f"{where}: not a tokenizer: it has no 'model'")
    if not plain["model"].get("vocab"):
        raise AnynerError(f"{where}: its vocabulary is empty")
    _check_ids(plain, where)
    growth = 1.0
    for part in _PARTS:
        for count, (key, value) in enumerate(_values(plain.get(part))):
            if count >= _MOST_VALUES:
                raise AnynerError(f"{where}: '{part}' is too large: the limit is {_MOST_VALUES:,} values")
            if isinstance(value, str) and len(value) > _LONGEST_TEXT and key != _CHARSMAP:
                raise AnynerError(f"{where}: '{part}' has a text of {len(value):,} characters: the limit is {_LONGEST_TEXT:,}")
            if part != "decoder":  # never run
                growth *= _growth(value)
            if growth > _MOST_GROWTH:
                raise AnynerError(f"{where}: '{part}' may make texts more than {_MOST_GROWTH} times as long")


def _check_ids(plain: Mapping[str, Any], where: str) -> None:
    """Limits the ids: the tokenizers library allocates memory up to the largest one."""
    vocabulary, added = plain["model"]["vocab"], plain.get("added_tokens")
    ids = list(vocabulary.values()) if isinstance(vocabulary, Mapping) else []
    ids += [token.get("id") for token in added if isinstance(token, Mapping)] if isinstance(added, list) else []
    if any(type(one) is not int or not 0 <= one < _MOST_PIECES for one in ids):
        raise AnynerError(f"{where}: the id of a piece is not a whole number from 0 to {_MOST_PIECES - 1:,}")


def _values(plain: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value, with the key it stands under."""
    yield key, plain
    if isinstance(plain, Mapping):
        for name, inner in plain.items():
            yield from _values(inner, name)
    elif isinstance(plain, list):
        for inner in plain:
            yield from _values(inner, key)


def _growth(node: Any) -> float:
    """Maximum number of characters that one step can make of one."""
    if not isinstance(node, Mapping):
        return 1
    if node.get("type") == "Replace":
        return _replaced(node.get("pattern"), str(node.get("content", "")))
    if node.get("type") == "Precompiled":
        return _mapped(str(node.get(_CHARSMAP, "")))
    return 2 if node.get("type") == "ByteLevel" else 1


def _replaced(pattern: Any, content: str) -> float:
    text = pattern.get("String") if isinstance(pattern, Mapping) else None
    if isinstance(text, str) and text:
        return max(1.0, len(content) / len(text))
    return 1 + len(content)  # a pattern can match between any two characters


def _mapped(charsmap: str) -> int:
    """The longest text in a charsmap of SentencePiece: the length of its trie, the trie, and zero-terminated texts."""
    try:
        table = base64.b64decode(charsmap, validate=True)
    except (binascii.Error, ValueError):
        return 1  # the tokenizers library refuses it
    texts = table[4 + int.from_bytes(table[:4], "little") :]
    return max(len(text.decode("utf-8", "replace")) for text in texts.split(b"\0"))
