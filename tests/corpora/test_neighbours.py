from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.source_documents import neighbours_attached
from anyner.document import Document
from anyner.errors import AnynerError


def _sentence(doc: str | None, place: int | None, before: str = "") -> Document:
    return Document(f"{doc}{place}", doc=doc, sentence=place, before=before)


def test_neighbours_come_from_documents_and_pool_and_stop_at_a_gap() -> None:
    documents = [_sentence("a", 2), _sentence("a", 5), _sentence("b", 3)]
    pool = [_sentence("a", 1), _sentence("a", 3), _sentence("a", 0), _sentence("b", 1)]
    first, second, third = neighbours_attached(documents, 2, pool)
    assert (first.before, first.after) == ("a0 a1", "a3")
    assert (second.before, second.after) == ("", "")
    assert (third.before, third.after) == ("", "")
    assert neighbours_attached(documents, 1, pool)[0].before == "a1"


def test_what_has_context_or_no_place_is_unchanged() -> None:
    documents = [_sentence("a", 0, before="x"), _sentence("a", 1), _sentence(None, 2), _sentence("a", None)]
    first, second, third, fourth = neighbours_attached(documents, 3)
    assert (first.before, first.after) == ("x", "")
    assert (second.before, second.after) == ("a0", "")
    assert third is documents[2]
    assert fourth is documents[3]


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(AnynerError, match="negative"):
        neighbours_attached([], -1)


@given(places=st.sets(st.integers(0, 9)), sentences=st.integers(0, 4), split=st.integers(0, 10))
def test_against_a_plain_search(places: set[int], sentences: int, split: int) -> None:
    documents = [_sentence("d", place) for place in sorted(places) if place < split]
    pool = [_sentence("d", place) for place in places if place >= split]
    for document in neighbours_attached(documents, sentences, pool):
        place = document.sentence
        assert place is not None
        before = [n for n in range(place - sentences, place) if all(m in places for m in range(n, place))]
        after = [n for n in range(place + 1, place + 1 + sentences) if all(m in places for m in range(place + 1, n + 1))]
        assert document.before == " ".join(f"d{n}" for n in before)
        assert document.after == " ".join(f"d{n}" for n in after)
