"""What an epoch reads: every sentence, in windows of all lengths, with nothing lost and nothing invented."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import windows_of
from anyner.training.data.passages import Passages, sentences_of

LABELS = ("A", "B")


def example(text: str, entities: list[WordEntity] | None = None, source: str | None = None) -> Example:
    (window,) = windows_of(Document(text), 0, TextConfig(), 10_000, lambda words: [(7,) * len(word) for word in words])
    return replace(Example.of(window, entities or [], LABELS, None), source=source)


def words_of(one: Example) -> list[str]:
    return one.window.words


def entities_of(one: Example) -> list[tuple[str, tuple[str, ...]]]:
    """Label and words of each entity."""
    found, place = [], 0
    for label, size in zip(one.entities.label.tolist(), one.entities.sizes.tolist(), strict=True):
        indices = one.entities.words[place : place + size].tolist()
        found.append((LABELS[label], tuple(one.window.words[index] for index in indices)))
        place += size
    return found


def news(documents: int, sentences: int) -> list[Example]:
    return [
        example(f"Ann{d} met Bob{s} .", [WordEntity("A", ((0, 1),)), WordEntity("B", ((2, 3),))], source=f"doc {d}")
        for d in range(documents)
        for s in range(sentences)
    ]


@given(st.integers(1, 6), st.integers(1, 9), st.integers(10, 200), st.integers(0, 3), st.integers(0, 9))
def test_an_epoch_has_every_sentence_once_with_its_entities(
    documents: int, sentences: int, room: int, seed: int, epoch: int
) -> None:
    passages = Passages(news(documents, sentences), room, seed)
    joined = [passages.example(passage) for passage in passages.of(epoch)]
    expected = Counter(entity for one in news(documents, sentences) for entity in entities_of(one))
    assert Counter(entity for one in joined for entity in entities_of(one)) == expected
    assert sum(len(words_of(one)) for one in joined) == 4 * documents * sentences
    for passage, one in zip(passages.of(epoch), joined, strict=True):
        assert len(passage.sentences) == 1 or passages.size(passage) <= room
        assert len({words_of(one)[place] for place in range(0, len(words_of(one)), 4)}) == 1, "one source document"


def test_source_documents_are_read_whole_in_part_and_sentence_by_sentence() -> None:
    passages = Passages(news(40, 12), 1000, seed=0)
    lengths = Counter(len(passage.sentences) for epoch in range(3) for passage in passages.of(epoch))
    read = {length: length * count / (3 * 480) for length, count in lengths.items()}
    assert 0.2 < read[1] < 0.5 and 0.2 < read[12] < 0.5
    assert 0.2 < sum(share for length, share in read.items() if 1 < length < 12) < 0.5


def test_every_epoch_is_drawn_anew_and_every_draw_repeats() -> None:
    passages = Passages(news(10, 5), 1000, seed=0)
    assert passages.of(1) == Passages(news(10, 5), 1000, seed=0).of(1)
    assert passages.of(1) != passages.of(2)
    assert passages.of(1) != Passages(news(10, 5), 1000, seed=1).of(1)


def test_sentences_of_one_document_follow_each_other_in_its_order() -> None:
    passages = Passages(news(5, 8), 1000, seed=3)
    for passage in passages.of(0):
        assert list(passage.sentences) == list(range(passage.sentences[0], passage.sentences[-1] + 1))


def test_sentences_of_no_document_are_joined_as_they_follow_each_other() -> None:
    lonely = [replace(one, source=None) for one in news(1, 30)]
    passages = Passages(lonely, 100, seed=0)
    assert max(len(passage.sentences) for epoch in range(5) for passage in passages.of(epoch)) > 5


def test_joined_by_blanks_and_by_line_breaks() -> None:
    passages = Passages(news(60, 6), 1000, seed=0)
    rates = Counter(
        sum(passage.breaks) / (len(passage.sentences) - 1) for passage in passages.of(0) if len(passage.sentences) == 6
    )
    assert rates[0.0] > 3 and rates[1.0] > 3 and sum(rates.values()) > rates[0.0] + rates[1.0]


def test_the_lines_of_a_text_stay_as_they_are() -> None:
    text = "Shopping list\nmilk and bread\nfor Ann. She is ill. Bob will go. So be it."
    passages = Passages([example(text)], 1000, seed=0)
    whole = [one for epoch in range(9) for p in passages.of(epoch) if len(words_of(one := passages.example(p))) == 20]
    assert whole and all(one.window.line_starts == (2, 5) for one in whole)


def test_a_long_document_is_cut_into_sentences_but_never_through_an_entity() -> None:
    crossing = WordEntity("A", ((1, 6),))
    one = example("He left . He came . She is here . Yes !", [crossing, WordEntity("B", ((7, 8),))])
    assert [words_of(part) for part in sentences_of(one)] == [
        ["He", "left", ".", "He", "came", "."],
        ["She", "is", "here", "."],
        ["Yes", "!"],
    ]
    assert [entities_of(part) for part in sentences_of(one)] == [
        [("A", ("left", ".", "He", "came", "."))],
        [("B", ("is",))],
        [],
    ]


def test_what_closes_a_sentence_belongs_to_it() -> None:
    assert [words_of(part) for part in sentences_of(example('" Go ! " she said ... ( loudly . ) Then'))] == [
        ['"', "Go", "!", '"'],
        ["she", "said", "...", "(", "loudly", ".", ")"],
        ["Then"],
    ]


@pytest.mark.parametrize("text", ["no stop at all", "one sentence.", "", "...", "U.S. troops left"])
def test_a_sentence_is_left_as_it_is(text: str) -> None:
    if text:
        one = example(text)
        assert len(sentences_of(one)) == 1


def test_texts_that_annotate_other_labels_are_not_joined() -> None:
    (window,) = windows_of(Document("Ann left ."), 0, TextConfig(), 100, lambda words: [(7,)] * len(words))
    some = [Example.of(window, [], LABELS, frozenset("A")), Example.of(window, [], LABELS, None)] * 20
    passages = Passages(some, 1000, seed=0)
    for epoch in range(4):
        for passage in passages.of(epoch):
            assert len({place % 2 for place in passage.sentences}) == 1


def test_soft_labels_go_with_their_sentences() -> None:
    held = [WordEntity("B", ((0, 2),), 0.25), WordEntity("A", ((2, 3),), 0.5)]
    examples = [
        replace(one, soft_labels=WindowSoftLabels.of(held if number % 2 else [], LABELS, 0.5))
        for number, one in enumerate(news(1, 4))
    ]
    whole = Example.joined(examples, [False] * 4)
    assert whole.soft_labels is not None
    assert whole.soft_labels.entities.first.tolist() == [4, 6, 12, 14] and whole.soft_labels.entities.last.tolist() == [
        5,
        6,
        13,
        14,
    ]
    assert whole.soft_labels.entities.thousandths.tolist() == [250, 500] * 2
    part = whole.part(12, 16)
    assert part.soft_labels is not None and part.soft_labels.entities.first.tolist() == [0, 2]


def test_oversampled_sentences_are_seen_more_often() -> None:
    passages = Passages([replace(example("a b ."), times=3), example("e f .")], 1000, seed=0)
    read = [Counter(w for p in passages.of(epoch) for w in words_of(passages.example(p)) if w != ".") for epoch in range(2)]
    assert read == [Counter("aaabbbef"), Counter("aaabbbef")]


def test_examples_as_they_are() -> None:
    whole = [example("He left . She came ."), example("Yes .")]
    passages = Passages(whole, 4, seed=0, one_each=True)
    assert [words_of(passages.example(passage)) for passage in passages.of(5)] == [words_of(one) for one in whole]
