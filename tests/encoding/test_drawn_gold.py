"""Entities to learn from that are drawn from gold and opinions: where, which, and how often."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from anyner.encoding.drawn_gold import drawn_gold
from anyner.encoding.gold import Example, Gold, GoldArrays, Opinion, gold_of
from anyner.text.align import WordEntity
from anyner.text.windows import Window

LABELS = ("A", "B")
SHORT, LONG, OTHER = WordEntity("A", ((0, 1),)), WordEntity("A", ((0, 3),)), WordEntity("B", ((2, 3),))
GAP = WordEntity("A", ((0, 1), (2, 3)))
Said = dict[WordEntity, float]


def example(gold: list[WordEntity], said: Said | None, *, gaps: bool = True, annotated: frozenset[str] | None = None) -> Example:
    words = ["w"] * 4
    window = Window(0, 0, [0, 2, 4, 6], [1, 3, 5, 7], words, [(1,)] * 4)
    scored = [WordEntity(one.label, one.fragments, likely) for one, likely in (said or {}).items()]
    opinion = None if said is None else Opinion.of(scored, LABELS, 0.5, gaps)
    return Example.of(window, gold, LABELS, annotated, opinion)


def entities(drawn: GoldArrays) -> list[list[WordEntity]]:
    """Of each of three sentences, by the words that lie between their offsets."""
    found: list[list[WordEntity]] = [[], [], []]
    for number, (begin, end) in enumerate(zip(drawn.offsets[:-1], drawn.offsets[1:], strict=True)):
        words = drawn.words[begin:end].tolist()
        assert (words[0], words[-1]) == (drawn.first[number], drawn.last[number])
        found[drawn.sentence[number]].append(WordEntity.of_words(LABELS[drawn.label[number]], tuple(words)))
    assert drawn.sentence.tolist() == sorted(drawn.sentence.tolist())
    return found


def chances(*pairs: tuple[float, float]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array(pairs, dtype=np.float32)


def batch() -> Gold:
    return gold_of(
        [example([SHORT, GAP], {LONG: 0.8, OTHER: 0.3}), example([OTHER], None), example([LONG], {SHORT: 0.6, GAP: 0.5})]
    )


def test_a_sentence_has_its_gold_or_what_is_held_likely_enough_there() -> None:
    assert entities(drawn_gold(batch(), 0.5, chances((0.9, 0.0), (0.0, 0.0), (0.5, 0.0)))) == [[SHORT, GAP], [OTHER], [LONG]]
    assert entities(drawn_gold(batch(), 0.5, chances((0.1, 0.5), (0.0, 0.5), (0.4, 0.55)))) == [[LONG], [OTHER], [SHORT]]
    assert entities(drawn_gold(batch(), 0.5, chances((0.1, 0.9), (0.0, 0.9), (0.9, 0.2)))) == [[], [OTHER], [LONG]]
    assert entities(drawn_gold(batch(), 1.0, chances((0.9, 0.1), (0.9, 0.1), (0.9, 0.1)))) == [
        [LONG, OTHER],
        [OTHER],
        [SHORT, GAP],
    ]


def test_without_opinions_it_is_gold() -> None:
    gold = gold_of([example([SHORT], None), example([GAP], None), example([], None)])
    assert drawn_gold(gold, 1.0, chances((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))) is gold.host


def test_gaps_that_opinions_cannot_hold_are_as_in_gold() -> None:
    ignorant, knowing = (example([SHORT, GAP], {LONG: 0.8}, gaps=gaps) for gaps in (False, True))
    gold = gold_of([ignorant, example([], None), knowing])
    assert entities(drawn_gold(gold, 1.0, chances((0.0, 0.5), (0.0, 0.5), (0.0, 0.5)))) == [[GAP, LONG], [], [LONG]]


def test_labels_that_are_not_annotated_are_not_drawn() -> None:
    known = example([SHORT], {LONG: 0.9, OTHER: 0.9}, annotated=frozenset("A"))
    gold = gold_of([known, example([], None), example([], None)])
    assert entities(drawn_gold(gold, 1.0, chances((0.0, 0.1), (0.0, 0.1), (0.0, 0.1))))[0] == [LONG]


def test_over_many_draws_each_is_there_as_often_as_both_together_hold() -> None:
    random, counts, draws = np.random.default_rng(0), Counter[tuple[int, WordEntity]](), 2000
    for _ in range(draws):
        drawn = entities(drawn_gold(batch(), 0.4, random.random((3, 2), dtype=np.float32)))
        counts.update((sentence, one) for sentence, own in enumerate(drawn) for one in own)
    expected = {
        (0, SHORT): 0.6, (0, GAP): 0.6, (0, LONG): 0.4 * 0.8, (0, OTHER): 0.4 * 0.3,
        (1, OTHER): 1.0,
        (2, LONG): 0.6, (2, SHORT): 0.4 * 0.6, (2, GAP): 0.4 * 0.5,
    }  # fmt: skip
    assert {key: count / draws for key, count in counts.items()} == {
        key: pytest.approx(p, abs=0.04) for key, p in expected.items()
    }
