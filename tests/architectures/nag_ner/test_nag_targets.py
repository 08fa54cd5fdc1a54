"""Blocks: ranks are by span length, and symbols are the entities' units."""

from collections import Counter

import numpy as np
from head_batches import LABELS, gold_of
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.nag_ner.config import END, FIRST_UNIT, MORE
from anyner.architectures.nag_ner.targets import IGNORED, block_targets
from anyner.encoding.batch import training_batch
from anyner.encoding.examples import Example
from anyner.encoding.pieces import Frame
from anyner.layers.units import WordUnits
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@st.composite
def sentences(draw: st.DrawFn) -> tuple[Window, list[WordEntity]]:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=7))
    count = len(sizes)
    window = Window(0, 0, list(range(count)), list(range(1, count + 1)), ["w"] * count, [(5,) * size for size in sizes])
    one = st.builds(
        lambda label, words: WordEntity.of_words(label, sorted(words)),
        st.sampled_from(LABELS),
        st.sets(st.integers(0, count - 1), min_size=1, max_size=count),
    )
    return window, draw(st.lists(one, max_size=6, unique_by=lambda entity: (entity.label, entity.fragments)))


def rank_key(entity: WordEntity) -> tuple[int, int, tuple[int, ...], int]:
    return entity.last - entity.first, len(entity.word_indices), entity.word_indices, LABELS.index(entity.label)


@given(st.lists(sentences(), min_size=1, max_size=3), st.booleans(), st.integers(1, 9), st.integers(1, 4))
def test_blocks_are_the_entities(batch: list[tuple[Window, list[WordEntity]]], pieces: bool, longest: int, most: int) -> None:
    windows = [window for window, _ in batch]
    gold = training_batch([Example.of(window, own, LABELS, None) for window, own in batch], Frame((1,), (2,), 0, 3)).gold
    assert gold is not None
    targets = block_targets(gold.host, WordUnits.of(windows, "pieces" if pieces else "words"), longest, most)
    expected: Counter[tuple[int, int, int, int, int, tuple[int, ...]]] = Counter()
    for number, (window, own) in enumerate(batch):
        sizes = [len(piece) for piece in window.pieces] if pieces else [1] * len(window.pieces)
        firsts = np.cumsum(sizes) - sizes
        for word in range(len(sizes)):
            started = sorted((entity for entity in own if entity.first == word), key=rank_key)
            assert targets.starts[number, word] == min(len(started), most)
            for rank, entity in enumerate(started[:most]):
                spelled = [FIRST_UNIT + int(firsts[w]) + piece for w in entity.word_indices for piece in range(sizes[w])]
                row = [*spelled, END] if len(spelled) <= longest else [*spelled[:longest], MORE]
                row += [IGNORED] * (longest + 1 - len(row))
                expected[number, word, rank, LABELS.index(entity.label), entity.last, tuple(row)] += 1
    found = Counter(
        (int(s), int(w), int(r), int(y), int(z), tuple(u.tolist()))
        for s, w, r, y, z, u in zip(
            targets.sentence, targets.word, targets.rank, targets.label, targets.last, targets.symbols, strict=True
        )
    )
    assert found == expected


def test_the_shorter_span_has_the_lower_rank() -> None:
    hip, knees = WordEntity("A", ((0, 4),)), WordEntity("A", ((0, 2), (5, 7)))
    gold = gold_of((8,), [[knees, hip]])
    window = Window(0, 0, list(range(8)), list(range(1, 9)), ["w"] * 8, [(5,)] * 8)
    targets = block_targets(gold.host, WordUnits.of([window], "words"), 4, 3)
    assert targets.rank.tolist() == [0, 1]
    assert (targets.symbols - FIRST_UNIT).tolist() == [[0, 1, 2, 3, END - FIRST_UNIT], [0, 1, 5, 6, END - FIRST_UNIT]]
