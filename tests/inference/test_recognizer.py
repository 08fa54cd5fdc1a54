"""From text to entities: whatever goes in comes out as a document, the same in any batch and any order."""

import gc
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from same_entities import assert_same, keys

from anyner.architectures.settings import Decoding
from anyner.document import Document, Entity
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.recognizer import Recognizer
from anyner.overlap import Relation, resolve, sharing_pairs


@pytest.fixture(scope="module")
def predicted(recognizer: Recognizer, documents: tuple[Document, ...]) -> list[Document]:
    found = recognizer.predict([document.text for document in documents])
    assert sum(len(document.entities) for document in found) > 200
    return found


# --- batches and order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_tokens", [1, 64, 500, 16_384])
def test_the_batch_budget_changes_nothing(
    recognizer: Recognizer, documents: tuple[Document, ...], predicted: list[Document], batch_tokens: int
) -> None:
    assert_same(recognizer.predict([d.text for d in documents], batch_tokens=batch_tokens), predicted)


@pytest.mark.parametrize("together", [1, 7, 64])
def test_the_number_of_documents_in_a_call_changes_nothing(
    recognizer: Recognizer, documents: tuple[Document, ...], predicted: list[Document], together: int
) -> None:
    texts = [document.text for document in documents]
    found = [d for start in range(0, len(texts), together) for d in recognizer.predict(texts[start : start + together])]
    assert_same(found, predicted)


def test_the_order_of_documents_changes_nothing(
    recognizer: Recognizer, documents: tuple[Document, ...], predicted: list[Document]
) -> None:
    for seed in range(3):
        order = random.Random(seed).sample(range(len(documents)), len(documents))
        found = recognizer.predict([documents[i].text for i in order], batch_tokens=300)
        assert_same(found, [predicted[i] for i in order])


def test_the_same_call_gives_the_same_numbers(recognizer: Recognizer, predicted: list[Document]) -> None:
    texts = [document.text for document in predicted]
    again = recognizer.predict(texts)
    assert [d.entities for d in again] == [d.entities for d in predicted]


# --- what goes in ----------------------------------------------------------------------------------------------------


def test_one_gives_one_and_a_list_gives_a_list(recognizer: Recognizer) -> None:
    text = "Dr. Smith felt pain in the left knee."
    alone = recognizer.predict(text)
    assert isinstance(alone, Document)
    assert alone.entities
    document = Document(text, (Entity("Gold", ((0, 3),)),), id="x", doc="d", sentence=2)
    from_document = recognizer.predict(document)
    assert keys(from_document).keys() == keys(alone).keys()
    assert (from_document.id, from_document.doc, from_document.sentence) == ("x", "d", 2)
    listed = recognizer.predict([text, text])
    assert_same(listed, [alone, alone])
    assert_same(recognizer.predict([document]), [alone])
    assert recognizer.predict([]) == []
    assert_same(recognizer.predict((text,)), [alone])


def test_words_are_a_call_of_their_own(build: Any) -> None:
    given = build(words="given")
    words = ["Pain", "in", "the left", "knee."]
    document = given.predict_words(words)
    assert document.text == "Pain in the left knee."
    edges = {position for span in document.words for position in span}
    assert document.entities
    assert all(entity.start in edges and entity.end in edges for entity in document.entities)
    assert given.windows([document])[0].words == words
    assert given.predict_words([]).entities == ()


@pytest.mark.parametrize("wrong", [5, None, 3.5, b"bytes", {"text": "x"}, [1, 2], ["a", None], [["a", "b"]], [b"x"]])
def test_other_types_are_refused_in_one_line(recognizer: Recognizer, wrong: Any) -> None:
    with pytest.raises(AnynerError) as caught:
        recognizer.predict(wrong)
    assert "expected" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("wrong", "shown"), [(float("nan"), r"nan \(float\)"), (None, r"None \(NoneType\)"), (7, r"7 \(int\)")])
