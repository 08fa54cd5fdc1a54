"""Windows cover every word, keep to their budget and overlap as documented; merged entities follow the documented rule."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.overlap import POLICIES, Policy, resolve
from anyner.text import windows as windows_module
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import Pieces, Window, WindowMerger, windows_of, words_of


def cut(words: Sequence[str]) -> list[Pieces]:
    """One piece a character: a word's length is its cost."""
    return [tuple(map(ord, word)) for word in words]


def windows(document: Document, budget: int, overlap: int = 48, context: int = 96) -> list[Window]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "_SHARED_WORDS", overlap)
        patch.setattr(windows_module, "_MOST_CONTEXT", context)
        return list(windows_of(document, 5, TextConfig(splitter="whitespace"), budget, cut))


word_lists = st.lists(st.text("abc", min_size=1, max_size=6), max_size=60)


@given(word_lists, st.integers(1, 20), st.integers(0, 8), st.sampled_from([1, 3, 4096]))
def test_windows_cover_all_words_in_order_within_budget(words: list[str], budget: int, overlap: int, chunk: int) -> None:
    document = Document(" ".join(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "_CHUNK", chunk)
        made = windows(document, budget, overlap=overlap)
    position = 0
    for window in made:
        size = len(window.words)
        assert window.document == 5
        assert size >= 1
        assert window.words == words[window.first_word : window.first_word + size]
        assert [document.text[a:b] for a, b in zip(window.starts, window.ends, strict=True)] == window.words
        assert window.pieces == cut(window.words)
        assert sum(map(len, window.words)) <= budget or size == 1
        assert window.first_word <= position < window.first_word + size
        position = window.first_word + size
    assert position == len(words)
    for one, other in pairwise(made):
        stop = one.first_word + len(one.words)
        shared = stop - other.first_word
        assert 0 <= shared <= min(overlap, len(one.words) - 1)
        room = min(budget - len(words[stop]), sum(map(len, one.words)) // 2)
        if shared < min(overlap, len(one.words) - 1):  # fewer only where the next word needs the room, or for half a window
            larger = min(overlap, len(one.words) - 1)
            while larger // 2 > shared:
                larger //= 2
            assert sum(map(len, words[stop - larger : stop])) > room
        assert sum(map(len, one.words)) + len(words[stop]) > budget  # and no window is cut before it must be


@given(word_lists)
def test_what_fits_is_one_window(words: list[str]) -> None:
    made = windows(Document(" ".join(words)), sum(map(len, words)) or 1)
    assert [window.words for window in made] == ([words] if words else [])
    assert all(window.first_word == 0 for window in made)


def test_an_empty_or_blank_text_gives_no_window() -> None:
    assert windows(Document(""), 9) == windows(Document(" \n\t "), 9) == []


def test_cutting_is_lazy() -> None:
    asked: list[int] = []

    def counting(words: Sequence[str]) -> list[Pieces]:
        asked.append(len(words))
        return cut(words)

    text = "ab " * 100_000
    made = windows_of(Document(text), 0, TextConfig(splitter="whitespace"), 100, counting)
    next(made)
    assert sum(asked) <= 2 * windows_module._CHUNK


def test_given_words_are_used_only_where_the_settings_say_so() -> None:
    document = Document.from_words(["a-b", "c.", "d e"])
    assert list(words_of(document, TextConfig(words="given"))) == [(0, 3), (4, 6), (7, 10)]
    split = [document.text[a:b] for a, b in words_of(document, TextConfig())]
    assert split == ["a-b", "c", ".", "d", "e"]
    assert list(words_of(Document("a b"), TextConfig(words="given"))) == [(0, 1), (2, 3)]


def test_the_content_key_depends_on_the_words_alone() -> None:
    here, there = windows(Document("ab  cd"), 99)[0], windows(Document("\nab cd", before="x"), 99)[0]
    other = windows(Document("abc d"), 99)[0]
    assert here.content_key == there.content_key != other.content_key
    assert 0 <= here.content_key < 2**64


def characters(pieces: Pieces) -> str:
    return "".join(map(chr, pieces))


@given(word_lists, word_lists, word_lists.filter(bool), st.integers(0, 40), st.integers(0, 12))
def test_context_is_the_nearest_words_within_budget(
    before: list[str], after: list[str], words: list[str], spare: int, most: int
) -> None:
    budget = sum(map(len, words)) + spare
    document = Document(" ".join(words), before=" ".join(before), after=" ".join(after))
    (window,) = windows(document, budget, context=most)
    got_before, got_after = characters(window.before), characters(window.after)
    assert len(got_before) <= most
    assert len(got_after) <= most
    assert len(got_before) + len(got_after) <= spare
    befores = ["".join(before[i:]) for i in range(len(before) + 1)]
    afters = ["".join(after[:i]) for i in range(len(after) + 1)]
    assert got_before in befores
    assert got_after in afters
    after_room = min(most, spare // 2 if before else spare)
    assert got_after == max((a for a in afters if len(a) <= after_room), key=len)
    before_room = min(most, spare - len(got_after))
    assert got_before == max((b for b in befores if len(b) <= before_room), key=len)


def test_context_goes_to_the_ends_of_a_long_document_only() -> None:
    made = windows(Document("aa bb cc dd e", before="x", after="y"), 4, overlap=0)
    assert [window.words for window in made] == [["aa", "bb"], ["cc", "dd"], ["e"]]
    assert [characters(window.after) for window in made] == ["", "", "y"]
    assert all(window.before == () for window in made)


def test_neighbours_are_split_at_white_space_where_words_are_given_and_by_the_splitter_elsewhere() -> None:
    seen: list[str] = []

    def noting(words: Sequence[str]) -> list[Pieces]:
        seen.extend(words)
        return cut(words)

    def read(document: Document, words: Literal["split", "given"]) -> list[str]:
        seen.clear()
        list(windows_of(document, 0, TextConfig(words=words), 50, noting))
        return list(seen)

    at_spaces, by_splitter = ["a", "b", "T-cell", "(x)", "."], ["a", "b", "T-cell", "(", "x", ")", "."]
    with_words = replace(Document.from_words(["a", "b"]), before="T-cell (x) .")
    assert read(with_words, "given") == at_spaces
    assert read(with_words, "split") == by_splitter
    assert read(Document("a b", before="T-cell (x) ."), "given") == by_splitter


# --- merging ---------------------------------------------------------------------------------------------------------


def merged(made: Sequence[Window], found: Sequence[Sequence[WordEntity]], policy: Policy) -> set[tuple[object, float | None]]:
    merger = WindowMerger(policy)
    for window, entities in zip(made, found, strict=True):
        merger.add(window, entities)
    listed = merger.entities()
    assert len({entity.key for entity in listed}) == len(listed)
    return {(entity.key, entity.score) for entity in listed}


def owner(made: Sequence[Window], middle: int) -> int:
    """The window in which a word lies farthest from the edges where text is cut off; the later of two equal ones."""

    def margin(number: int) -> float:
        window = made[number]
        left = middle - window.first_word if number else inf
        right = window.first_word + len(window.words) - 1 - middle if number < len(made) - 1 else inf
        return min(left, right)

    return max(range(len(made)), key=lambda number: (margin(number), number))


def merged_slowly(
    made: Sequence[Window], found: Sequence[Sequence[WordEntity]], policy: Policy
) -> set[tuple[object, float | None]]:
    """The documented rule, written out over all windows."""
    best: dict[object, Entity] = {}
    for number, (window, entities) in enumerate(zip(made, found, strict=True)):
        for entity in entities:
            first, last = window.first_word + entity.first, window.first_word + entity.last
            decides = made[owner(made, (first + last) // 2)]
            seen_whole = decides.first_word <= first and last < decides.first_word + len(decides.words)
            if seen_whole and decides is not made[number]:
                continue
            fragments = tuple((window.starts[a], window.ends[b - 1]) for a, b in entity.fragments)
            placed = Entity(entity.label, fragments, entity.score)
            if placed.key not in best or (best[placed.key].score or 0.0) < (placed.score or 0.0):
                best[placed.key] = placed
    return {(entity.key, entity.score) for entity in resolve(list(best.values()), policy)}


@st.composite
def window_entities(draw: st.DrawFn, window: Window) -> list[WordEntity]:
    found: dict[object, WordEntity] = {}
    for _ in range(draw(st.integers(0, 4))):
        covered = draw(st.sets(st.integers(0, len(window.words) - 1), min_size=1, max_size=4))
        if draw(st.booleans()):
            covered = set(range(min(covered), max(covered) + 1))
        starts = [p for p in sorted(covered) if p - 1 not in covered]
        ends = [p + 1 for p in sorted(covered) if p + 1 not in covered]
        entity = WordEntity("X", tuple(zip(starts, ends, strict=True)), draw(st.sampled_from([0.25, 0.5, 0.75])))
        found[entity.fragments] = entity
    return list(found.values())


@given(st.data(), st.integers(2, 40), st.integers(2, 12), st.integers(0, 10), st.sampled_from(POLICIES))
def test_merging_follows_the_documented_rule(data: st.DataObject, size: int, budget: int, overlap: int, policy: Policy) -> None:
    made = windows(Document(" ".join("a" * size)), budget, overlap=overlap)
    found = [data.draw(window_entities(window)) for window in made]
    if len(made) == 1:  # the head has applied the policy already
        found = [resolve(entities, policy) for entities in found]
    assert merged(made, found, policy) == merged_slowly(made, found, policy)


@given(st.integers(1, 60), st.integers(4, 12), st.integers(0, 8), st.sets(st.integers(0, 58), max_size=12))
def test_entities_that_every_window_finds_come_out_once(size: int, budget: int, overlap: int, starts: set[int]) -> None:
    made = windows(Document(" ".join("a" * size)), budget, overlap=overlap)
    spans = {(start, start + 2) for start in starts if start + 2 <= size}
    found = [
        [
            WordEntity("X", ((a - window.first_word, b - window.first_word),), 0.5)
            for a, b in sorted(spans)
            if window.first_word <= a and b <= window.first_word + len(window.words)
        ]
        for window in made
    ]
    whole = {(w.starts[e.first], w.ends[e.last]) for w, entities in zip(made, found, strict=True) for e in entities}
    result = merged(made, found, "all")
    assert {key[1][0] for key, _ in result} == whole  # type: ignore[index]
    assert len(result) == len(whole)
    if overlap >= 1 and budget > 2:  # two words fit into the shared part, or into one window
        assert len(whole) == len(spans)


def test_a_window_that_sees_an_entity_worse_does_not_decide() -> None:
    made = windows(Document(" ".join("abcdefghijkl")), 8, overlap=4)
    assert [(window.first_word, len(window.words)) for window in made] == [(0, 8), (4, 8)]
    near_edge = [[WordEntity("X", ((6, 8),), 0.9)], []]  # the second window sees these words better and finds nothing
    assert merged(made, near_edge, "all") == set()
    by_owner = [[WordEntity("X", ((6, 8),), 0.9)], [WordEntity("X", ((2, 4),), 0.4)]]
    assert merged(made, by_owner, "all") == {(("X", ((12, 15),)), 0.4)}


def test_an_entity_longer_than_its_own_window_sees_is_kept() -> None:
    made = windows(Document(" ".join("abcdefghijkl")), 8, overlap=2)
    long = [[WordEntity("X", ((1, 8),), 0.9)], []]
    assert merged(made, long, "all") == {(("X", ((2, 15),)), 0.9)}
    assert merged(made[:1], long[:1], "flat") == {(("X", ((2, 15),)), 0.9)}


def test_no_window_no_entity() -> None:
    assert WindowMerger("all").entities() == []
