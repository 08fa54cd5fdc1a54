"""Gold expanded and noised, the entity that each noisy span learns, and the segments of long windows."""

from dataclasses import replace
from itertools import permutations
from typing import Literal

import numpy as np
import pytest
import torch
from diffusion_batches import decoding, head_of
from head_batches import ENTITIES, LENGTHS, alone, gold_of, states_of
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.network import Predictions
from anyner.architectures.diffusion_ner.schedule import schedule_of
from anyner.architectures.diffusion_ner.segments import Segments
from anyner.architectures.diffusion_ner.targets import (
    NO_SOURCE,
    NOTHING,
    NoisySpans,
    by_inputs,
    by_predictions,
    costs,
    expanded,
    labels_pointed_at,
    noised,
    on_device,
    segment_entities,
    segment_states,
)
from anyner.architectures.draw import Draw
from anyner.architectures.settings import CorpusStatistics
from anyner.layers.contiguous import Entities, EntityRows
from anyner.text.align import WordEntity

Expansion = Literal["repeat", "random", "shifted"]


def rows(counts: list[int]) -> EntityRows:
    none = np.zeros((len(counts), max(1, *counts)), dtype=np.int64)
    return EntityRows(none, none, none, np.array(counts))


def test_gold_rows_have_contiguous_entities_only() -> None:
    gold = Entities.of(gold_of().host).rows(3)
    assert gold.counts.tolist() == [2, 1, 0]
    assert gold.first[0].tolist() == [0, 1]
    assert gold.last[0].tolist() == [4, 2]
    assert gold.label[0].tolist() == [0, 1]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.integers(1, 8),
    st.floats(0, 0.999),
    st.sampled_from(["repeat", "random", "shifted"]),
)
def test_expansion_fills_every_slot(counts: list[int], spans: int, turn: float, expansion: Expansion) -> None:
    config = Config(spans=spans, expansion=expansion)
    source = expanded(rows(counts), np.full(len(counts), turn, dtype=np.float32), config)
    assert source.shape == (len(counts), spans)
    for count, own in zip(counts, source, strict=True):
        used = own[own != NO_SOURCE]
        assert set(used.tolist()) <= set(range(count))
        expected = spans if expansion != "random" and count else min(count, spans)
        assert len(used) == expected
        times = np.bincount(used, minlength=count)[:count] if count else np.zeros(1)
        assert times.max() - times.min() <= 1, "repetitions differ by at most one"


