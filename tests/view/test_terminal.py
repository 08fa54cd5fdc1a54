"""Drawings for the terminal, compared as printed text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.view.drawing import columns, for_terminal
from anyner.view.terminal import draw

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def plain(document: Document, width: int = 100) -> list[str]:
    return draw(document, width, colour=False).split("\n")


def test_nested_and_discontinuous() -> None:
    text = "pain in the hip and the knees"
    entities = (
        Entity("Symptom", ((0, 15),)),
        Entity("Symptom", ((0, 4), (24, 29))),
        Entity("Body", ((12, 15),)),
        Entity("Part", ((24, 29),)),
    )
    assert plain(Document(text, entities)) == [
        "pain in the hip and the knees",
        "            ╰─╯ Body    ╰───╯ Part",
        "╰───Symptom───╯",
        "╰──╯╌╌╌╌╌╌Symptom╌╌╌╌╌╌╌╰───╯",
    ]


def test_an_entity_over_two_lines_is_drawn_on_both() -> None:
    text = "he lives in New York City today"
    document = Document(text, (Entity("City", ((12, 25),)), Entity("State", ((12, 20),))))
    assert plain(document, 16) == [
        "he lives in New",
        "      State ╰──",
        "       City ╰──",
        "",
        "York City today",
        "───╯ State",
        "──City──╯",
    ]


def test_a_dashed_line_runs_through_a_line_without_fragments() -> None:
    document = Document("aaaa bbbb cccc dddd eeee ffff", (Entity("X", ((0, 4), (25, 29))),))
    assert plain(document, 10) == ["aaaa bbbb", "╰X─╯╌╌╌╌╌", "", "cccc dddd", "╌╌╌╌X╌╌╌╌", "", "eeee ffff", "╌╌╌╌╌╰X─╯"]


def test_wide_and_combining_characters_keep_the_columns() -> None:
    document = Document("東京cafe\u0301 x", (Entity("LOC", ((0, 2),)), Entity("F", ((2, 7),)), Entity("Y", ((8, 9),))))
    assert plain(document) == ["東京cafe\u0301 x", "╰──╯ LOC ╵ Y", "    ╰F─╯"]
    document = Document("ab\u200bcd ef", (Entity("A", ((2, 3), (6, 8))),))  # its first fragment has no width
    assert plain(document) == ["abcd ef", "  ╵╌╌╰╯ A"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("a\tb", ["a    b"]),
        ("one\r\ntwo\n\nthree", ["one", "two", "", "three"]),
        ("\x1b[31mred\x07\x00\x7f\x9b", ["␛[31mred␇␀␡�"]),
        ("a\rb\u202ec\u2028d", ["a␍b�c�d"]),
        ("\ufeffa\u200bb", ["ab"]),
    ],
)
def test_text_without_entities(text: str, expected: list[str]) -> None:
    assert plain(Document(text)) == expected


def test_colours_depend_on_the_label_only() -> None:
    one = draw(Document("Paris", (Entity("City", ((0, 5),)),)))
    other = draw(Document("in Rome or Oslo", (Entity("City", ((3, 7),)), Entity("Town", ((11, 15),)))))
    colour = ESCAPE.findall(one)[0]
    assert colour in other
    assert ESCAPE.sub("", one) == draw(Document("Paris", (Entity("City", ((0, 5),)),)), colour=False)
    assert "\x1b" not in draw(Document("Paris", (Entity("Ci\x1b[0mty", ((0, 5),)),)), colour=False)


def test_a_width_too_narrow_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least 10 columns, got 3"):
        draw(Document("a"), width=3)


def test_200_entities_are_all_drawn() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    inner = [Entity("A", (span,)) for span in spans]
    outer = [Entity("B", ((0, end),)) for _, end in spans]
    drawn = draw(Document(text, (*inner, *outer)), width=2000, colour=False)
    assert drawn.count("A") == 100
    assert drawn.count("B") == 100


@st.composite
def documents(draw_from: st.DrawFn) -> Document:
    text = draw_from(st.text(st.sampled_from("ab \n\t東\u0301👍\x1b\u202e-") | st.characters(exclude_categories=["Cs"])))
    entities = []
    for cuts in draw_from(st.lists(st.lists(st.integers(0, max(len(text), 1)), min_size=2, max_size=6, unique=True))):
        cuts.sort()
        fragments = tuple((start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if end <= len(text))
        label = draw_from(st.sampled_from(["Person", "X", "東京", "A very long label of an entity", "\x1b]0;"]))
        if fragments and text:
            entities.append(Entity(label, fragments))
    unique = {}
    for entity in entities:
        placed = Document(text, (entity,)).entities[0]
        unique[placed.key] = placed
    return Document(text, tuple(unique.values()))


@given(document=documents(), width=st.integers(10, 40))
def test_nothing_is_wider_than_the_page_or_acts_on_the_terminal(document: Document, width: int) -> None:
    for line in plain(document, width):
        assert columns(line) <= width
        assert all(for_terminal(character) == character for character in line)
    assert ESCAPE.sub("", draw(document, width)) == "\n".join(plain(document, width))


@given(document=documents(), width=st.integers(10, 40))
def test_the_whole_text_is_printed(document: Document, width: int) -> None:
    printed = draw(Document(document.text), width, colour=False)
    expected = "".join(for_terminal(c) for c in document.text.replace("\r\n", "\n") if not c.isspace() or c < " ")
    expected = re.sub(r"\s", "", expected)
    # White space at line breaks is not printed; it may include characters that are shown as symbols, such as form feeds.
    assert re.sub(r"[\s\u2400-\u2421�]", "", printed) == re.sub(r"[\s\u2400-\u2421�]", "", expected)
