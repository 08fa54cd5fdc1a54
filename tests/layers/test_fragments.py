"""Fragments as extra kinds of spans, and pairs of them: targets by hand and by brute force."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from head_batches import LABELS, WIDTH, gold_of, states_of
from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.examples import WindowSoftLabels
from anyner.layers.fragments import FragmentPairs, training_pairs, with_fragments
from anyner.layers.span_classifier import dense_span_loss
from anyner.text.align import WordEntity

C = len(LABELS)
Entities = list[list[WordEntity]]


@st.composite
def sentences(draw: st.DrawFn) -> Entities:
    """One to three sentences of eight words with entities of any shape."""
    words = st.sets(st.integers(0, 7), min_size=1).map(sorted)
    entity = st.builds(WordEntity.of_words, st.sampled_from(LABELS), words)
    return draw(st.lists(st.lists(entity, max_size=4), min_size=1, max_size=3))


def fragments_of(entities: Entities) -> set[tuple[int, int, int, int]]:
    """Sentence, kind, first and last word of all spans that a head is to find."""
    return {
        (number, LABELS.index(entity.label) + (C if len(entity.fragments) > 1 else 0), start, end - 1)
        for number, own in enumerate(entities)
        for entity in own
        for start, end in entity.fragments
    }


@given(sentences())
def test_gold_in_spans_has_every_fragment_once(entities: Entities) -> None:
    lengths = (8,) * len(entities)
    gold = with_fragments(gold_of(lengths, entities), states_of(lengths))
    columns = (gold.sentence, gold.label, gold.first, gold.last)
    assert sorted(fragments_of(entities)) == sorted(zip(*(column.tolist() for column in columns), strict=True))
    for column, host in zip(columns, (gold.host.sentence, gold.host.label, gold.host.first, gold.host.last), strict=True):
        assert column.tolist() == host.tolist()
    for entity in range(len(gold.sentence)):
        words = gold.words[gold.offsets[entity] : gold.offsets[entity + 1]].tolist()
        assert words == list(range(int(gold.first[entity]), int(gold.last[entity]) + 1))
    assert bool(gold.contiguous.all())
    assert gold.annotated.shape == (len(entities), 2 * C)
    assert sum(gold.counts) == len(gold.sentence)


@given(sentences())
def test_pairs_are_together_exactly_when_one_entity_has_both(entities: Entities) -> None:
    pairs, together = training_pairs(gold_of((8,) * len(entities), entities).host, C)
    expected = {
        (number, first[0], first[1] - 1, second[0], second[1] - 1, LABELS.index(entity.label))
        for number, own in enumerate(entities)
        for entity in own
        for first, second in combinations(entity.fragments, 2)
    }
    rows = pairs.tolist()
    assert len({tuple(row) for row in rows}) == len(rows), "each pair once"
    assert all(0 <= row[1] <= row[2] and row[2] + 1 < row[3] <= row[4] < 8 for row in rows), "a gap of a word at least"
    found = {(*row, label) for row, labels in zip(rows, together.tolist(), strict=True) for label in range(C) if labels[label]}
    assert found == expected


def test_soft_labels_do_not_weaken_fragments() -> None:
    """Other models say nothing about fragments, so their targets stay 1 where those of entities are halved."""
    entities = [[WordEntity.of_words("A", (0, 2)), WordEntity("B", ((3, 4),))]]
    soft = [WindowSoftLabels.of([WordEntity("B", ((1, 2),), 0.8)], LABELS, 0.5)]
    gold = with_fragments(gold_of((4,), entities, soft_labels=soft), states_of((4,)))
    targets = gold.span_targets(4)
    assert targets.shape == (1, 2 * C, 4, 4)
    assert targets[0, C, 0, 0] == targets[0, C, 2, 2] == 1.0
    assert targets[0, 1, 3, 3] == 0.5
    assert targets[0, 1, 1, 1].item() == pytest.approx(0.4)
    logits = torch.zeros(1, 1 + 2 * C, 4, 4, requires_grad=True)
    dense_span_loss(logits, torch.ones(1, 4, 4, dtype=torch.bool).triu(), gold).backward()
    uniform = 1 / (1 + 2 * C)
    assert logits.grad is not None
    assert logits.grad[0, 1 + C, 0, 0].item() == pytest.approx(uniform - 1.0), "gold alone"
    assert logits.grad[0, 2, 3, 3].item() == pytest.approx(uniform - 0.5), "half of the target"


def test_negatives_are_other_entities_and_fragments_a_word_off() -> None:
    swollen = [WordEntity.of_words("A", words) for words in ((0, 3), (0, 5))]  # swollen ... feet and ankles
    pairs, together = training_pairs(gold_of((8,), [[*swollen, WordEntity("B", ((7, 8),))]]).host, C)
    of = {tuple(row[1:]): labels for row, labels in zip(pairs.tolist(), together[:, 0].tolist(), strict=True)}
    assert of[0, 0, 3, 3] and of[0, 0, 5, 5]
    assert not of[3, 3, 5, 5], "two entities share their first fragment only"
    assert not of[0, 0, 7, 7], "an entity of its own"
    assert not of[0, 0, 3, 4], "one word too many"
    assert not of[0, 1, 3, 3]


def test_no_entities_no_pairs_and_no_loss() -> None:
    layer = FragmentPairs(WIDTH, 4, C, dropout=0.0)
    loss, pairs = layer.loss(states_of((3,)), gold_of((3,), [[]]))
    assert (loss.item(), pairs.item()) == (0.0, 1.0)


def test_a_label_that_is_not_annotated_gives_no_loss() -> None:
    entities = [[WordEntity.of_words("A", (0, 2))]]
    layer, states = FragmentPairs(WIDTH, 4, C, dropout=0.0), states_of((4,))
    some, _ = layer.loss(states, gold_of((4,), entities, [frozenset({"A"})]))
    every, _ = layer.loss(states, gold_of((4,), entities))
    assert 0 < some.item() < every.item()


@torch.no_grad()
def test_the_score_of_a_pair_is_that_of_its_own_words() -> None:
    """The same pair alone, in a batch, and with the mean between its fragments taken by hand."""
    layer, states = FragmentPairs(WIDTH, 4, C, dropout=0.0), states_of((6, 5))
    pairs = torch.tensor([[0, 0, 1, 4, 5], [1, 0, 0, 2, 2], [0, 0, 0, 2, 2]])
    logits = layer(states.words, pairs)
    assert torch.allclose(logits[1:2], layer(states.words[1:, :5], torch.tensor([[0, 0, 0, 2, 2]])), atol=1e-6)
    read = layer.read(states.words[0]).chunk(5, dim=-1)
    vector = read[0][0] + read[1][1] + read[2][4] + read[3][5] + read[4][2:4].mean(0) + layer.distance.weight[2]
    by_hand = layer.output(torch.nn.functional.gelu(layer.hidden(torch.nn.functional.gelu(vector))))
    assert torch.allclose(logits[0], by_hand, atol=1e-6)
