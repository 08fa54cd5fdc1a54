"""Printing single characters: control characters made visible, and their width in terminal columns."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"


def visible_control(character: str) -> str:
    """A control character as its symbol (ESC becomes ␛), so that it is visible and harmless; others unchanged."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character


def for_terminal(character: str) -> str:
    """What to print for a character: nothing that moves the cursor, starts an escape sequence or turns the direction."""
    category = unicodedata.category(character)
    if category not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    if character == "\t":
        return "    "
    if category == "Cc":
        return visible_control(character)
    if character in _JOINERS:
        return character
    is_tag = "\U000e0000" <= character <= "\U000e007f"
    return "" if character in _INVISIBLE or is_tag else "\ufffd"


def columns(printed: str) -> int:
    """The columns that a printed text takes: 2 for wide characters, 0 for combining ones."""
    return len(printed) if printed.isascii() else sum(map(_columns_of_one, printed))


def _columns_of_one(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
