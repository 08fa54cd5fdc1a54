from __future__ import annotations

import textwrap
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.text.lines import LineStarts, line_starts
from anyner.text.words import iterate_words

PROSE = (
    "The company said on Tuesday that its chief executive, Angela Merkel, would leave the board of directors at the end of the "
    "year, and that nobody had been asked to follow her so far."
)


def lines(text: str) -> list[str]:
    starts = [0, *line_starts(text), len(text)]
    return [text[start:stop].strip() for start, stop in pairwise(starts)]


def test_a_list_has_lines() -> None:
    assert lines("Cities:\nBerlin\nHamburg\n\nKöln") == ["Cities:", "Berlin", "Hamburg", "Köln"]


@pytest.mark.parametrize("width", [50, 60, 72, 100, 120])
def test_a_wrapped_paragraph_is_one_line(width: int) -> None:
    wrapped = "\n".join(textwrap.wrap(PROSE, width))
    assert wrapped.count("\n")
    assert lines(f"Dear Ann,\n\n{wrapped}\n\nBob") == ["Dear Ann,", wrapped, "Bob"]


def test_lines_of_one_length_are_not_a_wrapped_paragraph_if_one_of_them_has_room() -> None:
    table = ["Leeds United  3  Norwich City  1  (half time 2-0)", "Arsenal  0  Chelsea  0", "Wimbledon  1  Derby County  1"]
    assert lines("\n".join(table)) == table


def test_paragraphs_of_one_line_each() -> None:
    assert lines(f"{PROSE}\n{PROSE}") == [PROSE, PROSE]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", " \n\t"])
def test_every_kind_of_line_end(end: str) -> None:
    assert lines(f"one{end}two") == ["one", "two"]


@pytest.mark.parametrize("text", ["", " ", "\n", "\n\n", "one", "\none", "one\n", "one\n\n \n"])
def test_one_line_or_none(text: str) -> None:
    assert line_starts(text) == []


@given(st.text(alphabet="ab \n\r", max_size=200))
def test_line_starts_are_in_order_and_follow_a_line_end(text: str) -> None:
    starts = line_starts(text)
    assert starts == sorted(set(starts))
    for start in starts:
        assert text[start - 1] in "\n\r"


@given(st.text(alphabet="ab .\n", max_size=120), st.integers(1, 7))
def test_words_that_begin_a_line_whatever_the_chunks(text: str, size: int) -> None:
    words = list(iterate_words(text, "unicode"))
    found = LineStarts(text)
    flags = [flag for start in range(0, len(words), size) for flag in found.flags(words[start : start + size])]
    begins = {next(number for number, word in enumerate(words) if word[0] >= start) for start in line_starts(text)}
    assert [number for number, flag in enumerate(flags) if flag] == sorted(begins)
