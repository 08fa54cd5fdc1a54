"""The vocabularies of the word features: words become rows, hidden ones do not, and the files come back equal."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.document import Document
from anyner.encoding.config import FeatureConfig
from anyner.encoding.features import END, FeatureVocabulary, learned_characters, learned_shapes, learned_tags
from anyner.encoding.gold import Example
from anyner.errors import AnynerError
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

ALL_ON = FeatureConfig(characters=4, shapes=2, pos=3, vectors="somewhere")
GIVEN = TextConfig(words="given")


def window(words: list[str], pos: list[str] | None = None) -> Window:
    return next(windows_of(Document.from_words(words, pos=pos), 0, GIVEN, 10**6, lambda found: [(1,)] * len(found)))


def vocabulary() -> FeatureVocabulary:
    return FeatureVocabulary("aben水", ("NN", "VB"), ("bean", "Bean", "na"), 5, ("X", "Xxx", "xx"))


def spelling(found: FeatureVocabulary, one: Window) -> list[list[int]]:
    spelt = found.spelt([one])
    return [spelt.characters[row, : spelt.lengths[row]].tolist() for row in spelt.word_of]


def test_vectors_are_those_of_the_word_as_it_stands_then_in_small_letters() -> None:
    rows = vocabulary().vector_rows([window(["bean", "Bean", "BEAN"]), window(["NA", "nab"])])
    assert rows.tolist() == [1, 2, 1, 3, 0]


def test_tags_have_rows_and_what_has_none_is_unknown() -> None:
    found = vocabulary()
    assert found.tag_rows([window(["a", "b", "c"], ["VB", "XX", "NN"]), window(["a"])]).tolist() == [2, 0, 1, 0]


def test_shapes_have_rows_and_rare_ones_share_one() -> None:
    assert vocabulary().shape_rows([window(["Bean", "bean", "BEAN"]), window(["A", "na"])]).tolist() == [2, 3, 0, 1, 3]
    documents = [Document.from_words(["a"] * 8 + ["B"] * 7)]
    assert learned_shapes(documents, GIVEN) == ("x",)
    assert learned_shapes([Document.from_words(["a"])], GIVEN) == ("x",)


def test_characters_end_with_the_end_and_unknown_ones_share_a_row() -> None:
    assert spelling(vocabulary(), window(["ab", "水", "xb"])) == [[3, 4, END], [7, END], [1, 4, END]]


@settings(deadline=None)
@given(st.lists(st.lists(st.text("abenxy水", min_size=1, max_size=9), min_size=1, max_size=6), min_size=1, max_size=4))
def test_every_distinct_word_is_spelt_once_longest_first(sentences: list[list[str]]) -> None:
    found, windows = vocabulary(), [window(words) for words in sentences]
    spelt = found.spelt(windows)
    flat = [word for words in sentences for word in words]
    assert spelt.characters.shape == (len(set(flat)), max(map(len, flat)) + 1)
    assert list(spelt.lengths) == sorted(spelt.lengths, reverse=True)
    assert (spelt.characters != 0).sum(1).tolist() == list(spelt.lengths)
    alone = [rows for one in windows for rows in spelling(found, one)]
    assert [spelt.characters[row, : spelt.lengths[row]].tolist() for row in spelt.word_of] == alone


def test_a_word_of_any_length_is_read_in_bounded_room() -> None:
    spelt = vocabulary().spelt([window(["a" * 100_000 + "b", "a"])])
    assert spelt.characters.shape == (2, 65)
    assert spelt.characters[0, -2:].tolist() == [4, END]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.encoding.features._REMEMBERED", 10)
    found = vocabulary()
    for number in range(30):
        assert spelling(found, window([f"a{number}", "ab"]))[1] == [3, 4, END]
        assert len(found._spellings) <= 10


def test_a_hidden_word_says_nothing() -> None:
    """Whatever the hidden word was, its features are the same, and the others' are untouched."""
    found = vocabulary()
    one, other = window(["bean", "na"], ["NN", "VB"]), window(["abba", "na"], ["VB", "VB"])
    hidden = [Example.of(w, [], (), None).without(np.array([True, False]), 9).window for w in (one, other)]
    for rows in (found.tag_rows, found.vector_rows, found.shape_rows):
        assert rows([hidden[0]]).tolist() == rows([hidden[1]]).tolist() == [0, rows([one]).tolist()[1]]
    assert spelling(found, hidden[0]) == spelling(found, hidden[1]) == [[1, END], spelling(found, one)[1]]


