"""The HTML page: structure, escaping, and self-containedness."""

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.view.html import render, write

EXAMPLE = Document(
    "pain in the hip and the knees",
    (
        Entity("Symptom", ((0, 15),), 0.98),
        Entity("Symptom", ((0, 4), (24, 29)), 0.91),
        Entity("Body", ((12, 15),)),
        Entity("Body", ((24, 29),)),
    ),
    id="one",
)


class Page(HTMLParser):
    """What a browser would see: the text of each line, the elements, and the legend."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.articles: list[list[str]] = []
        self.inside_line = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag == "article":
            self.articles.append([])
        if attributes.get("class") == "line":
            self.inside_line = True
            self.articles[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.inside_line = False

    def handle_data(self, data: str) -> None:
        if self.inside_line:
            self.articles[-1][-1] += data

    def bars(self) -> list[str]:
        """The styles of the stretches of text with bars under them."""
        return [attributes["style"] for _, attributes in self.elements if "background-image" in attributes.get("style", "")]

    def of_class(self, name: str) -> list[dict[str, str]]:
        return [attributes for _, attributes in self.elements if name in attributes.get("class", "").split()]


def test_bars_and_labels() -> None:
    page = Page(render([EXAMPLE]))
    assert page.articles == [[EXAMPLE.text]]
    tags = [(tag["data-label"], tag["style"].split(";")[0], tag["title"]) for tag in page.of_class("tag")]
    assert sorted(tags) == [
        ("Body", "--t:1", "Body: hip"),
        ("Body", "--t:1", "Body: knees"),
        ("Symptom", "--t:2", "Symptom 0.980: pain in the hip"),
        ("Symptom", "--t:3", "Symptom 0.910: pain knees"),
    ]
    assert [segment["data-e"] for segment in page.of_class("s")] == ["1 0", "1 0", "2 1 0", "0", "3 0"]
    dashed = [style.count("repeating-linear-gradient") for style in page.bars()]
    assert dashed == [0, 1, 1, 1, 0]


def test_legend_counts_over_all_documents() -> None:
    source = render([EXAMPLE, EXAMPLE, Document("Rome", (Entity("City", ((0, 4),)),))])
    legend = re.findall(r"<bdi>(.*?)</bdi><small>(\d+)</small>", source)
    assert legend == [("Body", "4"), ("City", "1"), ("Symptom", "4")]
    assert len([element for element, _ in Page(source).elements if element == "input"]) == 3


INJECTION = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}<!--"


def test_text_labels_ids_and_title_are_never_markup() -> None:
    document = Document(INJECTION, (Entity(INJECTION, ((0, 9), (20, 30))),), id=INJECTION)
    source = render([document], title=INJECTION)
    page = Page(source)
    assert [element for element, _ in page.elements].count("script") == 1
    assert "img" not in [element for element, _ in page.elements]
    assert "49" not in re.sub(r"<style>.*?</style>", "", source, flags=re.DOTALL)
    assert page.articles == [[INJECTION]]
    assert page.of_class("tag")[0]["data-label"] == INJECTION
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_the_page_is_self_contained() -> None:
    page = Page(render([EXAMPLE]))
    assert not any({"src", "href"} & attributes.keys() for _, attributes in page.elements)
    assert "url(" not in render([EXAMPLE])
    assert all(line["dir"] == "auto" for line in page.of_class("line"))


def test_a_right_to_left_entity_is_labelled_at_its_right_end() -> None:
    (tag,) = Page(render([Document("0 \u05d0", (Entity("A", ((0, 1),)),))])).of_class("tag")
    assert tag["class"] == "tag r"


def test_write_streams_and_equals_render() -> None:
    written = io.StringIO()
    seen_before_the_end = []

    def stream() -> Iterator[Document]:
        yield EXAMPLE
        yield EXAMPLE
        seen_before_the_end.append(EXAMPLE.id in written.getvalue())

    write(stream(), written, title="T")
    assert written.getvalue() == render([EXAMPLE, EXAMPLE], title="T")
    assert seen_before_the_end == [True]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a\nb\r\n\nc", ["a", "b", "", "c"]),
        ("a\x00b\x1b\x7f\rc", ["a␀b␛␡␍c"]),
        ("\n", ["", ""]),
        ("\r\n", ["", ""]),
    ],
)
def test_lines_and_control_characters(text: str, lines: list[str]) -> None:
    assert Page(render([Document(text)])).articles == [lines]


def test_no_documents() -> None:
    assert "No documents." in render([])


def test_a_document_of_10000_characters() -> None:
    text = "word " * 2000
    entities = [Entity("W", ((5 * number, 5 * number + 4),)) for number in range(0, 2000, 2)]
    entities += [Entity("L", ((5 * number, 5 * number + 44),)) for number in range(0, 1990, 10)]
    page = Page(render([Document(text, (*entities, Entity("All", ((0, 4), (9990, 9999)))))]))
    assert page.articles == [[text]]
    assert len(page.of_class("tag")) == len(entities) + 1
    assert Page(render([Document("x" * 10_000, (Entity("X", ((5, 9_999),)),))])).articles == [["x" * 10_000]]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.sampled_from("ab <&\n\"'東") | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
    placed = {}
    for cuts in draw(st.lists(st.lists(st.integers(0, len(text)), min_size=2, max_size=6, unique=True), max_size=8)):
        ends = sorted(cuts)
        fragments = tuple(zip(ends[::2], ends[1::2], strict=False))
        entity = Entity(draw(st.sampled_from(["A", "Bee", "<C&>"])), fragments)
        placed[Document(text, (entity,)).entities[0].key] = entity
    return Document(text, tuple(placed.values()))


@given(document=documents())
def test_text_survives_and_every_entity_is_labelled_once(document: Document) -> None:
    page = Page(render([document]))
    assert "\n".join(page.articles[0]) == document.text
    assert sorted(int(tag["data-e"]) for tag in page.of_class("tag")) == list(range(len(document.entities)))
    assert render([document]) == render([document])