@pytest.mark.parametrize("expansion", ["repeat", "random", "shifted"])
def test_without_noise_the_spans_are_the_gold(expansion: Expansion, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = schedule_of("cosine", 100_000)
    monkeypatch.setattr(Draw, "uniform", lambda _, purpose, keys, size: np.zeros((len(keys), size), dtype=np.float32))
    gold = Entities.of(gold_of().host).rows(3)
    noisy = noised(gold, states_of(), Config(spans=6, expansion=expansion), schedule, Draw(0))
    assert noisy.step.tolist() == [0, 0, 0]
    for sentence, own in enumerate(noisy.source):
        for slot, entity in enumerate(own):
            if entity != NO_SOURCE:
                assert int(noisy.first[sentence, slot]) == gold.first[sentence, entity]
                assert int(noisy.last[sentence, slot]) == gold.last[sentence, entity]


def test_every_second_round_of_the_gold_is_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Draw.uniform
    monkeypatch.setattr(
        Draw, "uniform", lambda self, purpose, keys, size: real(self, purpose, keys, size) * (purpose != "step")
    )  # hardly any noise
    gold = Entities.of(gold_of((9,), ENTITIES[:1]).host).rows(1)
    count, entities = int(gold.counts[0]), list(zip(gold.first[0].tolist(), gold.last[0].tolist(), strict=True))
    places = set()
    for epoch in range(30):
        noisy = noised(gold, states_of((9,)), Config(spans=4 * count), schedule_of("cosine", 100_000), Draw(0, epoch))
        spans = list(zip(noisy.first[0].tolist(), noisy.last[0].tolist(), strict=True))
        assert sorted(spans[:count]) == sorted(spans[2 * count : 3 * count]) == sorted(entities)
        shifted = spans[count : 2 * count] + spans[3 * count :]
        assert sorted(last - first for first, last in shifted) == sorted(2 * [last - first for first, last in entities])
        assert noisy.source[0].tolist().count(NO_SOURCE) == len(shifted)
        places |= set(shifted)
    assert len(places) > 6


def test_noisy_spans_lie_in_their_sentences_and_steps_are_spread() -> None:
    lengths = (9,) * 300
    gold = gold_of(lengths, [ENTITIES[0]] * 300)
    noisy = noised(
        Entities.of(gold.host).rows(300),
        states_of(lengths),
        Config(spans=20, expansion="repeat"),
        schedule_of("cosine", 1000),
        Draw(3),
    )
    assert (noisy.first >= 0).all() and (noisy.first <= noisy.last).all() and (noisy.last < 9).all()
    assert noisy.step.min() < 30 and noisy.step.max() > 970
    exact = ((noisy.first == 0) & (noisy.last == 4)).mean(1)
    early, late = noisy.step < 100, noisy.step > 800
    assert exact[early].mean() > 2 * exact[late].mean()


@pytest.mark.parametrize("expansion", ["random", "shifted"])
def test_noise_does_not_depend_on_the_batch(expansion: Expansion) -> None:
    config, schedule, states = Config(spans=6, expansion=expansion), schedule_of("cosine", 1000), states_of()
    together = noised(Entities.of(gold_of().host).rows(3), states, config, schedule, Draw(5, 2))
    for sentence, length in enumerate(LENGTHS):
        gold = Entities.of(gold_of((length,), ENTITIES[sentence : sentence + 1]).host).rows(1)
        one = noised(gold, alone(states, sentence), config, schedule, Draw(5, 2))
        assert np.array_equal(one.first[0], together.first[sentence])
        assert np.array_equal(one.last[0], together.last[sentence])
        assert one.step[0] == together.step[sentence]
        assert one.source[0].tolist() == together.source[sentence].tolist()


def noisy_spans(spans: list[list[tuple[int, int]]], source: list[list[int]]) -> NoisySpans:
    place = np.array(spans)
    return NoisySpans(place[..., 0], place[..., 1], np.zeros(len(spans), dtype=np.int64), np.array(source))


def test_costs_are_minus_the_three_probabilities() -> None:
    generator = torch.Generator().manual_seed(0)
    predictions = Predictions(*(torch.randn(2, 3, size, generator=generator) for size in (5, 5, 4)))
    first, last, label = torch.tensor([[0, 1], [2, 0]]), torch.tensor([[4, 1], [3, 0]]), torch.tensor([[0, 2], [1, 0]])
    found = costs(predictions, torch.stack([first, last, label, torch.ones_like(label)]))
    for b in range(2):
        for k in range(3):
            for g in range(2):
                left = predictions.left[b, k].sigmoid()[first[b, g]]
                right = predictions.right[b, k].sigmoid()[last[b, g]]
                type_ = predictions.types[b, k].softmax(-1)[label[b, g] + 1]
                assert float(found[b, k, g]) == pytest.approx(-float(left + right + type_), abs=1e-6)


def test_a_span_learns_the_entity_nearest_to_it() -> None:
    gold = Entities.of(gold_of().host).rows(3)  # (0, 4) and (1, 2); (0, 0); none
    spans = [[(0, 4), (1, 3), (2, 2), (3, 4)], [(0, 0)] * 4, [(0, 2)] * 4]
    assigned = by_inputs(gold, noisy_spans(spans, [[0, 1, 1, 0], [0] * 4, [-1] * 4]))
    assert assigned.tolist() == [[0, 1, 1, 0], [0] * 4, [NOTHING] * 4]


def test_a_span_that_overlaps_no_entity_learns_none() -> None:
    gold = Entities.of(gold_of((9,), [[WordEntity("A", ((2, 4),)), WordEntity("B", ((7, 8),))]]).host).rows(1)
    spans = noisy_spans([[(0, 1), (0, 2), (3, 6), (5, 6), (5, 7), (8, 8)]], [[-1] * 6])
    assert by_inputs(gold, spans)[0].tolist() == [NOTHING, 0, 0, NOTHING, 1, NOTHING]


def test_a_span_has_the_label_of_what_it_points_at() -> None:
    generator = torch.Generator().manual_seed(1)
    predictions = Predictions(*(torch.randn(2, 40, size, generator=generator) for size in (4, 4, 3)))
    first, last, label = (
        torch.tensor([[0, 1, 0], [2, 0, 0]]),
        torch.tensor([[3, 1, 0], [3, 0, 0]]),
        torch.tensor([[1, 0, 0], [1, 0, 0]]),
    )
    counts = torch.tensor([3, 1])
    found = labels_pointed_at(predictions, torch.stack([first, last, label, torch.arange(3) < counts[:, None]]))
    for b in range(2):
        known = {(int(first[b, g]), int(last[b, g])): int(label[b, g]) + 1 for g in range(int(counts[b]))}
        for k in range(40):
            pointed = (int(predictions.left[b, k].argmax()), int(predictions.right[b, k].argmax()))
            assert int(found[b, k]) == known.get(pointed, 0)
    assert {int(one) for one in found.unique()} == {0, 1, 2}


def test_in_a_tie_a_span_learns_its_source() -> None:
    gold = Entities.of(gold_of().host).rows(3)
    between = [[(1, 3), (0, 3), (1, 3), (0, 3)], [(0, 0)] * 4, [(0, 2)] * 4]  # (0, 3): one from (0, 4), two from (1, 2)
    assert by_inputs(gold, noisy_spans(between, [[0, 0, 1, 1], [0] * 4, [-1] * 4]))[0].tolist() == [1, 0, 1, 0]


@given(st.integers(0, 999), st.sampled_from(["predictions", "one_to_one"]))
def test_bipartite_matching_is_the_cheapest_that_learns_every_entity(seed: int, matching: str) -> None:
    gold = Entities.of(gold_of().host).rows(3)
    generator = torch.Generator().manual_seed(seed)
    predictions = Predictions(*(2 * torch.randn(3, 5, size, generator=generator) for size in (5, 5, 4)))
    entities = on_device(gold, states_of())
    assigned = by_predictions(predictions, gold, entities, Config.of({"matching": matching}, "head"))
    counts = [np.bincount(own[own != NOTHING], minlength=2).tolist() for own in assigned]
    assert counts == ([[3, 2], [5, 0], [0, 0]] if matching == "predictions" else [[1, 1], [1, 0], [0, 0]])
    for cost, own in zip(costs(predictions, entities).numpy(), assigned, strict=True):
        total = sum(cost[span, entity] for span, entity in enumerate(own) if entity != NOTHING)
        every = (sum(cost[span, entity] for span, entity in enumerate(other) if entity != NOTHING) for other in permutations(own))
        assert total == pytest.approx(min(every), abs=1e-5)


@pytest.mark.parametrize("matching", ["predictions", "one_to_one"])
def test_with_more_entities_than_spans_the_cheapest_are_learned(matching: str) -> None:
    gold = Entities.of(gold_of().host).rows(3)
    entities = on_device(gold, states_of())
    predictions = Predictions(*(torch.randn(3, 1, size, generator=torch.Generator().manual_seed(2)) for size in (5, 5, 4)))
    assigned = by_predictions(predictions, gold, entities, Config.of({"matching": matching}, "head"))
    assert assigned[0, 0] == int(costs(predictions, entities)[0, 0].argmin())


lengths_drawn = st.lists(st.integers(1, 200), min_size=1, max_size=5).map(tuple)


@given(lengths_drawn, st.integers(2, 40))
def test_segments_cover_their_windows_and_share_half(lengths: tuple[int, ...], most: int) -> None:
    segments = Segments.of(lengths, most)
    for window, length in enumerate(lengths):
        rows = np.flatnonzero(segments.window == window)
        starts, stops = segments.start[rows], segments.start[rows] + segments.length[rows]
        assert starts[0] == 0 and stops[-1] == length and (segments.length[rows] <= most).all()
        assert (stops[:-1] - starts[1:] >= most // 2).all()
        assert segments.core_start[rows].tolist() == [0, *segments.core_stop[rows][:-1]]
        assert segments.core_stop[rows][-1] == length


@given(lengths_drawn, st.integers(4, 40), st.data())
def test_an_entity_of_half_a_segment_or_less_lies_in_the_one_it_belongs_to(
    lengths: tuple[int, ...], most: int, data: st.DataObject
) -> None:
    segments = Segments.of(lengths, most)
    window = data.draw(st.integers(0, len(lengths) - 1))
    size = data.draw(st.integers(1, min(most // 2, lengths[window])))
    first = data.draw(st.integers(0, lengths[window] - size))
    middle = (2 * first + size - 1) // 2
    own = (segments.window == window) & (segments.core_start <= middle) & (middle < segments.core_stop)
    assert own.sum() == 1
    (row,) = np.flatnonzero(own)
    assert segments.start[row] <= first and first + size <= segments.start[row] + segments.length[row]


@given(lengths_drawn, st.integers(2, 40), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 199), st.integers(1, 20))))
def test_gold_is_in_every_segment_that_holds_it(lengths: tuple[int, ...], most: int, drawn: list[tuple[int, int, int]]) -> None:
    there = sorted((w, f, f + size - 1) for w, f, size in drawn if w < len(lengths) and f + size <= lengths[w])
    array = np.array(there, dtype=np.int64).reshape(-1, 3)
    entities = Entities(array[:, 0], np.arange(len(there)), array[:, 1], array[:, 2])
    segments = Segments.of(lengths, most)
    found = segment_entities(segments, entities)
    expected = [
        (row, number, first - start, last - start)
        for row, (window, start, length) in enumerate(zip(segments.window, segments.start, segments.length, strict=True))
        for number, (own, first, last) in enumerate(there)
        if own == window and first >= start and last < start + length
    ]
    assert list(zip(found.sentence, found.label, found.first, found.last, strict=True)) == expected


@torch.no_grad()
def test_the_words_of_a_segment_are_those_of_its_window() -> None:
    states = states_of()
    segments = Segments.of(states.lengths, 3)
    rows = segment_states(segments, states)
    assert len(rows.lengths) > len(states.lengths) and max(rows.lengths) == 3
    for row, (window, start, length) in enumerate(zip(segments.window, segments.start, segments.length, strict=True)):
        assert torch.equal(rows.words[row, :length], states.words[window, start : start + length])
        assert rows.windows[row].words == states.windows[window].words[start : start + length]
        assert rows.word_mask[row].tolist() == [place < length for place in range(3)]


def test_short_windows_are_not_touched() -> None:
    states = states_of()
    assert segment_states(Segments.of(states.lengths, max(LENGTHS)), states) is states


@torch.no_grad()
def test_proposals_of_segments_lie_in_their_windows_whatever_the_batch() -> None:
    head, states = head_of(segment_words=3, spans=20).eval(), states_of()
    chosen = decoding(head, score=1e-6)
    together = head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    assert sum(map(len, together)) > 0
    for number, length in enumerate(LENGTHS):
        assert all(0 <= entity.first <= entity.last < length for entity in together[number])
        (own,) = head.decode(head.propose(alone(states, number), chosen, Draw(0)).on_host(), 1, chosen)
        assert [entity.fragments for entity in own] == [entity.fragments for entity in together[number]]


def test_losses_of_segments_are_finite() -> None:
    losses = head_of(segment_words=3, spans=20, span_classifier={"width": 8}).loss(states_of(), gold_of(), Draw(1, 1))
    assert all(torch.isfinite(part.numerator) for part in losses.values())


def test_the_segment_length_follows_from_the_corpus_and_longer_entities_are_reported() -> None:
    statistics = CorpusStatistics(("A",), (1,), (1,) * 999 + (70,), (1,), 1, 512, False, False)
    assert Config().fitted(statistics).segment_words == 32
    assert Config().fitted(replace(statistics, spans=(20,) * 9)).segment_words == 40
    config = Config(segment_words=8)
    short, long = WordEntity("A", ((0, 8),)), WordEntity("A", ((0, 9),))
    assert config.unreachable([short, long], [1] * 20) == [None, "longer than head.segment_words, 8 words"]
    assert config.unreachable([long], [1] * 9) == ["longer than head.segment_words, 8 words"]
