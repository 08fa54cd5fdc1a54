"""Word splitters: where the words of a text begin and end, in characters.

Every splitter covers every character that is not white space (`str.isspace`) with exactly one word; words come in
order, are never empty and never hold white space. Each is one compiled pattern that runs in linear time.

`unicode`     the default. Punctuation is cut off, but kept inside: IL-2, T-cell, 4.1, 1,000, U.S., don't, O'Neill,
              URLs, e-mail addresses, @mentions, #hashtags. Possessive 's and elided articles (l', dell') are words
              of their own, so that the name beside them is one too. Invisible characters cut no word in two.
              Han and Kana have no blanks: one word a character. Hangul, Thai and the rest stay whole runs.
`cjk`         as `unicode`, and Hangul is cut too: one word a syllable.
`whitespace`  maximal runs without white space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, get_args

from anyner.errors import InvalidInputError

SplitterName = Literal["unicode", "whitespace", "cjk"]

_Ranges = tuple[tuple[int, int], ...]

# Inclusive: radicals, numerals, iteration marks, Hiragana, Katakana without its middle dot U+30FB, Bopomofo, Han.
_HAN_AND_KANA: _Ranges = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x3096),
    (0x309B, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FC, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),
)
_HANGUL_SYLLABLES: _Ranges = ((0x3131, 0x318E), (0xAC00, 0xD7A3), (0xFFA0, 0xFFDC))
_HANGUL_LEADING: _Ranges = ((0x1100, 0x115F), (0xA960, 0xA97C))
_HANGUL_FOLLOWING: _Ranges = ((0x1160, 0x11FF), (0xD7B0, 0xD7FB))
# Whole blocks above the basic plane: hundreds of exact ranges would be tried one by one at the end of every word.
_LETTERS_ABOVE: _Ranges = ((0x10000, 0x1AFEF), (0x1B170, 0x1CFFF), (0x1D400, 0x1D7FF), (0x1DF00, 0x1EFFF))
# Voiced marks of half-width Katakana, skin tones, tags, variation selectors: they belong to the character before them.
_EXTENDING: _Ranges = ((0xFF9E, 0xFF9F), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F), (0xE0100, 0xE01EF))
_EMOJI: _Ranges = ((0x2190, 0x2BFF), (0x1F000, 0x1F3FA), (0x1F400, 0x1FAFF))
_JOINING = "_\u00ad\u200c\u200d"
# Thai, Lao, Tibetan, Burmese, Khmer and their neighbours have no blanks either: there a zero-width space does part two words.
_PARTED_INVISIBLY: _Ranges = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x1950, 0x19FF),
    (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F),
    (0xA980, 0xA9FF),
    (0xAA60, 0xAADF),
)


def iterate_words(text: str, splitter: SplitterName) -> Iterator[tuple[int, int]]:
    """The words of the text as `[start, end)` in characters, one by one: nothing is collected, whatever the length.

    >>> [text[start:end] for text in ["IL-2 (4.1%)."] for start, end in iterate_words(text, "unicode")]
    ['IL-2', '(', '4.1', '%', ')', '.']
    """
    return map(re.Match.span, _pattern(splitter).finditer(text))


@cache
def _pattern(splitter: SplitterName) -> re.Pattern[str]:
    if splitter == "whitespace":
        return re.compile(r"\S+")
    if splitter == "unicode":
        return _punctuation_cutting(cut_hangul=False)
    if splitter == "cjk":
        return _punctuation_cutting(cut_hangul=True)
    raise InvalidInputError(f"unknown word splitter {splitter!r}: choose one of {', '.join(get_args(SplitterName))}")


def _punctuation_cutting(cut_hangul: bool) -> re.Pattern[str]:
    """The pattern of one word: the first alternative that fits wins, the last takes any character that is left."""
    alone = _class(_HAN_AND_KANA + (_HANGUL_SYLLABLES if cut_hangul else ()))
    jamo = _HANGUL_LEADING + _HANGUL_FOLLOWING if cut_hangul else ()
    basic_plane = "".join(map(chr, range(0x10000)))
    inner = _word_characters(re.sub(f"[{alone}{_class(jamo)}]", "", basic_plane))
    extending = f"[{_class(_EXTENDING)}{_ranged(filter(_is_mark, basic_plane))}]*+"
    alternatives = [
        _PLAIN,
        f"[{alone}]",
        *([f"[{_class(_HANGUL_LEADING)}]*+[{_class(_HANGUL_FOLLOWING)}]++|[{_class(_HANGUL_LEADING)}]++"] if jamo else []),
        _web_address(inner, alone),
        _E_MAIL,
        _abbreviation(alone + _class(jamo)),
        _ELIDED,
        f"[{inner}]++(?:(?:{_JOINT}|{_invisible()})[{inner}]++)*+",
        rf"(?<!\w)[@#][{inner}]++",
        _POSSESSIVE,
        _REPEATED,
        "[\U0001f1e6-\U0001f1ff]{2}",
        rf"[{_class(_EMOJI)}]{extending}(?:\u200d[{_class(_EMOJI)}]{extending})*+",
    ]
    return re.compile(f"(?:{'|'.join(alternatives)}|\\S){extending}")


# A fast path for most words; the alternatives below match the same word.
_PLAIN = r"[A-Za-z]{2,}+(?=[\s,;()])"
# The longest local part is 64 characters; the bound also keeps the search for "@" linear.
_HOST_PART = "[A-Za-z0-9]++(?:-++[A-Za-z0-9]++)*+"
_E_MAIL = rf"[A-Za-z0-9_][A-Za-z0-9_.+%-]{{0,63}}+@{_HOST_PART}(?:\.{_HOST_PART})++(?![@\w])"
_ELIDED = r"(?:[CDJLMNSTcdjlmnst]|[Qq]u|[DNSdns][aeu]ll|[Aa]ll|[Uu]n)['’](?=[^\W\d_]{2})"
_POSSESSIVE = r"(?<=[\w.])['’][sS]\b"
_REPEATED = r"([-.=*~+!?#…—–])\1*+"
# What may join two runs of one word. Not a period before a capital: a blank was forgotten in "the end.The next".
_JOINT = r"(?:[-－‐‑·״׳]|['’](?![sS]\b)|\.(?!(?<=[a-zß-öø-ÿ]{2}\.)[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])|(?<=\d)[,:](?=\d))"


def _invisible() -> str:
    """Zero-width spaces, word joiners and byte order marks, which may stand inside a word but neither begin nor end one."""
    return rf"(?:[\u2060\ufeff]|(?<![{_class(_PARTED_INVISIBLY)}])\u200b)++"


def _web_address(inner: str, alone: str) -> str:
    """A URL without the punctuation that ends a sentence; brackets belong to it when they close inside it."""
    scheme = r"(?:(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp])://|[Ww]{3}\.)"
    ending = rf"[{inner}/=&%~#@+$*-]"
    return rf"{scheme}(?=[\w\[])(?:{ending}++|\([^\s()<>\"{alone}]*+\)|[.,;:!?'\[\]|]++(?={ending}))++"


def _abbreviation(alone: str) -> str:
    """U.S., e.g. and Ph.D., and an initial as in J. Smith, with their last period."""
    letter = rf"[^\W\d_{alone}]"
    return rf"{letter}{{1,2}}(?:\.{letter})++\.(?![\w.])|[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\.(?![\w.])"


def _word_characters(basic_plane: str) -> str:
    """The inside of a character class: letters, digits, marks, and what joins them invisibly."""
    return _JOINING + _ranged(c for c in basic_plane if c.isalnum() or _is_mark(c)) + _class(_LETTERS_ABOVE)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _ranged(characters: Iterable[str]) -> str:
    """Characters in code order as the ranges of a character class."""
    ranges: list[tuple[int, int]] = []
    for code in map(ord, characters):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return _class(tuple(ranges))


def _class(ranges: _Ranges) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
