"""Reading a text takes time linear in its length, whatever its script and however long its words."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from anyner.document import Document, Entity
from anyner.overlap import POLICIES, Policy
from anyner.text import windows as windows_module
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import Pieces, Window, WindowMerger, windows_of
from anyner.text.words import SplitterName, iterate_words

SCRIPTS = {
    "Han": "中国人民在北京举行会议讨论经济",
    "Kana": "ひらがなカタカナとうきょうへ",
    "half-width Kana": "ｶﾞｷﾞｱｲｳ",
    "Thai": "สวัสดีครับผมชื่อสมชาย",
    "Hangul": "한국어는아름다운언어입니다",
    "Arabic": "العربيةلغةجميلة",
    "Devanagari": "हिन्दीभाषा",
    "full-width": "Ａｎ－",
    "one letter": "a",
    "mathematical": "𝒜𝒷",
    "emoji": "👍🏽👨‍👩‍👧🇩🇪❤️",
    "marks": "a\u0301\u0323",
    "marks alone": "\u0301",
    "digits": "1,",
    "hyphens": "ab-",
    "periods": "a.b.c.d.",
    "at signs": "@",
    "hosts": "a@b-",
    "zero-width spaces": "a\u200b",
    "zero-width spaces alone": "\u200b",
    "marks of order": "a\ufeff\u2060",
    "joiners": "a\u200d",
}
ADDRESSES = {"path": "a/b?c=d&", "brackets": "a(b)[c]", "open brackets": "a(", "square brackets": "[a", "percent": "%20,"}


TRIES = 4


def seconds(work: Callable[[], object]) -> float:
    """Processor time, the smaller of two: the load of the machine matters little."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Quadratic work takes four times as long every time; a busy machine makes linear work look so now and then."""
    for _ in range(TRIES):
        once, twice = seconds(lambda: work(size)), seconds(lambda: work(2 * size))
        if twice < 3 * once + 0.02:
            return
    raise AssertionError(f"{once:.3f} s for {size:,}, {twice:.3f} s for {2 * size:,}, {TRIES} times")


def one_piece_each(words: Sequence[str]) -> list[Pieces]:
    return [(1,)] * len(words)


@pytest.mark.parametrize("splitter", ["cjk", pytest.param("unicode", marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_words_and_windows_take_linear_time(unit: str, splitter: SplitterName) -> None:
    def read(size: int) -> None:
        document = Document((unit * size)[:size])
        for window in windows_of(document, 0, TextConfig(splitter=splitter), 508, one_piece_each):
            assert window.content_key >= 0

    assert_linear(read, 20_000)


@pytest.mark.parametrize("unit", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_long_web_addresses_take_linear_time(unit: str) -> None:
    assert_linear(lambda size: list(iterate_words("https://example.org/" + (unit * size)[:size], "unicode")), 100_000)


# --- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 3, 7, 10, 12, 13, 40, 64, 127, 200, 254, 300, 508])
def test_no_text_is_read_more_than_about_twice(pieces: int) -> None:
    """Words of many pieces: a fixed number of shared words would fill the next window with what the last one read."""
    words = 1000
    made = list(windows_of(Document("w " * words), 0, TextConfig(), 508, lambda found: [tuple(range(pieces))] * len(found)))
    assert sum(len(window.words) for window in made) <= 2.5 * words
    assert all(sum(map(len, window.pieces)) <= 508 for window in made)
    shared = [one.first_word + len(one.words) - other.first_word for one, other in pairwise(made)]
    if pieces <= 5:  # an ordinary text shares 48 words
        assert set(shared) == {48}
    if pieces <= 127:  # and every text shares something
        assert min(shared) >= 1


# --- merging ---------------------------------------------------------------------------------------------------------


def chained(windows: int, size: int = 20, overlap: int = 4) -> tuple[list[Window], list[list[WordEntity]]]:
    """Windows whose entities all meet the next one, over the whole document."""
    step = size - overlap
    words = windows * step + overlap
    starts, ends = [2 * word for word in range(words)], [2 * word + 1 for word in range(words)]
    made = [
        Window(0, first, starts[first : first + size], ends[first : first + size], ["w"] * size, [(1,)] * size)
        for first in range(0, windows * step, step)
    ]
    return made, [[WordEntity("X", ((start, start + 3),), 0.5) for start in range(size - 2)] for _ in made]


def merged(made: Sequence[Window], found: Sequence[Sequence[WordEntity]], policy: Policy) -> list[Entity]:
    merger = WindowMerger(policy)
    for window, entities in zip(made, found, strict=True):
        merger.add(window, entities)
    return merger.entities()


@pytest.mark.parametrize("policy", POLICIES)
def test_entities_that_are_chained_over_a_whole_document_are_scanned_once(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    class Counted(Entity):
        __slots__ = ()

        @property
        def end(self) -> int:
            nonlocal calls
            calls += 1
            return super().fragments[-1][1]

    def counted(entity: WordEntity, starts: Sequence[int], ends: Sequence[int], text: str) -> Entity:
        return Counted(entity.label, tuple((starts[first], ends[stop - 1]) for first, stop in entity.fragments), entity.score)

    monkeypatch.setattr(windows_module, "to_characters", counted)
    made, found = chained(200)
    entities = merged(made, found, policy)
    assert len(entities) > 1000 or policy != "all"
    assert entities
    assert calls <= 2 * sum(map(len, found))


@pytest.mark.parametrize("policy", ["all", "nested"])
def test_merging_takes_linear_time(policy: Policy) -> None:
    assert_linear(lambda windows: merged(*chained(windows), policy), 400)
