"""Word splitters: where the words of a text begin and end, in characters.

Every splitter covers every character that is not white space (`str.isspace`) with exactly one word; words come in
order, are never empty and never hold white space. Each is one compiled pattern that runs in linear time.

`unicode`     the default. Punctuation is split off, but kept inside words: IL-2, T-cell, 4.1, 1,000, U.S., don't,
              O'Neill, URLs, e-mail addresses, @mentions, #hashtags. Possessive 's and elided articles (l', dell') are
              separate words, and so is the name beside them. Invisible characters do not split a word.
              Han and Kana have no spaces: each character is a word. Runs of Hangul, Thai and other scripts stay whole.
`cjk`         as `unicode`, but also splits other scripts: Hangul into syllables; Thai, Lao, Khmer and Burmese into
              characters with their marks.
`thai`        as `unicode`, but splits Thai with the dictionary of PyThaiNLP (extra `thai`).
`whitespace`  maximal runs without white space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, get_args

from anyner.errors import InvalidInputError
from anyner.text.thai import cut_by_dictionary

SplitterName = Literal["unicode", "whitespace", "cjk", "thai"]

# Contents of character classes.
# Radicals, numerals, iteration marks, Hiragana, Katakana without its middle dot U+30FB, Bopomofo, Han.
_HAN_AND_KANA = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309b-\u309f\u30a1-\u30fa"
    r"\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    r"\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_HANGUL_SYLLABLES = r"\u3131-\u318e\uac00-\ud7a3\uffa0-\uffdc"
_HANGUL_LEADING = r"\u1100-\u115f\ua960-\ua97c"
_HANGUL_FOLLOWING = r"\u1160-\u11ff\ud7b0-\ud7fb"
# Whole blocks above the basic plane: hundreds of exact ranges would be tried one by one at the end of every word.
_LETTERS_ABOVE = r"\U00010000-\U0001afef\U0001b170-\U0001cfff\U0001d400-\U0001d7ff\U0001df00-\U0001efff"
# Voiced marks of half-width Katakana, skin tones, tags, variation selectors: they belong to the character before them.
_EXTENDING = r"\uff9e-\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_JOINING = "_\u00ad\u200c\u200d"
# Thai, Lao, Tibetan, Burmese, Khmer and related scripts have no spaces either: there a zero-width space does separate words.
_WITHOUT_SPACES = r"\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf"


def iterate_words(text: str, splitter: SplitterName) -> Iterator[tuple[int, int]]:
    """The words of the text as `[start, end)` in characters, one by one: nothing is collected, whatever the length.

    >>> [text[start:end] for text in ["IL-2 (4.1%)."] for start, end in iterate_words(text, "unicode")]
    ['IL-2', '(', '4.1', '%', ')', '.']
    """
    spans = map(re.Match.span, _pattern(splitter).finditer(text))
    return cut_by_dictionary(text, spans) if splitter == "thai" else spans


@cache
def _pattern(splitter: SplitterName) -> re.Pattern[str]:
    if splitter not in get_args(SplitterName):
        raise InvalidInputError(f"unknown word splitter {splitter!r}: choose one of {', '.join(get_args(SplitterName))}")
    return re.compile(r"\S+") if splitter == "whitespace" else _punctuation_cutting(cut_all=splitter == "cjk")


def _punctuation_cutting(cut_all: bool) -> re.Pattern[str]:
    """The pattern of one word: the first alternative that matches wins, the last matches any remaining character."""
    basic_plane = "".join(map(chr, range(0x10000)))
    without_spaces = _ranged(filter(str.isalpha, re.findall(f"[{_WITHOUT_SPACES}]", basic_plane)))
    alone = _HAN_AND_KANA + (_HANGUL_SYLLABLES + without_spaces if cut_all else "")
    jamo = _HANGUL_LEADING + _HANGUL_FOLLOWING if cut_all else ""
    inner = _word_characters(re.sub(f"[{alone}{jamo}]", "", basic_plane))
    extending = f"[{_EXTENDING}{_ranged(filter(_is_mark, basic_plane))}]*+"
    alternatives = [
        _PLAIN,
        f"[{alone}]",
        *([f"[{_HANGUL_LEADING}]*+[{_HANGUL_FOLLOWING}]++|[{_HANGUL_LEADING}]++"] if jamo else []),
        _web_address(inner, alone),
        _E_MAIL,
        _abbreviation(alone + jamo),
        _ELIDED,
        f"[{inner}]++(?:(?:{_JOINT}|{_INVISIBLE})[{inner}]++)*+",
        rf"(?<!\w)[@#][{inner}]++",
        _POSSESSIVE,
        _REPEATED,
        "[\U0001f1e6-\U0001f1ff]{2}",
        rf"[{_EMOJI}]{extending}(?:\u200d[{_EMOJI}]{extending})*+",
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
# Zero-width spaces, word joiners and byte order marks, which may stand inside a word but neither begin nor end one.
_INVISIBLE = rf"(?:[\u2060\ufeff]|(?<![{_WITHOUT_SPACES}])\u200b)++"
# What may join two runs into one word. Not a period before a capital: "the end.The next" lacks a space.
_JOINT = r"(?:[-－‐‑·״׳]|['’](?![sS]\b)|\.(?!(?<=[a-zß-öø-ÿ]{2}\.)[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])|(?<=\d)[,:](?=\d))"


def _web_address(inner: str, alone: str) -> str:
    """A URL without sentence-final punctuation; brackets belong to it if they close inside it."""
    scheme = r"(?:(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp])://|[Ww]{3}\.)"
    ending = rf"[{inner}/=&%~#@+$*-]"
    return rf"{scheme}(?=[\w\[])(?:{ending}++|\([^\s()<>\"{alone}]*+\)|[.,;:!?'\[\]|]++(?={ending}))++"


def _abbreviation(alone: str) -> str:
    """U.S., e.g. and Ph.D., and an initial as in J. Smith, with their last period."""
    letter = rf"[^\W\d_{alone}]"
    return rf"{letter}{{1,2}}(?:\.{letter})++\.(?![\w.])|[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\.(?![\w.])"


def _word_characters(basic_plane: str) -> str:
    """Contents of a character class: letters, digits, marks and invisible joiners."""
    return _JOINING + _ranged(c for c in basic_plane if c.isalnum() or _is_mark(c)) + _LETTERS_ABOVE


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _ranged(characters: Iterable[str]) -> str:
    """Characters, sorted by code point, as ranges of a character class."""
    ranges: list[tuple[int, int]] = []
    for code in map(ord, characters):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