def test_characters_are_learned_from_words_of_any_script() -> None:
    documents = [Document("水 b?"), Document("äb 水\n")]
    assert learned_characters(documents, TextConfig(splitter="cjk")) == ("?", "b", "ä", "水")


def test_rare_tags_are_not_learned() -> None:
    documents = [Document.from_words(list("abc"), pos=["NN", "NN", "VB"]), Document.from_words(["a"])]
    assert learned_tags(documents, GIVEN, 1) == ("NN", "VB")
    assert learned_tags(documents, GIVEN, 2) == ("NN",)
    with pytest.raises(AnynerError, match=r"no tag is seen 3 times.*pos_least_count"):
        learned_tags(documents, GIVEN, 3)


def test_without_tags_there_is_nothing_to_learn() -> None:
    tagged = Document.from_words(["a"], pos=["NN"])
    with pytest.raises(AnynerError, match=r"set text\.words to given"):
        learned_tags([tagged], TextConfig(), 1)
    with pytest.raises(AnynerError, match="no training document has part-of-speech tags"):
        learned_tags([replace(tagged, pos=None)], GIVEN, 1)


words = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1), min_size=1, unique=True)


@settings(deadline=None)
@given(words, words, st.integers(1, 9))
def test_the_files_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, tags: list[str], listed: list[str], width: int
) -> None:
    folder = tmp_path_factory.mktemp("features")
    before = FeatureVocabulary(sorted(set("".join(listed))), tags, listed, width, tags)
    before.save(folder)
    after = FeatureVocabulary.load(folder, ALL_ON)
    for name in ("characters", "shapes", "tags", "vector_words", "vector_width"):
        assert getattr(after, name) == getattr(before, name)


def test_only_what_is_in_use_is_written(tmp_path: Path) -> None:
    FeatureVocabulary(tags=["NN"]).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["features.json"]
    assert FeatureVocabulary.load(tmp_path, FeatureConfig(pos=2)).tags == ("NN",)


def changed(**changes: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "features.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("breaking", "message"),
    [
        (lambda folder: (folder / "features.json").unlink(), "no features.json"),
        (lambda folder: (folder / "features.json").write_text("{", encoding="utf-8"), "not valid JSON"),
        (lambda folder: (folder / "features.json").write_text("[]", encoding="utf-8"), "not the vocabularies"),
        (lambda folder: (folder / "features.json").write_bytes(b"\xff"), "not valid JSON"),
        (lambda folder: (folder / "vectors.txt").unlink(), "no vectors.txt"),
        (lambda folder: (folder / "vectors.txt").write_bytes(b"\xff"), "not UTF-8"),
        (lambda folder: (folder / "vectors.txt").write_text("a\na\n", encoding="utf-8"), "distinct words"),
        (lambda folder: (folder / "vectors.txt").write_text("a\n\nb\n", encoding="utf-8"), "distinct words"),
        (changed(more=1), "unknown key 'more'"),
        (changed(characters="abc"), "'characters'"),
        (changed(characters=["ab"]), "not one character"),
        (changed(characters=["a", "a"]), "'characters'"),
        (changed(characters=[]), "not what config.json says"),
        (changed(shapes=[]), "'shapes'"),
        (changed(shapes=["x", "x"]), "'shapes'"),
        (changed(tags=[1]), "'tags"),
        (changed(tags=[""]), "'tags'"),
        (changed(vector_width=0), "'vector_width'"),
        (changed(vector_width=-1), "'vector_width'"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path: Path, breaking: Callable[[Path], object], message: str) -> None:
    vocabulary().save(tmp_path)
    breaking(tmp_path)
    with pytest.raises(AnynerError) as caught:
        FeatureVocabulary.load(tmp_path, ALL_ON)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
