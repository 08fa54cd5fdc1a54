"""Texts longer than a window are read in full and merged by the documented rule; words that were not read are reported."""

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest
from same_entities import Keys, assert_same, keys

from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.encoding import pieces as pieces_module
from anyner.encoding.pieces import plain_form
from anyner.errors import AnynerError
from anyner.inference.batching import window_size
from anyner.inference.recognizer import Recognizer
from anyner.overlap import sharing_pairs
from anyner.storage.load import load
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@pytest.fixture(scope="module")
def twenty_pages() -> str:
    text = "\n".join(document.text for document in synthetic(640, seed=2))
    assert len(text.split()) > 8_000
    return text


def merged_slowly(windows: Sequence[Window], found: Sequence[Sequence[WordEntity]]) -> Keys:
    """The entities of all windows, merged by the documented rule: an entity's middle determines the window that decides on it."""
    ends = [window.first_word + len(window.words) for window in windows]
    best: Keys = {}
    for window, entities in zip(windows, found, strict=True):
        for entity in entities:
            first, last = window.first_word + entity.first, window.first_word + entity.last
            middle = (first + last) // 2
            margins = [
                (min(middle - w.first_word if n else inf, ends[n] - 1 - middle if n + 1 < len(windows) else inf), n)
                for n, w in enumerate(windows)
                if w.first_word <= middle < ends[n]
            ]
            owner = windows[max(margins)[1]]
            whole = owner.first_word <= first and last < owner.first_word + len(owner.words)
            if whole and owner is not window:
                continue
            key = (entity.label, ((window.starts[entity.first], window.ends[entity.last]),))
            best[key] = max(best.get(key) or 0.0, entity.score or 0.0)
    return best


def test_a_long_text_is_read_in_full_and_merged_by_the_rule(build: Any, documents: tuple[Document, ...]) -> None:
    small: Recognizer = build(window=48)
    text = Document("\n".join(document.text for document in documents))
    windows = small.windows([text])
    assert len(windows) > 20
    decoding = small.decoding()
    expected = merged_slowly(windows, small._read(windows, decoding))
    found = small.predict(text, batch_tokens=64)
    assert found.coverage == 1.0
    assert len(expected) > 200
    assert keys(found).keys() == expected.keys()
    for key, score in keys(found).items():
        assert score == pytest.approx(expected[key], abs=1e-5)


