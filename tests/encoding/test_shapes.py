"""The shape of a word says which of its characters are capitals, small letters, digits and signs, and no more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.features import in_one_casing, shape_of


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("Pain", "Xxx"),
        ("T", "X"),
        ("DNA", "XX"),
        ("p65", "x00"),
        ("NF-κB", "XX-xX"),
        ("水曜", "cc"),
        ("...", ".."),
        ("ǅ", "c"),
        ("", ""),
    ],
)
def test_examples(word: str, shape: str) -> None:
    assert shape_of(word) == shape


@given(st.text("aBx0-水", max_size=40))
def test_it_is_short_and_other_letters_of_the_same_case_change_nothing(word: str) -> None:
    assert len(shape_of(word)) <= 16
    assert shape_of(word) == shape_of(word.translate(str.maketrans("aB0", "zQ7")))
    assert shape_of(word.upper()).count("x") == 0


@pytest.mark.parametrize(
    ("text", "one"),
    [("ann met bob", True), ("ANN MET BOB", True), ("Ann met bob", False), ("12 .", False), ("nato and 3 others", True)],
)
def test_texts_in_one_casing(text: str, one: bool) -> None:
    assert in_one_casing(text.split()) == one
