"""The one exception users see: its message is a single line that names what to change. And how a line is made safe to print."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_LONGEST_REASON = 300
_JOINERS = "\u200c\u200d"
"""Part of how words and emoji are written."""

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class AnynerError(Exception):
    """Bad input, a bad setting or a broken file. The message is one clear line; the command line prints it and exits."""


class InvalidInputError(AnynerError, ValueError):
    """Text or annotation that cannot be represented: a fragment out of range, a reversed fragment, a lone surrogate."""


def first_line(error: BaseException) -> str:
    """What another library's exception says, in one line that is not too long."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_LONGEST_REASON]


def printable(text: str) -> str:
    r"""The text with every character escaped that acts on a terminal, starts a line, turns the direction or is not valid Unicode.

    Labels, ids, keys and file names come from elsewhere: whatever is printed of them goes through here.

    >>> print(printable("LOC\x1b[2J\n"))
    LOC\x1b[2J\n
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _ACTING or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def json_text(plain: Any, indent: int | None = None) -> str:
    """JSON that reads back as it was. The control characters that json leaves in place are escaped as well."""
    written = json.dumps(plain, indent=indent, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