def test_twenty_pages(recognizer: Recognizer, twenty_pages: str) -> None:
    found = recognizer.predict(twenty_pages)
    assert found.coverage == 1.0
    assert len(found.entities) > 2000
    covered = [sum(e.start // (len(twenty_pages) // 20) == part for e in found.entities) for part in range(20)]
    assert min(covered) > 40  # entities everywhere, not only where the text begins


def test_long_and_short_documents_beside_one_another(build: Any, documents: tuple[Document, ...]) -> None:
    small: Recognizer = build(window=32)
    long = " ".join(document.text for document in documents[:30])
    texts = [documents[0].text, long, "", documents[1].text, long]
    assert_same(small.predict(texts, batch_tokens=20), [small.predict(text) for text in texts])


def test_entities_of_a_long_text_keep_the_policy(build: Any, documents: tuple[Document, ...]) -> None:
    small: Recognizer = build(window=32)
    found = small.predict(" ".join(document.text for document in documents), overlap="flat")
    assert len(found.entities) > 100
    assert not list(sharing_pairs([entity.fragments for entity in found.entities]))


def test_context_changes_what_is_read_but_not_what_is_found_in(build: Any) -> None:
    reader: Recognizer = build(context=1)
    plain = Document("Pain in the left knee.")
    with_context = Document(plain.text, before="Dr. Smith saw the patient.", after="It was swollen.")
    (window,) = reader.windows([with_context])
    assert window.words == reader.windows([plain])[0].words
    assert window.before
    assert window.after
    one, other = (reader.predict(document, thresholds={"score": 0.1}) for document in (plain, with_context))
    assert [e.score for e in one.entities] != [e.score for e in other.entities]
    assert all(entity.end <= len(plain.text) for entity in other.entities)


# --- coverage --------------------------------------------------------------------------------------------------------

LONG_WORD = "x-" * 400 + "y"


def test_coverage_counts_words_that_were_not_read_in_full(build: Any) -> None:
    reader: Recognizer = build()
    first, second = reader.predict([f"Pain in the {LONG_WORD}", "Pain in the knee"])
    assert (first.coverage, second.coverage) == (0.75, 1.0)
    assert first.to_json()["coverage"] == 0.75
    assert reader.predict(f"{LONG_WORD} knee").coverage == 0.5


@pytest.mark.parametrize("place", [0, 40, 93, 94, 95, 96, 120, 199])
@pytest.mark.parametrize("batch_tokens", [1, 16_384])
def test_coverage_counts_each_word_of_a_long_text_once(build: Any, place: int, batch_tokens: int) -> None:
    reader: Recognizer = build()
    words = ["knee"] * 200
    words[place] = LONG_WORD
    found = reader.predict(" ".join(words), batch_tokens=batch_tokens)
    assert found.coverage == pytest.approx(1 - 1 / 200)
    assert reader.predict(" ".join(words), batch_tokens=batch_tokens).coverage == found.coverage


def test_coverage_holds_when_words_leave_the_cache_in_between(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "_CACHED_WORDS", 20)
    texts = [f"Pain in the {LONG_WORD}", *(" ".join(f"w{i}n{j}" for j in range(10)) for i in range(10))]
    assert [document.coverage for document in build().predict(texts)] == [0.75] + [1.0] * 10


# --- scripts and words of every kind ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def general() -> Recognizer:
    return load("general-en", device="cpu")


@pytest.mark.parametrize(
    ("text", "unit"),
    [("Han", "中国人民在北京举行会议"), ("Korean", "한국어는 아름다운 "), ("codes", "9f8a7c6d5e4b3a21 "), ("Thai", "สวัสดีครับ")],
)
def test_the_encoder_reads_twice_as_much_of_a_text_twice_as_long(general: Recognizer, text: str, unit: str) -> None:
    def pieces(size: int) -> tuple[int, int]:
        windows = general.windows([Document((unit * size)[:size])])
        seen = own = 0
        for window in windows:
            own += sum(map(len, window.pieces[seen - window.first_word :]))
            seen = window.first_word + len(window.words)
        return sum(window_size(window) for window in windows), own

    (once, _), (twice, own) = pieces(10_000), pieces(20_000)
    assert twice <= 2.2 * once
    assert twice <= 2.2 * own, text


@pytest.mark.parametrize(
    ("person", "place"),
    [
        ("Ange\u200bla Merkel", "Ber\u200blin"),
        ("Ange\ufeffla Mer\u2060kel", "Ber\u2060lin"),
        ("An\u200dgela Mer\u200ckel", "Ber\u200dlin"),
        ("Ａｎｇｅｌａ Ｍｅｒｋｅｌ", "Ｂｅｒｌｉｎ"),
        ("Angela Mer\u00adkel", "Mün\u00adchen"),
        ("Angela Merkel", "Mu\u0308nchen"),
    ],
)
def test_invisible_characters_and_full_width_letters_do_not_hide_a_name(general: Recognizer, person: str, place: str) -> None:
    found = general.predict(f"{person} lives in {place}.")
    assert [(entity.label, entity.text) for entity in found.entities] == [("PER", person), ("LOC", place)]
    plain = general.predict(f"Angela Merkel lives in {plain_form(place)}.")
    assert [entity.score for entity in found.entities] == pytest.approx([entity.score for entity in plain.entities], abs=1e-5)


def test_a_word_of_a_million_characters_is_not_cached(general: Recognizer) -> None:
    before = sum(map(len, general.vocabulary._known))
    for letter in "abcdefgh":
        assert general.predict(letter * 1_000_000).coverage == 0.0
    assert sum(map(len, general.vocabulary._known)) == before


# --- windows that do not fit -----------------------------------------------------------------------------------------


def test_a_window_longer_than_the_encoder_is_refused_with_what_to_set(build: Any) -> None:
    with pytest.raises(AnynerError, match=r"text\.window 129 is longer than the encoder's 128; set text\.window <= 128"):
        build(window=129)
    assert build(window=128).budget == build().budget == 124


def test_the_longest_word_fits_the_smallest_window(build: Any) -> None:
    reader: Recognizer = build(window=16)
    found = reader.predict(f"Pain {LONG_WORD} in the {LONG_WORD} knee")
    assert found.coverage == pytest.approx(4 / 6)
