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
from anyner.encoding.examples import Example
from anyner.encoding.features import FeatureVocabulary, learned_shapes, learned_tags
from anyner.errors import AnynerError
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

ALL_ON = FeatureConfig(shapes=2, pos=3, vectors="somewhere")
GIVEN = TextConfig(words="given")


def window(words: list[str], pos: list[str] | None = None) -> Window:
    return next(windows_of(Document.from_words(words, pos=pos), 0, GIVEN, 10**6, lambda found: [(1,)] * len(found)))


def vocabulary() -> FeatureVocabulary:
    return FeatureVocabulary(("NN", "VB"), ("bean", "Bean", "na"), 5, ("X", "Xxx", "xx"))


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


def test_a_hidden_word_says_nothing() -> None:
    """Whatever the hidden word was, its features are the same, and the others' are untouched."""
    found = vocabulary()
    one, other = window(["bean", "na"], ["NN", "VB"]), window(["abba", "na"], ["VB", "VB"])
    hidden = [Example.of(w, [], (), None).without(np.array([True, False]), 9).window for w in (one, other)]
    for rows in (found.tag_rows, found.vector_rows, found.shape_rows):
        assert rows([hidden[0]]).tolist() == rows([hidden[1]]).tolist() == [0, rows([one]).tolist()[1]]


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
    before = FeatureVocabulary(tags, listed, width, tags)
    before.save(folder)
    after = FeatureVocabulary.load(folder, ALL_ON)
    for name in ("shapes", "tags", "vector_words", "vector_width"):
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
        (changed(characters=["a"]), "unknown key 'characters'"),
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


def test_files_of_format_2_load(tmp_path: Path) -> None:
    vocabulary().save(tmp_path)
    changed(characters=[])(tmp_path)
    assert FeatureVocabulary.load(tmp_path, ALL_ON).shapes == vocabulary().shapes
