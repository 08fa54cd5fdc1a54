"""Targets: every entity can be read off its row again, whatever its shape, and every other word has its own answer."""

from collections import Counter

import numpy as np
from head_batches import LABELS, gold_of, windows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from set_batches import entity_sets

from anyner.architectures.set_gner.targets import (
    IGNORED,
    RowTargets,
    UnitEntities,
    fragment,
    no_entity,
    targets_of,
    unit_symbol,
)
from anyner.encoding.batch import training_batch
from anyner.encoding.gold import Example
from anyner.encoding.pieces import Frame
from anyner.text.align import WordEntity
from anyner.text.windows import Window

Batch = list[tuple[int, list[WordEntity]]]
batches = st.lists(entity_sets(), min_size=1, max_size=4)
C = len(LABELS)


def read_off(rows: RowTargets) -> Counter[tuple[int, str, tuple[int, ...]]]:
    """Rows as one would read them: the first unit, then symbols until a label."""
    found: Counter[tuple[int, str, tuple[int, ...]]] = Counter()
    for sentence, units, symbols in zip(rows.sentence, rows.units, rows.symbols, strict=True):
        words = [int(units[0])]
        for symbol in symbols:
            if symbol < C:
                found[int(sentence), LABELS[symbol], tuple(words)] += 1
                break
            words.append(int(symbol) - unit_symbol(C))
        assert units[: len(words)].tolist() == words, "what goes in is what came out"
        assert (symbols[len(words) :] == IGNORED).all()
    return found


def wanted(batch: Batch) -> Counter[tuple[int, str, tuple[int, ...]]]:
    return Counter((number, entity.label, entity.word_indices) for number, (_, own) in enumerate(batch) for entity in own)


@settings(deadline=None)
@given(batches)
def test_rows_are_read_off_as_the_entities(batch: Batch) -> None:
    lengths = [length for length, _ in batch]
    gold = gold_of(lengths, [own for _, own in batch])
    targets = targets_of(UnitEntities.in_words(gold.host), lengths, C, 9)
    assert read_off(targets.entities) == wanted(batch)
    assert sum(targets.entities.counts) == len(targets.entities.sentence)


@settings(deadline=None)
@given(batches, st.integers(1, 3))
def test_every_word_that_begins_nothing_says_so(batch: Batch, most: int) -> None:
    lengths = [length for length, _ in batch]
    targets = targets_of(UnitEntities.in_words(gold_of(lengths, [own for _, own in batch]).host), lengths, C, most)
    answers = {
        (int(s), int(u[0])): int(y[0])
        for s, u, y in zip(targets.others.sentence, targets.others.units, targets.others.symbols, strict=True)
    }
    for number, (length, own) in enumerate(batch):
        for word in range(length):
            begun = sum(entity.first == word for entity in own)
            belongs = any(word in entity.word_indices for entity in own)
            assert targets.occurrences[number, word] == min(begun, most)
            assert targets.parts[number, word].tolist() == [
                begun > 0, any(entity.last == word for entity in own), belongs,
            ]  # fmt: skip
            if begun:
                assert (number, word) not in answers
            else:
                assert answers.pop((number, word)) == (fragment(C) if belongs else no_entity(C))
    assert not answers
    assert targets.others.counts == tuple(np.bincount(targets.others.sentence, minlength=len(batch)).tolist())


@settings(deadline=None)
@given(batches)
def test_mirrored_entities_are_those_of_the_sentence_read_from_its_end(batch: Batch) -> None:
    lengths = [length for length, _ in batch]
    entities = UnitEntities.in_words(gold_of(lengths, [own for _, own in batch]).host)
    turned = entities.mirrored(lengths)
    mirrored = [
        (length, [WordEntity.of_words(e.label, sorted(length - 1 - word for word in e.word_indices)) for e in own])
        for length, own in batch
    ]
    assert read_off(targets_of(turned, lengths, C, 9).entities) == wanted(mirrored)
    again = turned.mirrored(lengths)
    assert again.units.tolist() == entities.units.tolist()


def test_words_outside_entities_can_be_left_out_but_not_those_inside() -> None:
    lengths, own = [5], [[WordEntity("A", ((1, 4),))]]
    entities = UnitEntities.in_words(gold_of(lengths, own).host)
    targets = targets_of(entities, lengths, C, 3, np.array([[False, False, False, False, True]]))
    assert targets.others.units[:, 0].tolist() == [2, 3, 4]
    assert targets.others.symbols[:, 0].tolist() == [fragment(C), fragment(C), no_entity(C)]


def test_in_pieces_a_word_is_all_of_its_pieces() -> None:
    window = Window(0, 0, [0, 2, 4], [1, 3, 5], ["a", "b", "c"], [(5, 6), (7,), (8, 9, 4)])
    example = Example.of(window, [WordEntity("B", ((0, 1), (2, 3))), WordEntity("A", ((1, 2),))], LABELS, None)
    gold = training_batch([example], Frame((1,), (2,), 0, 3)).gold
    assert gold is not None
    entities = UnitEntities.in_pieces(gold.host, [window])
    assert read_off(targets_of(entities, [6], C, 3).entities) == Counter({(0, "B", (0, 1, 3, 4, 5)): 1, (0, "A", (2,)): 1})
    assert UnitEntities.in_pieces(gold_of((2,), [[]]).host, windows_of((2,))).units.tolist() == []
