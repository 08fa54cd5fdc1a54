"""Windows become padded arrays and nothing is lost: gold comes back out of them as it went in."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.batch import Batch, batch_of, training_batch
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.encoding.gold import Gold, SoftLabels
from anyner.encoding.pieces import Frame
from anyner.encoding.shapes import ShapeVocabulary
from anyner.text.align import WordEntity
from anyner.text.windows import Pieces, Window

FRAME = Frame(prefix=(101,), suffix=(102,), pad=9, unknown=7)
LABELS = ("A", "B", "C")


def window(pieces: list[Pieces], before: Pieces = (), after: Pieces = (), lines: Iterable[int] = ()) -> Window:
    starts = list(range(0, 2 * len(pieces), 2))
    words = ["w"] * len(pieces)
    line_starts = tuple(sorted(place for place in lines if place < len(pieces)))
    return Window(0, 0, starts, [start + 1 for start in starts], words, pieces, before, after, line_starts=line_starts)


word_pieces = st.lists(st.lists(st.integers(200, 300), min_size=1, max_size=4).map(tuple), min_size=1, max_size=7)
contexts = st.lists(st.integers(300, 400), max_size=3).map(tuple)
lines = st.sets(st.integers(0, 6), max_size=4)
drawn_windows = st.lists(st.builds(window, word_pieces, contexts, contexts, lines), min_size=1, max_size=5)


@given(drawn_windows)
def test_a_batch_holds_every_window_padded(windows: list[Window]) -> None:
    batch = batch_of(windows, FRAME)
    assert len(batch) == len(windows)
    longest_word = 0
    for b, w in enumerate(windows):
        before = [*w.before, 102] if w.before else []
        after = [*w.after, 102] if w.after else []
        flat = [p for m, pieces in enumerate(w.pieces) for p in (*((102,) if m and m in w.line_starts else ()), *pieces)]
        whole = [101, *before, *flat, 102, *after]
        size, length = len(whole), len(w.words)
        assert batch.piece_ids[b].tolist() == whole + [9] * (batch.piece_ids.shape[1] - size)
        assert batch.piece_mask[b].tolist() == [i < size for i in range(batch.piece_ids.shape[1])]
        assert batch.word_mask[b].tolist() == [i < length for i in range(batch.word_mask.shape[1])]
        assert (batch.lengths[b], batch.piece_lengths[b]) == (length, size)
        for m, pieces in enumerate(w.pieces):
            first, last = int(batch.first_piece[b, m]), int(batch.last_piece[b, m])
            assert tuple(batch.piece_ids[b, first : last + 1].tolist()) == pieces
            longest_word = max(longest_word, len(pieces))
        assert batch.first_piece[b, length:].eq(0).all()
        assert batch.last_piece[b, length:].eq(0).all()
    assert batch.most_pieces == longest_word
    assert batch.piece_ids.shape[1] == max(batch.piece_lengths)
    assert batch.windows == tuple(windows)
    assert batch.gold is None


@given(word_pieces, contexts, contexts, st.data())
def test_without_hides_whole_words_and_touches_nothing_else(
    pieces: list[Pieces], before: Pieces, after: Pieces, data: st.DataObject
) -> None:
    example = Example.of(window(pieces, before, after), [], LABELS, None)
    hidden = data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    other = example.without(np.array(hidden), 7)
    assert other.window.pieces == [(7,) * len(p) if h else p for p, h in zip(pieces, hidden, strict=True)]
    assert other.window.hidden == {place for place, is_hidden in enumerate(hidden) if is_hidden}
    assert other.window.content_key == example.window.content_key
    assert example.window.pieces == pieces
    assert (other.window.before, other.window.after, other.window.words) == (before, after, example.window.words)
    batch, changed = (training_batch([one], FRAME) for one in (example, other))
    assert changed.first_piece.tolist() == batch.first_piece.tolist()
    assert changed.last_piece.tolist() == batch.last_piece.tolist()


@st.composite
def entities_of(draw: st.DrawFn, words: int) -> list[WordEntity]:
    found: dict[object, WordEntity] = {}
    for covered in draw(st.lists(st.sets(st.integers(0, words - 1), min_size=1), max_size=4)):
        starts = [p for p in sorted(covered) if p - 1 not in covered]
        ends = [p + 1 for p in sorted(covered) if p + 1 not in covered]
        entity = WordEntity(draw(st.sampled_from(LABELS)), tuple(zip(starts, ends, strict=True)))
        found[entity] = entity
    return list(found.values())


def entities_from(gold: Gold, sentences: int) -> list[list[WordEntity]]:
    """The entities that the flat tensors hold."""
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    for e in range(len(gold.label)):
        words = gold.words[int(gold.offsets[e]) : int(gold.offsets[e + 1])].tolist()
        starts = [w for w in words if w - 1 not in words]
        ends = [w + 1 for w in words if w + 1 not in words]
        entity = WordEntity(LABELS[int(gold.label[e])], tuple(zip(starts, ends, strict=True)))
        assert (int(gold.first[e]), int(gold.last[e])) == (entity.first, entity.last)
        assert bool(gold.contiguous[e]) == (len(entity.fragments) == 1)
        found[int(gold.sentence[e])].append(entity)
    return found


@given(drawn_windows, st.data())
def test_gold_comes_back_as_it_went_in(windows: list[Window], data: st.DataObject) -> None:
    entities = [data.draw(entities_of(len(w.words))) for w in windows]
    annotated = [data.draw(st.none() | st.frozensets(st.sampled_from(LABELS))) for _ in windows]
    examples = [Example.of(w, listed, LABELS, labels) for w, listed, labels in zip(windows, entities, annotated, strict=True)]
    batch = training_batch(examples, FRAME)
    assert batch.gold is not None
    assert entities_from(batch.gold, len(windows)) == entities
    assert batch.gold.counts == tuple(map(len, entities))
    assert batch.gold.offsets.shape == (sum(map(len, entities)) + 1,)
    assert batch.gold.annotated.tolist() == [[a is None or label in a for label in LABELS] for a in annotated]
    plain = batch_of([example.window for example in examples], FRAME)
    assert torch.equal(plain.piece_ids, batch.piece_ids)


def test_a_batch_without_entities_has_empty_gold_of_the_right_types() -> None:
    batch = training_batch([Example.of(window([(201,)]), [], LABELS, None)], FRAME)
    gold = batch.gold
    assert gold is not None
    assert [t.dtype for t in (gold.sentence, gold.label, gold.first, gold.last, gold.words, gold.offsets)] == [torch.int64] * 6
    assert gold.contiguous.dtype == gold.annotated.dtype == torch.bool
    assert gold.offsets.tolist() == [0]


def test_on_a_cpu_nothing_is_copied() -> None:
    batch = batch_of([window([(201,)])], FRAME)
    assert batch.to(torch.device("cpu")) is batch


def test_one_copy_moves_every_tensor_and_keeps_shapes_and_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the `meta` device, which every machine has; pinning needs a GPU."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self)
    soft = WindowSoftLabels.of([WordEntity("B", ((0, 2),), 0.25)], LABELS, 0.5)
    example = Example.of(window([(201, 202), (203,)]), [WordEntity("B", ((0, 1),))], LABELS, None, soft)
    batch = training_batch([example, example], FRAME, shapes=ShapeVocabulary(["x"]))
    moved = batch.to(torch.device("meta"))
    assert batch.gold is not None and moved.gold is not None
    assert isinstance(moved.shapes, torch.Tensor)
    for old, new in ((batch, moved), (batch.gold, moved.gold), (batch.gold.soft_labels, moved.gold.soft_labels)):
        assert isinstance(old, Batch | Gold | SoftLabels)
        for name in old.__slots__:
            before, after = getattr(old, name), getattr(new, name)
            if isinstance(before, torch.Tensor):
                assert after.device.type == "meta"
                assert (after.shape, after.dtype) == (before.shape, before.dtype)
            elif name not in ("gold", "soft_labels"):
                assert after == before
