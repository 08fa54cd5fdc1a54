"""Files of word vectors: every form gives the same, and a bad line is named."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from anyner.encoding.vectors import read_vectors
from anyner.errors import AnynerError

GLOVE = "the 0.5 -1 2e-1\n, 1 2 3\nKnie 4 5 6\n"
ROWS = np.array([[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6]], dtype=np.float32)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "3 3\n" + GLOVE,
        GLOVE.replace("\n", " \n"),  # word2vec ends a line with a blank
        "3 3\r\n" + GLOVE.replace("\n", "\r\n"),
        GLOVE.removesuffix("\n"),
        GLOVE + "\n",
        gzip.compress(GLOVE.encode(), mtime=0),
    ],
)
def test_text_forms(tmp_path: Path, content: str | bytes) -> None:
    found = read_vectors(written(tmp_path / "v.txt", content))
    assert found.words == ("the", ",", "Knie")
    assert found.width == 3
    assert found.matrix.dtype == np.float32
    np.testing.assert_array_equal(found.matrix[1:], ROWS)
    np.testing.assert_allclose(found.matrix[0], ROWS.mean(0), rtol=1e-6)


def test_a_matrix_with_its_words_beside_it(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS.astype(np.float64))
    written(tmp_path / "v.txt", "the\n,\nKnie\n")
    found = read_vectors(tmp_path / "v.npy")
    assert found.words == ("the", ",", "Knie")
    np.testing.assert_array_equal(found.matrix[1:], ROWS)


def test_of_a_word_that_comes_twice_the_first_is_kept(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path / "v.txt", "3 1\na 1\na 5\nb 3\n"))
    assert (found.words, found.matrix[:, 0].tolist()) == (("a", "b"), [2, 1, 3])


def test_words_may_hold_blanks_and_look_like_numbers(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path / "v.txt", "the 1 2\n. . . 3 4\n7 5 6\n水 7 8\n\u3000 9 9\n"))
    assert found.words == ("the", ". . .", "7", "水", "\u3000")


def test_more_rows_than_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.encoding.vectors._ROWS_AT_ONCE", 7)
    found = read_vectors(written(tmp_path / "v.txt", "".join(f"w{i} {i} {-i}\n" for i in range(50))))
    assert found.matrix[1:, 0].tolist() == list(range(50))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", ":2: 'b 1' is not a word and 2 finite numbers"),
        ("a 1 2\nb 1 x\n", ":2: 'b 1 x' is not"),
        ("a 1 2\nb 1 nan\n", ":2: 'b 1 nan' is not"),
        ("a 1 2\nb 1 1e60\n", ":2: 'b 1 1e60' is not"),
        ("a 1 2\n 1 2\n", ":2: ' 1 2' is not"),
        ("2 3\na 1 2 3\nb 1 2\n", ":3: 'b 1 2' is not"),
        ("3 1\na 1\n", "says 3 words, but there are 1"),
        ("alone\n", ":1: 'alone' is neither"),
        ("", ":1: '' is neither"),
        ("0 3\n", "has no word vectors"),
        (b"a 1 2\n\xff 1 2\n", ":2: not UTF-8"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = written(tmp_path / "v.txt", content)
    with pytest.raises(AnynerError) as caught:
        read_vectors(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("matrix", "words", "message"),
    [
        (ROWS, "a\nb\n", "3 rows, but v.txt has 2 words"),
        (ROWS[0], "a\nb\nc\n", "expected a matrix of numbers"),
        (np.array([["x"]]), "a\n", "expected a matrix of numbers"),
        (ROWS * np.inf, "a\nb\nc\n", "row 0 ('a') has a number that is not finite"),
        (np.array([[{}]], dtype=object), "a\n", "not a .npy matrix"),
        (ROWS, "a\n\nc\n", "v.txt:2: no word"),
    ],
)
def test_a_bad_matrix_is_one_line(tmp_path: Path, matrix: np.ndarray, words: str, message: str) -> None:
    np.save(tmp_path / "v.npy", matrix)
    written(tmp_path / "v.txt", words)
    with pytest.raises(AnynerError) as caught:
        read_vectors(tmp_path / "v.npy")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="no such file"):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(AnynerError, match="is a folder"):
        read_vectors(tmp_path)
    written(tmp_path / "short.npy", b"\x93NUMPY")
    written(tmp_path / "short.txt", "a\n")
    with pytest.raises(AnynerError, match=r"not a \.npy matrix"):
        read_vectors(tmp_path / "short.npy")
