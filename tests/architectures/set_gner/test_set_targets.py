"""Targets: every entity can be reconstructed from its sequence, whatever its shape, and every other word has an answer."""

from collections import Counter

from head_batches import LABELS, gold_of, windows_of
from hypothesis import given
from hypothesis import strategies as st
from set_batches import config_of, entity_sets, in_words

from anyner.architectures.set_gner.targets import END, FRAGMENT, IGNORED, NO_ENTITY, SequenceTargets, Targets, targets_of
from anyner.encoding.batch import training_batch
from anyner.encoding.examples import Example
from anyner.encoding.pieces import Frame
from anyner.layers.units import UnitEntities, WordUnits
from anyner.text.align import WordEntity
from anyner.text.windows import Window

Batch = list[tuple[int, list[WordEntity]]]
batches = st.lists(entity_sets(), min_size=1, max_size=4)
C = len(LABELS)


def targets(entities: UnitEntities, lengths: list[int], most: int = 9, **settings: object) -> Targets:
    return targets_of(entities, lengths, C, config_of(most_at_one_word=most, **settings))


def read_off(sequences: SequenceTargets) -> Counter[tuple[int, str, tuple[int, ...]]]:
    """The entities of sequences: the first unit, then symbols up to a label."""
    found: Counter[tuple[int, str, tuple[int, ...]]] = Counter()
    for sentence, units, symbols in zip(sequences.sentence, sequences.inputs, sequences.targets, strict=True):
        words = [int(units[0])]
        for symbol in symbols:
            if symbol < C:
                found[int(sentence), LABELS[symbol], tuple(words)] += 1
                break
            words.append(int(symbol) - C - 2)
        assert units[: len(words)].tolist() == words, "inputs are the targets of the step before"
        assert (symbols[len(words) :] == IGNORED).all()
    return found


def expected(batch: Batch) -> Counter[tuple[int, str, tuple[int, ...]]]:
    return Counter((number, entity.label, entity.word_indices) for number, (_, own) in enumerate(batch) for entity in own)


@given(batches)
def test_sequences_give_the_entities(batch: Batch) -> None:
    lengths = [length for length, _ in batch]
    gold = gold_of(lengths, [own for _, own in batch])
    assert read_off(targets(in_words(gold, lengths), lengths).entities) == expected(batch)


@given(batches, st.integers(1, 3))
def test_every_word_that_starts_nothing_has_an_answer(batch: Batch, most: int) -> None:
    lengths = [length for length, _ in batch]
    found = targets(in_words(gold_of(lengths, [own for _, own in batch]), lengths), lengths, most)
    answers = {
        (int(s), int(u[0])): int(y[0])
        for s, u, y in zip(found.others.sentence, found.others.inputs, found.others.targets, strict=True)
    }
    for number, (length, own) in enumerate(batch):
        for word in range(length):
            started = sum(entity.first == word for entity in own)
            belongs = any(word in entity.word_indices for entity in own)
            assert found.occurrences[number, word] == min(started, most)
            assert found.parts[number, word].tolist() == [
                started > 0, any(entity.last == word for entity in own), belongs,
            ]  # fmt: skip
            if started:
                assert (number, word) not in answers
            else:
                assert answers.pop((number, word)) == C + (FRAGMENT if belongs else NO_ENTITY)
    assert not answers


@given(batches)
def test_mirrored_entities_are_those_of_the_reversed_sentence(batch: Batch) -> None:
    lengths = [length for length, _ in batch]
    entities = in_words(gold_of(lengths, [own for _, own in batch]), lengths)
    in_reverse = entities.mirrored(lengths)
    mirrored = [
        (length, [WordEntity.of_words(e.label, sorted(length - 1 - word for word in e.word_indices)) for e in own])
        for length, own in batch
    ]
    assert read_off(targets(in_reverse, lengths).entities) == expected(mirrored)
    again = in_reverse.mirrored(lengths)
    assert again.units.tolist() == entities.units.tolist()


@given(batches)
def test_an_end_symbol_follows_every_label_and_answer(batch: Batch) -> None:
    """The paper's target sequences: the head word is given, then words, a label or answer, and the end."""
    lengths = [length for length, _ in batch]
    entities = in_words(gold_of(lengths, [own for _, own in batch]), lengths)
    ended, constrained = (targets(entities, lengths, constrained=one) for one in (False, True))
    for group, without in ((ended.entities, constrained.entities), (ended.others, constrained.others)):
        assert group.sentence.tolist() == without.sentence.tolist()
        for inputs, symbols, short in zip(group.inputs, group.targets, without.targets, strict=True):
            size = int((symbols != IGNORED).sum())
            assert size == (short != IGNORED).sum() + 1
            assert symbols[size - 1] == C + END
            assert symbols[size - 2] == short[size - 2], "the label or answer"
            assert (symbols[: size - 1] - C - 3 == inputs[1:size]).all(), "the inputs of the next step"


def test_in_pieces_a_word_is_all_of_its_pieces() -> None:
    window = Window(0, 0, [0, 2, 4], [1, 3, 5], ["a", "b", "c"], [(5, 6), (7,), (8, 9, 4)])
    example = Example.of(window, [WordEntity("B", ((0, 1), (2, 3))), WordEntity("A", ((1, 2),))], LABELS, None)
    gold = training_batch([example], Frame((1,), (2,), 0, 3)).gold
    assert gold is not None
    entities = UnitEntities.of(gold.host, WordUnits.of([window], "pieces"))
    assert read_off(targets(entities, [6]).entities) == Counter({(0, "B", (0, 1, 3, 4, 5)): 1, (0, "A", (2,)): 1})
    assert UnitEntities.of(gold_of((2,), [[]]).host, WordUnits.of(windows_of((2,)), "pieces")).units.tolist() == []
