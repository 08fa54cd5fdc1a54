"""Entities and documents refuse what does not fit, and keep one canonical form of what does."""

import copy
import pickle
import tracemalloc
from dataclasses import FrozenInstanceError, asdict, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.errors import AnynerError, InvalidInputError
from anyner.fragments import Fragments, canonical_fragments

positions = st.sets(st.integers(0, 24), min_size=1)


def runs(covered: set[int]) -> Fragments:
    """The maximal runs of a set of positions, found the slow way."""
    starts = [p for p in sorted(covered) if p - 1 not in covered]
    ends = [p + 1 for p in sorted(covered) if p + 1 not in covered]
    return tuple(zip(starts, ends, strict=True))


@given(positions)
def test_canonical_fragments_are_the_maximal_runs_of_what_is_covered(covered: set[int]) -> None:
    assert canonical_fragments([(p, p + 1) for p in sorted(covered)]) == runs(covered)
    assert canonical_fragments(runs(covered)) == runs(covered)


@pytest.mark.parametrize(
    "fragments", [[], [(3, 3)], [(4, 2)], [(-1, 2)], [(0, 4), (3, 6)], [(5, 6), (0, 2)], [(0, 4), (0, 4)], [(0, 9), (2, 3)]]
)
def test_bad_fragments_are_refused_in_one_line(fragments: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Entity("X", tuple(fragments))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, AnynerError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("label", ["", "  ", None, 3])
def test_a_label_is_needed(label: object) -> None:
    with pytest.raises(InvalidInputError, match="label"):
        Entity(label, ((0, 1),))  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "0.5"])
def test_a_score_is_a_finite_number(score: Any) -> None:
    with pytest.raises(AnynerError, match="score: expected a finite number"):
        Entity("A", ((0, 1),), score)
    assert Entity("A", ((0, 1),), np.float32(0.5)).to_json()["score"] == 0.5


def test_an_entity_knows_its_extent_and_is_frozen() -> None:
    entity = Entity("X", ((0, 4), (4, 6), (12, 15)), score=0.25)
    assert entity.fragments == ((0, 6), (12, 15))
    assert (entity.start, entity.end, entity.discontinuous) == (0, 15, True)
    assert entity.key == ("X", ((0, 6), (12, 15))) == replace(entity, score=0.5).key
    assert entity != replace(entity, score=0.5)
    with pytest.raises(FrozenInstanceError):
        entity.label = "Y"  # type: ignore[misc]


def test_a_document_gives_its_entities_their_text_in_reading_order() -> None:
    text = "pain in the hip and the knees"
    listed = [Entity("D", ((0, 4), (20, 29))), Entity("B", ((12, 15),)), Entity("D", ((0, 15),)), Entity("B", ((20, 29),))]
    document = Document(text, tuple(listed))
    assert [e.text for e in document.entities] == ["pain the knees", "pain in the hip", "hip", "the knees"]
    assert list(document.entities) == sorted(document.entities, key=lambda e: (e.start, -e.end, e.fragments, e.label))
    assert document == Document(text, tuple(reversed(listed)))


def test_fragments_that_only_white_space_separates_are_one() -> None:
    document = Document("chest \n\tpain now", (Entity("D", ((0, 5), (8, 12), (13, 16))),))
    assert document.entities[0].fragments == ((0, 16),)
    assert document.entities[0].text == "chest \n\tpain now"
    kept = Document("a-b", (Entity("D", ((0, 1), (2, 3))),))
    assert kept.entities[0].fragments == ((0, 1), (2, 3))


def test_a_text_from_elsewhere_never_stays_on_an_entity() -> None:
    assert Document("abcd", (Entity("X", ((1, 3),), text="zz"),)).entities[0].text == "bc"


def nested(count: int) -> Document:
    return Document("x" * 2 * count, tuple(Entity("X", ((place, 2 * count - place),)) for place in range(count)))


def test_nested_entities_share_the_text_of_their_document() -> None:
    tracemalloc.start()
    try:
        document = nested(3000)
        again = document.with_entities(document.entities)
        copied = pickle.loads(pickle.dumps(document))
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()
    assert document == again == copied
    assert [len(entity.text) for entity in copied.entities] == list(range(6000, 0, -2))


def test_an_entity_is_the_dataclass_it_looks_like() -> None:
    placed = Document("pain in the hip", (Entity("D", ((0, 4), (12, 15)), 0.5),)).entities[0]
    assert [one.name for one in fields(placed)] == ["label", "fragments", "score", "text"]
    assert asdict(placed) == {"label": "D", "fragments": ((0, 4), (12, 15)), "score": 0.5, "text": "pain hip"}
    assert repr(placed) == "Entity(label='D', fragments=((0, 4), (12, 15)), score=0.5, text='pain hip')"
    assert placed == Entity("D", ((0, 4), (12, 15)), 0.5, "other") and hash(placed) == hash(Entity(*placed.key, 0.5))
    assert (Entity("D", ((0, 4),)).text, Entity("D", ((0, 4),), None, "pain").text) == ("", "pain")
    for same in (copy.copy(placed), copy.deepcopy(placed), pickle.loads(pickle.dumps(placed)), replace(placed, score=0.5)):
        assert (same, same.text) == (placed, "pain hip")
    assert replace(placed, text="x").text == "x"
    for name in ("label", "text", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(placed, name, "Y")
    assert not hasattr(placed, "__dict__")


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"lone surrogate at character [01]"):
        Document(text)


