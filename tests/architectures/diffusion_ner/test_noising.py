"""Gold expanded and noised: who goes where, what noise does, and that the batch does not matter."""

from typing import Literal

import numpy as np
import pytest
import torch
from head_batches import ENTITIES, LENGTHS, alone, gold_of, states_of
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.noising import NO_SOURCE, expanded, noised
from anyner.architectures.diffusion_ner.schedule import schedule_of
from anyner.architectures.draw import Draw
from anyner.layers.contiguous import Entities, EntityRows

Expansion = Literal["repeat", "random", "moved"]


def rows(counts: list[int]) -> EntityRows:
    none = np.zeros((len(counts), max(1, *counts)), dtype=np.int64)
    return EntityRows(none, none, none, np.array(counts))


def test_gold_lies_in_rows_without_what_is_discontinuous() -> None:
    gold = Entities.of(gold_of().host).rows(3)
    assert gold.counts.tolist() == [2, 1, 0]
    assert gold.first[0].tolist() == [0, 1]
    assert gold.last[0].tolist() == [4, 2]
    assert gold.label[0].tolist() == [0, 1]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.integers(1, 8),
    st.floats(0, 0.999),
    st.sampled_from(["repeat", "random", "moved"]),
)
def test_expansion_fills_every_slot(counts: list[int], spans: int, turn: float, expansion: Expansion) -> None:
    config = Config(spans=spans, expansion=expansion)
    source = expanded(rows(counts), np.full(len(counts), turn, dtype=np.float32), config)
    assert source.shape == (len(counts), spans)
    for count, own in zip(counts, source, strict=True):
        used = own[own != NO_SOURCE]
        assert set(used.tolist()) <= set(range(count))
        wanted = spans if expansion != "random" and count else min(count, spans)
        assert len(used) == wanted
        times = np.bincount(used, minlength=count)[:count] if count else np.zeros(1)
        assert times.max() - times.min() <= 1, "no entity comes more than once more often than another"


@pytest.mark.parametrize("expansion", ["repeat", "random", "moved"])
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


def test_every_second_round_of_the_gold_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
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
        moved = spans[count : 2 * count] + spans[3 * count :]
        assert sorted(last - first for first, last in moved) == sorted(2 * [last - first for first, last in entities])
        assert noisy.source[0].tolist().count(NO_SOURCE) == len(moved)
        places |= set(moved)
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
    exact = ((noisy.first == 0) & (noisy.last == 4)).float().mean(1)
    early, late = noisy.step < 100, noisy.step > 800
    assert exact[torch.from_numpy(early)].mean() > 2 * exact[torch.from_numpy(late)].mean()


@pytest.mark.parametrize("expansion", ["random", "moved"])
def test_what_happens_to_a_sentence_does_not_depend_on_the_batch(expansion: Expansion) -> None:
    config, schedule, states = Config(spans=6, expansion=expansion), schedule_of("cosine", 1000), states_of()
    together = noised(Entities.of(gold_of().host).rows(3), states, config, schedule, Draw(5, 2))
    for sentence, length in enumerate(LENGTHS):
        gold = Entities.of(gold_of((length,), ENTITIES[sentence : sentence + 1]).host).rows(1)
        one = noised(gold, alone(states, sentence), config, schedule, Draw(5, 2))
        assert torch.equal(one.first[0], together.first[sentence])
        assert torch.equal(one.last[0], together.last[sentence])
        assert one.step[0] == together.step[sentence]
        assert one.source[0].tolist() == together.source[sentence].tolist()
