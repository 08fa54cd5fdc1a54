"""The page of an evaluation: it has all errors, escapes text and is self-contained."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from random_documents import documents

from anyner.document import Document, Entity
from anyner.evaluation.compare import compare_documents
from anyner.evaluation.evaluate import evaluate_documents
from anyner.view.report import write_comparison, write_report

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}<!--"


class Page(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, Any] = {}
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or "" if tag == "script" else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == "script" else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "cases":
            self.data = json.loads(data)


def report(gold: list[Document], predicted: list[Document]) -> str:
    file = io.StringIO()
    write_report(evaluate_documents(gold, predicted, resamples=20), file, EVIL, EVIL)
    return file.getvalue()


def joined(lines: list[list[Any]]) -> str:
    return "\n".join("".join(part if isinstance(part, str) else part[0] for part in line) for line in lines)


@given(document=documents(), seed=st.randoms(use_true_random=False))
def test_every_error_is_in_the_page(document: Document, seed: Any) -> None:
    kept = [entity for entity in document.entities if seed.random() < 0.5]
    moved = [Entity("A", ((entity.start, max(entity.end - 1, entity.start + 1)),), 0.5) for entity in document.entities]
    predicted = document.with_entities([*kept, *(one for one in moved if seed.random() < 0.5)])
    evaluation = evaluate_documents([document], [predicted], resamples=20)
    page = Page(report([document], [predicted]))
    assert [case["kind"] for case in page.data["cases"]] == [case.cause.value for case in evaluation.errors]
    for case, error in zip(page.data["cases"], evaluation.errors, strict=True):
        drawn = [joined(side) for side in case["sides"]]
        assert len(set(drawn)) == 1
        for side, entities in zip(case["sides"], (error.gold, error.predicted), strict=True):
            stressed = [
                part for line in side for segment in line if not isinstance(segment, str) for part in segment[2] if part[2] < 4
            ]
            assert len(stressed) >= len(entities)


def test_text_of_a_corpus_is_escaped() -> None:
    gold = Document(f"Rome {EVIL}", (Entity(EVIL, ((0, 4),)), Entity("B", ((5, 9),)), Entity("C", ((0, 4),))), id=EVIL)
    predicted = gold.with_entities([Entity(EVIL, ((0, 3),), 0.5), Entity("B", ((5, 9),), 0.9)])
    source = report([gold], [predicted])
    page = Page(source)
    names = [name for name, _ in page.elements]
    assert names.count("script") == 2 and "img" not in names
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not [one for one, attributes in page.elements if {"src", "href"} & attributes.keys()]
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|http-equiv", "", source) and "url(" not in source
    assert ">49<" not in source and page.data["cases"][0]["id"] == EVIL


def test_contents_of_the_page() -> None:
    gold = Document("Rome and Oslo", (Entity("LOC", ((0, 4),)), Entity("LOC", ((9, 13),))), id="one")
    predicted = gold.with_entities([Entity("LOC", ((0, 4),), 0.9), Entity("PER", ((9, 13),), 0.6)])
    source = report([gold], [predicted])
    for title in ("Precision and recall over thresholds", "Reliability (calibration", "F1 by length", "F1 by nesting depth"):
        assert title in source
    assert "Confusion between labels" in source and "95 % interval" in source
    (case,) = Page(source).data["cases"]
    assert (case["kind"], case["labels"], case["said"]) == ("type", ["LOC", "PER"], 'LOC "Oslo" → PER 0.60 "Oslo"')
    assert "lenient_ends" in source and "right boundary: recall" in source and "left out" not in source
    assert "no scores" in report([gold], [gold])
    assert "no scores" not in report([gold], [Document(gold.text)])


def test_a_long_document_is_shown_around_the_error() -> None:
    text = "word " * 5000
    gold = Document(text, (Entity("A", ((10_000, 10_004),)), Entity("B", ((0, 20_000),))))
    page = Page(report([gold], [Document(text)]))
    assert [len(joined(case["sides"][0])) < 1300 for case in page.data["cases"]] == [True, True]


def test_an_excerpt_shows_that_its_line_goes_on() -> None:
    text = "one\n" + "word " * 100 + "end\ntwo"
    gold = Document(text, (Entity("A", ((4, 8),)), Entity("A", ((249, 253),)), Entity("A", ((504, 507),))))
    cases = Page(report([gold], [Document(text)])).data["cases"]
    edges = [(joined(case["sides"][0])[:5], joined(case["sides"][0])[-5:]) for case in cases]
    assert edges == [("word ", "ord …"), ("… wor", "ord …"), ("… wor", "d end")]


def test_rare_labels_left_out_of_the_confusion_matrix_are_counted() -> None:
    labels = [f"L{number:02d}" for number in range(30)]
    gold = Document("word " * 30, tuple(Entity(label, ((5 * place, 5 * place + 4),)) for place, label in enumerate(labels)))
    assert "Only the 24 most frequent labels are shown; 6 are left out." in report([gold], [gold])


def test_a_comparison_shows_both_systems() -> None:
    gold = Document("Rome and Oslo", (Entity("LOC", ((0, 4),)), Entity(EVIL, ((9, 13),))), id="one")
    file = io.StringIO()
    write_comparison(compare_documents([gold], [gold], [Document(gold.text)], resamples=20), file, (EVIL, "b"))
    page = Page(file.getvalue())
    assert page.data["sides"] == ["gold", "A", "B"] and len(page.data["cases"]) == 2
    assert page.data["cases"][0]["kind"] == "only A found it"
    assert [name for name, _ in page.elements].count("script") == 2
