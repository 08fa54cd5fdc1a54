"""The exceptions that users see, with one-line messages that name what to change, and functions that make text safe to print."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_LONGEST_REASON = 300
_JOINERS = "\u200c\u200d"
"""Zero-width (non-)joiners are part of words and emoji."""

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class AnynerError(Exception):
    """Bad input, a bad setting or a broken file. The message is one clear line; the command line prints it and exits."""


class InvalidInputError(AnynerError, ValueError):
    """Text or annotation that cannot be represented: a fragment out of range, a reversed fragment, a lone surrogate."""


def first_line(error: BaseException) -> str:
    """The first line of another library's error message, shortened."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_LONGEST_REASON]


def printable(text: str) -> str:
    r"""The text with all characters escaped that control a terminal, break a line, change direction or are not valid Unicode.

    Labels, ids, keys and file names are untrusted: they must pass through here before they are printed.

    >>> print(printable("LOC\x1b[2J\n"))
    LOC\x1b[2J\n
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE_CATEGORIES or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def json_text(plain: Any, indent: int | None = None) -> str:
    """JSON that reads back unchanged; control characters that `json` leaves unescaped are escaped, too."""
    written = json.dumps(plain, indent=indent, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
