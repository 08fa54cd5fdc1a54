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


SECOND = (
    "She had come from the foreign office in Berlin to New York, where she had been asked to speak about the future of those "
    "who make cars and of those who drive them, and about what little is known of either."
)


def test_wrapped_paragraphs_need_no_empty_line_between_them() -> None:
    paragraphs = ["\n".join(textwrap.wrap(one, 72)) for one in (PROSE, SECOND)]
    assert lines("Dear Ann,\n" + "\n".join(paragraphs) + "\nBob Brown") == ["Dear Ann,", *paragraphs, "Bob Brown"]


def test_wrapped_lines_need_not_be_filled_exactly() -> None:
    """As in text from PDF files, whose letters differ in width."""
    words, made = f"{PROSE} {SECOND}".split(), [""]
    for word in words:
        if len(made[-1]) + 1 + len(word) > (64, 72, 68)[len(made) % 3]:
            made.append("")
        made[-1] = f"{made[-1]} {word}".lstrip()
    assert lines("\n".join(made)) == ["\n".join(made)]


def test_wrapped_list_items() -> None:
    items = ["\n".join(textwrap.wrap(f"- {one.rstrip('.')}", 72, subsequent_indent="  ")) for one in (PROSE, SECOND)]
    assert lines("\n".join(items)) == items


def test_an_initial_ends_no_sentence() -> None:
    prose = f"{SECOND} In Rome, all of this had been said before her arrival by a man called John F. Smith."
    wrapped = "\n".join(textwrap.wrap(prose, 72))
    assert lines(f"Dear Ann,\n{wrapped}")[-1].endswith("called John F.\nSmith.")


@pytest.mark.parametrize(
    "rows",
    [
        ["Leeds United lose at home again", "Arsenal sign a goalkeeper from Turin", "Wimbledon have a new manager"],
        ["The board met in Paris on Monday and on Friday.", "nobody came.", "it will meet in Bonn next, it said."] * 3,
        ["subject: what was decided in Munich on Tuesday", "from: the secretary of the board, Ann Brown", "to: all of us"] * 3,
        ["1. the first of the items of a list", "2. the second, which is a longer one", "3. the third of them, and the last"] * 3,
        ["milk and bread from the shop", "nails"] * 5,
    ],
    ids=["headlines", "sentences", "headers", "numbered items", "short items"],
)
def test_lines_that_are_not_wrapped_prose(rows: list[str]) -> None:
    assert lines("\n".join(rows)) == rows


@pytest.mark.parametrize("gap", ["\t", "   ", " \t ", "\t\t", "      "])
def test_columns_are_lines(gap: str) -> None:
    cells = ["Anna Schmidt", "Berlin", "Siemens and Sons", "Peter Brown", "New York", "General Motors"]
    rows = "\n".join([gap.join(cells[:3]), gap.join(cells[3:])])
    assert lines(rows) == cells
    assert lines(gap.join(cells)) == cells


def test_blanks_at_the_ends_of_a_line_or_two_between_words_are_no_columns() -> None:
    assert lines("\t one  two    \n    three") == ["one  two", "three"]


def test_paragraphs_of_one_line_each() -> None:
    assert lines(f"{PROSE}\n{PROSE}") == [PROSE, PROSE]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", " \n\t"])
def test_every_kind_of_line_end(end: str) -> None:
    assert lines(f"one{end}two") == ["one", "two"]


@pytest.mark.parametrize("text", ["", " ", "\n", "\n\n", "one", "\none", "one\n", "one\n\n \n"])
def test_one_line_or_none(text: str) -> None:
    assert line_starts(text) == []


@given(st.text(alphabet="ab \n\r", max_size=200))
def test_line_starts_are_in_order_and_follow_a_line_end_or_three_blanks(text: str) -> None:
    starts = line_starts(text)
    assert starts == sorted(set(starts))
    for start in starts:
        assert text[start - 1] in "\n\r" or text[start - 3 : start] == "   "


@given(st.text(alphabet="ab .\n", max_size=120), st.integers(1, 7))
def test_words_that_begin_a_line_whatever_the_chunks(text: str, size: int) -> None:
    words = list(iterate_words(text, "unicode"))
    found = LineStarts(text)
    flags = [flag for start in range(0, len(words), size) for flag in found.flags(words[start : start + size])]
    begins = {next(number for number, word in enumerate(words) if word[0] >= start) for start in line_starts(text)}
    assert [number for number, flag in enumerate(flags) if flag] == sorted(begins)
