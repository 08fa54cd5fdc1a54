"""Thai: by a dictionary, or by characters."""

from __future__ import annotations

import sys

import pytest

from anyner.errors import AnynerError
from anyner.text.words import SplitterName, iterate_words

TEXT = "นางแมร์เคิลอยู่ที่กรุงเทพมหานคร 3 วัน(iPhoneของเธอ)"


def words(text: str, splitter: SplitterName) -> list[str]:
    return [text[start:end] for start, end in iterate_words(text, splitter)]


def test_the_dictionary_cuts_thai_and_leaves_the_rest() -> None:
    found = words(TEXT, "thai")
    assert {"นาง", "อยู่", "ที่", "กรุงเทพมหานคร", "3", "วัน", "(", "iPhone", "ของ", "เธอ", ")"} <= set(found)
    assert [word for word in found if "กรุง" in word] == ["กรุงเทพมหานคร"], "a word of the dictionary is one word"
    assert words("Angela Merkel (4.1%) 東京", "thai") == words("Angela Merkel (4.1%) 東京", "unicode")


def test_a_word_never_begins_with_a_mark() -> None:
    for splitter in ("thai", "cjk"):
        assert not any(word[0] in "ัิีึืุู็่้๊๋์" for word in words(TEXT, splitter))


@pytest.mark.parametrize("text", ["วันที่", "ບ້ານ", "ភ្នំពេញ", "မြန်မာ"])
def test_characters_with_their_marks_where_there_is_no_dictionary(text: str) -> None:
    found = words(text, "cjk")
    assert "".join(found) == text and len(found) > 1
    assert words(text, "unicode") == [text]


def test_without_the_dictionary_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pythainlp", "pythainlp.tokenize"):
        monkeypatch.setitem(sys.modules, name, None)
    assert words("no Thai", "thai") == ["no", "Thai"]
    with pytest.raises(AnynerError, match=r"pip install 'anyner\[thai\]'"):
        words(TEXT, "thai")