def test_a_wrong_text_in_a_list_is_named_before_any_is_read(
    recognizer: Recognizer, wrong: Any, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("read too early")

    monkeypatch.setattr(recognizer.runtime, "propose", read)
    with pytest.raises(AnynerError, match=rf"texts\[3\] is {shown}: expected a str or a Document"):
        recognizer.predict(["a", "b", Document("c"), wrong, "d"])
    with pytest.raises(InvalidInputError, match=r"texts\[1\]: the text has a lone surrogate"):
        recognizer.predict(["a", "\ud800"])


class Series:
    """A stand-in for the column of a table: an iterable of texts that is not a list."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


class DataFrame:
    """A stand-in for a table: it has columns, and iterates over their names."""

    def __init__(self, **columns: list[str]) -> None:
        self.columns = list(columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def test_a_table_is_refused_and_a_column_of_it_is_read(recognizer: Recognizer) -> None:
    table: Any = DataFrame(id=["1"], note=["Pain in the knee."])
    for call in (recognizer.predict, recognizer.stream):
        with pytest.raises(AnynerError, match=r"got a DataFrame with columns id, note: pass one column, as in df\[.text.\]"):
            call(table)
    texts = ["Pain in the knee.", "Dr. Smith"]
    assert_same(recognizer.predict(Series(texts)), recognizer.predict(texts))


@pytest.mark.parametrize("wrong", ["a text", Document("a"), b"x", {"a": 1}, 7])
def test_a_stream_takes_an_iterable_of_texts(recognizer: Recognizer, wrong: Any) -> None:
    with pytest.raises(AnynerError, match="expected"):
        recognizer.stream(wrong)


@pytest.mark.parametrize("wrong", ["a text", b"x", ["a", 5], [None], 5, None])
def test_words_must_be_a_list_of_words(recognizer: Recognizer, wrong: Any) -> None:
    with pytest.raises(AnynerError, match="list of words"):
        recognizer.predict_words(wrong)
    with pytest.raises(InvalidInputError, match="word 1 is empty"):
        recognizer.predict_words(["a", ""])


STRANGE = [
    "",
    " \n\t ",
    "knee",
    "👍🏽 👨‍👩‍👧 pain 🇩🇪",
    "ألم في الركبة שלום",
    "a\x00b \x00 knee\x00",
    "Pain\r\nin the\r\nknee\r\n",
    "\ufeffPain in the knee",
    "\x01\x02 \u200b \u202e",
    "東京で痛み",
    "z" * 10_000,
    "x-" * 5_000 + " knee",
    "e\u0301" * 50,
]


def test_strange_texts_give_results(recognizer: Recognizer) -> None:
    found = recognizer.predict(STRANGE, thresholds={"score": 0.1})
    assert [document.text for document in found] == STRANGE
    assert found[0].entities == found[1].entities == ()
    assert found[0].coverage == found[1].coverage == 1.0
    assert sum(len(document.entities) for document in found) > 20
    assert_same([recognizer.predict(text, thresholds={"score": 0.1}) for text in STRANGE], found)


def test_the_text_of_an_entity_is_its_slice(recognizer: Recognizer, predicted: list[Document]) -> None:
    for document in [*predicted, *recognizer.predict(STRANGE)]:
        for entity in document.entities:
            assert entity.text == " ".join(document.text[start:end] for start, end in entity.fragments)
            assert entity.text.strip() == entity.text != ""
            assert entity.score is not None
            assert 0.4 <= entity.score <= 1.0
            assert entity.label in recognizer.config.labels


def test_a_lone_surrogate_is_refused(recognizer: Recognizer) -> None:
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        recognizer.predict("pain \ud800")


# --- choices of a call -----------------------------------------------------------------------------------------------


def test_a_threshold_can_be_chosen_for_a_call(recognizer: Recognizer, predicted: list[Document]) -> None:
    texts = [document.text for document in predicted]
    strict = recognizer.predict(texts, thresholds={"score": 0.6})
    expected = [{key for key, score in keys(d).items() if (score or 0) >= 0.6} for d in predicted]
    assert [set(keys(d)) for d in strict] == expected
    assert 0 < sum(map(len, expected)) < sum(len(d.entities) for d in predicted)
    loose = recognizer.predict(texts, thresholds={"score": 0.1})
    assert all(keys(a).keys() >= keys(b).keys() for a, b in zip(loose, predicted, strict=True))
    assert recognizer.config.thresholds == {"score": 0.4}
    tenths = recognizer.predict(predicted[0].text, thresholds={"score": np.float32(0.6)})
    assert keys(tenths) == keys(recognizer.predict(predicted[0].text, thresholds={"score": float(np.float32(0.6))}))


@pytest.mark.parametrize("policy", ["all", "nested", "flat", "longest"])
def test_an_overlap_policy_can_be_chosen_for_a_call(recognizer: Recognizer, predicted: list[Document], policy: Any) -> None:
    found = recognizer.predict([document.text for document in predicted], overlap=policy)
    relations = set()
    for document, everything in zip(found, predicted, strict=True):
        if policy != "longest":  # which counts words where heads decide, not characters
            assert set(keys(document)) == {entity.key for entity in resolve(everything.entities, policy)}
        assert keys(document).keys() <= keys(everything).keys()
        relations.update(kind for *_, kind in sharing_pairs([entity.fragments for entity in document.entities]))
    if policy == "all":
        assert Relation.CROSSING in relations
    elif policy == "nested":
        assert relations
        assert Relation.CROSSING not in relations
    else:
        assert not relations


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"thresholds": {"scor": 0.5}}, "unknown threshold 'scor'; biaffine has: score"),
        ({"thresholds": {"score": 0.05}}, "threshold score: expected 0.1 to 1, got 0.05"),
        ({"thresholds": {"score": 1.5}}, "threshold score: expected 0.1 to 1, got 1.5"),
        ({"thresholds": {"score": float("nan")}}, "threshold score: expected 0.1 to 1, got nan"),
        ({"overlap": "some"}, "unknown overlap policy 'some'"),
        ({"options": {"beams": 3}}, "options: unknown key 'beams'"),
        ({"batch_tokens": 0}, "batch_tokens: expected at least 1, got 0"),
        ({"batch_tokens": "a"}, "batch_tokens: expected at least 1, got 'a'"),
        ({"thresholds": [0.5]}, "thresholds: expected {name: value}, got list"),
        ({"options": ["beam"]}, "options: expected {name: value}, got list"),
        ({"thresholds": {"score": "high"}}, "threshold score: expected a number, got 'high'"),
    ],
)
def test_wrong_choices_are_named_before_anything_is_read(recognizer: Recognizer, chosen: dict[str, Any], message: str) -> None:
    def texts() -> Iterator[str]:
        raise AssertionError("read too early")
        yield ""

    with pytest.raises(AnynerError, match=message):
        recognizer.stream(texts(), **chosen)


def test_decoding_holds_the_models_own_settings(recognizer: Recognizer) -> None:
    decoding = recognizer.decoding()
    assert isinstance(decoding, Decoding)
    assert decoding.thresholds == {"score": 0.4}
    assert decoding.policy == "all"
    assert decoding.labels == recognizer.config.labels


# --- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_keeps_the_order_with_empty_texts_in_between(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    texts = ["", documents[0].text, " ", documents[1].text, "", ""] * 20
    found = list(recognizer.stream(iter(texts), batch_tokens=16))
    assert [document.text for document in found] == texts
    assert_same(found[:6], recognizer.predict(texts[:6]))


def test_a_wrong_text_in_a_stream_is_reported_when_it_is_reached(recognizer: Recognizer) -> None:
    stream = recognizer.stream(iter(["knee", 5]), batch_tokens=1)  # type: ignore[list-item]
    with pytest.raises(AnynerError, match=r"texts\[1\] is 5 \(int\): expected a str or a Document"):
        list(stream)


def test_the_garbage_collector_pauses_only_while_a_batch_is_decoded(recognizer: Recognizer) -> None:
    seen: list[bool] = []
    decode = recognizer.model.head.decode

    def watched(*arguments: Any) -> Any:
        seen.append(gc.isenabled())
        return decode(*arguments)

    recognizer.model.head.decode = watched  # type: ignore[method-assign]
    try:
        between = [gc.isenabled() for _ in recognizer.stream(["Pain in the knee."] * 40, batch_tokens=8)]
        with pytest.raises(TypeError):
            recognizer.model.head.decode = None  # type: ignore[assignment]
            recognizer.predict("Pain in the knee.")
    finally:
        del recognizer.model.head.decode
    assert set(seen) == {False}
    assert set(between) == {True}
    assert gc.isenabled()
    gc.disable()
    try:
        recognizer.predict("Pain in the knee.")
        assert not gc.isenabled(), "it stays off if the caller turned it off"
    finally:
        gc.enable()