def test_entities_outside_the_text_and_duplicates_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="ends after the text's 3 characters"):
        Document("abc", (Entity("X", ((1, 4),)),))
    with pytest.raises(InvalidInputError, match="duplicate entity X"):
        Document("abc", (Entity("X", ((1, 2),), 0.1), Entity("X", ((1, 2),), 0.2)))
    with pytest.raises(InvalidInputError, match="duplicate entity X"):
        Document("a b", (Entity("X", ((0, 1), (2, 3))), Entity("X", ((0, 3),))))
    assert len(Document("abc", (Entity("X", ((1, 2),)), Entity("Y", ((1, 2),)))).entities) == 2


@pytest.mark.parametrize("words", [((0, 4),), ((1, 1),), ((2, 1),), ((1, 2), (0, 1)), ((0, 2), (1, 3)), ((-1, 1),)])
def test_given_words_must_lie_in_order_inside_the_text(words: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(InvalidInputError, match="word"):
        Document("abc", words=words)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=6), st.data())
def test_from_words_joins_with_one_space_and_counts_words(words: list[str], data: st.DataObject) -> None:
    entities = []
    if words:
        first = data.draw(st.integers(0, len(words) - 1))
        last = data.draw(st.integers(first, len(words) - 1))
        entities = [Entity("X", ((first, last + 1),), 0.5)]
    document = Document.from_words(words, entities, id="d")
    assert document.text == " ".join(words)
    assert document.words is not None
    assert [document.text[start:end] for start, end in document.words] == words
    assert [e.text for e in document.entities] == [" ".join(words[e.start : e.end]) for e in entities]
    assert document.id == "d"


def test_from_words_refuses_an_empty_word_and_an_entity_behind_the_last() -> None:
    with pytest.raises(InvalidInputError, match="word 1 is empty"):
        Document.from_words(["a", "", "b"])
    with pytest.raises(InvalidInputError, match="after the last of 2 words"):
        Document.from_words(["a", "b"], [Entity("X", ((1, 3),))])


def test_with_entities_changes_entities_and_coverage_only() -> None:
    document = Document("a bc", (Entity("X", ((0, 1),)),), id="7", doc="D", sentence=3, before="x", labels=frozenset({"X"}))
    other = document.with_entities([Entity("Y", ((2, 4),), 0.5)], coverage=0.5)
    assert [(e.label, e.text, e.score) for e in other.entities] == [("Y", "bc", 0.5)]
    assert (other.id, other.doc, other.sentence, other.before, other.coverage) == ("7", "D", 3, "x", 0.5)
    assert [e.label for e in document.entities] == ["X"]
    with pytest.raises(InvalidInputError):
        document.with_entities([Entity("Y", ((2, 5),))])


def test_the_json_form_holds_what_is_set_and_nothing_else() -> None:
    plain = Document("a bc", (Entity("X", ((0, 1),), 0.12345678),)).to_json()
    assert plain == {
        "id": "",
        "text": "a bc",
        "entities": [{"label": "X", "fragments": [[0, 1]], "text": "a", "score": 0.123457}],
    }
    full = Document("a", id="i", doc="d", sentence=0, labels=frozenset({"Z", "A"})).with_entities([], coverage=0.5).to_json()
    assert full == {"id": "i", "text": "a", "entities": [], "doc": "d", "sentence": 0, "labels": ["A", "Z"], "coverage": 0.5}


def test_predictions_that_only_a_white_space_word_separated_become_the_better_one() -> None:
    document = Document.from_words(["left", "\u2028", "knee"])
    apart = Entity("BodyPart", ((0, 4), (7, 11)), 0.9)
    whole = Entity("BodyPart", ((0, 11),), 0.4)
    assert [(e.fragments, e.score) for e in document.with_entities([apart, whole]).entities] == [(((0, 11),), 0.9)]
    assert [(e.fragments, e.score) for e in document.with_entities([whole, apart]).entities] == [(((0, 11),), 0.9)]


@pytest.mark.parametrize("fragments", [(0, 5), 5, None, "ab", ((0.5, 5),), ((0, 1, 2),), (("0", "5"),)])
def test_fragments_of_anything_else_are_refused(fragments: Any) -> None:
    with pytest.raises(InvalidInputError, match="fragment"):
        Entity("A", fragments)


def test_whole_numbers_of_other_kinds_are_whole_numbers() -> None:
    assert Entity("A", ((np.int64(0), np.int32(4)),)) == Entity("A", ((0, 4),))  # type: ignore[arg-type]
    assert type(Entity("A", ((np.int64(0), 4),)).start) is int  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [((0,),), (("a", "b"),), (1, 2), 3])
def test_words_of_anything_else_are_refused(words: Any) -> None:
    with pytest.raises(InvalidInputError, match="words: expected pairs of whole numbers"):
        Document("abc", words=words)


def test_entities_are_entities() -> None:
    with pytest.raises(InvalidInputError, match="entities: expected Entity objects, got str"):
        Document("abc", ("X",))  # type: ignore[arg-type]


def test_a_text_is_a_str() -> None:
    with pytest.raises(InvalidInputError, match="text: expected str, got NoneType"):
        Document(None)  # type: ignore[arg-type]


def test_of_equal_entities_the_best_score_stays_and_no_score_is_the_lowest() -> None:
    document = Document("aspirin")
    entities = [Entity("Drug", ((0, 7),), score) for score in (None, -2.0, -1.0)]
    for order in (entities, entities[::-1]):
        assert [entity.score for entity in document.with_entities(order).entities] == [-1.0]
