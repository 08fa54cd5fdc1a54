"""The head as a whole: losses, all switches, decoding from certain scores, and what must not depend on what."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from head_batches import (
    ENTITIES,
    INEXPRESSIBLE,
    LABELS,
    LENGTHS,
    assert_no_target,
    assert_opinions_are_written,
    gold_of,
    states_of,
)
from nag_batches import decoding, head_of
from stand_ins import FakeEncoder, entities_alone_and_together

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.config import Config
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.targets import stretches
from anyner.architectures.settings import CorpusFacts
from anyner.text.align import WordEntity

SWITCHES: list[dict[str, Any]] = [
    {}, {"space": "sentence"}, {"space": "vocab"}, {"tail": False}, {"starts": False}, {"start_positions": False},
    {"head_word": False}, {"causal": True}, {"negatives": 0, "spare_negatives": 0}, {"layers": 1}, {"contiguous": True},
    {"decoder": "encoder", "width": None}, {"longest": 1}, {"farthest": 4}, {"writing": "positions"},
    {"copied": False}, {"check": 4}, {"links": 4}, {"links": 4, "contiguous": True},
]  # fmt: skip


@pytest.mark.parametrize(("settings", "entity"), INEXPRESSIBLE)
def test_what_the_settings_cannot_express_is_no_target(settings: dict[str, Any], entity: WordEntity) -> None:
    assert_no_target(head_of(**settings).eval(), entity)


def test_what_other_models_hold_is_written() -> None:
    assert_opinions_are_written(head_of(opinions=1.0), head_of())


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_all_switches_learn_and_propose(switches: dict[str, Any]) -> None:
    head = head_of(**switches).train()
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    sum((part.numerator for part in parts.values()), torch.zeros(())).backward()  # type: ignore[no-untyped-call]
    resting = [name for name, one in head.named_parameters() if one.grad is None or not one.grad.abs().sum()]
    off = ("ranks", "of_starts", "start_norm") if switches.get("start_positions") is False else ()
    # the bias of keys moves all words alike, and with few blocks some places are never asked
    allowed = (*off, "word_places", "pointed.bias", "places", "writer.tail.special", "own_positions", "of_words", "word_norm")
    assert not [name for name in resting if not any(part in name for part in allowed)], resting
    head.eval()
    for options in ({}, {"decoding": "greedy"}, {"alternatives": 1}):
        asked = decoding(head, **options)
        with torch.no_grad():
            found = head.decode(head.propose(states_of(), asked, Draw(0)).on_host(), len(LENGTHS), asked)
        for length, entities in zip(LENGTHS, found, strict=True):
            for entity in entities:
                assert 0 <= entity.first <= entity.last < length
                assert len(entity.fragments) == 1 or not head.settings.contiguous


@torch.no_grad()
def test_the_types_and_units_wanted_are_those_of_the_entities() -> None:
    head, states, gold = head_of(negatives=0, spare_negatives=1), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(0, 1))
    # entities of the first sentence: words 0 to 4 (five, so one does not fit), 1 to 2, 0 and 3; of the second: its only word
    units = (4 + 1) + (2 + 1) + (2 + 1) + (1 + 1)
    others = 1 + 0 + 1 + 3  # a word each where one begins nothing, and one more entity at each of the three words that begin any
    assert float(parts["types"].denominator) == 4 + others
    assert float(parts["writing"].denominator) == units + 2 * others
    assert float(parts["last words"].denominator) == 4
    assert float(parts["starts"].denominator) == sum(LENGTHS)


@pytest.mark.parametrize("entities", [[[], [], []], [[WordEntity("A", ((0, length),))] for length in LENGTHS]])
@pytest.mark.parametrize("settings", [{}, {"space": "sentence"}, {"starts": False}, {"negatives": 0, "spare_negatives": 0}])
def test_batches_without_entities_or_full_of_them_are_finite(entities: list[list[WordEntity]], settings: dict[str, Any]) -> None:
    parts = head_of(**settings).loss(states_of(), gold_of(entities=entities), Draw(0, 1))
    assert all(torch.isfinite(part.numerator) and torch.isfinite(part.denominator) for part in parts.values())


@pytest.mark.parametrize("space", ["pointer", "sentence", "vocab"])
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_sentence_alone_has_the_same_loss_and_entities(space: str, contiguous: bool) -> None:
    head = head_of(seed=2, space=space, contiguous=contiguous, negatives=9)
    entities = entities_alone_and_together(head, decoding(head), "writing")
    assert entities > 2 or space != "pointer", "with random weights pieces hardly ever spell a word"


@torch.no_grad()
def test_labels_that_are_not_annotated_give_no_loss() -> None:
    states, gold = states_of((5,)), gold_of((5,), [[WordEntity("A", ((1, 4),))]], [frozenset({"A"})])
    head = head_of()
    before = head.loss(states, gold, Draw(0))
    head.writer.types.bias[2:] += 5.0  # B and C
    after = head.loss(states, gold, Draw(0))
    assert float(before["types"].denominator) == float(before["starts"].denominator) == 1
    assert float(before["types"].numerator) == pytest.approx(float(after["types"].numerator), rel=1e-5)


def test_the_place_of_a_word_is_read_from_the_encoders_own_table() -> None:
    encoder = FakeEncoder()
    head = head_of(encoder=encoder)
    shared = head.writer._positions[0]
    assert shared is not None
    assert encoder.tables.positions is not None
    assert shared.weight.data_ptr() == encoder.tables.positions.weight.data_ptr()
    assert not any("_positions" in name for name in head.state_dict()), "it stays the encoder's"
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    parts["writing"].numerator.backward()  # type: ignore[no-untyped-call]
    assert encoder.tables.positions.weight.grad is not None
    assert encoder.tables.positions.weight.grad[1].abs().sum() > 0, "piece 0 stands one row further, as the encoder has it"
    assert head_of(encoder=FakeEncoder(positions=False)).writer.own_positions is not None


def certain(entities: list[tuple[int, int, WordEntity]], longest: int) -> dict[str, np.ndarray[Any, Any]]:
    """Proposals of blocks that are sure of one entity each: (sentence, rank, entity)."""
    rows = len(entities)
    words = np.zeros((rows, 2, longest), dtype=np.int64)
    for row, (_, _, entity) in zip(words, entities, strict=True):
        row[0, : len(entity.word_indices)] = np.array(entity.word_indices) - entity.first
    counts = np.array([[len(entity.word_indices), 1] for _, _, entity in entities])
    return {
        "place": np.array([[s, e.first, rank] for s, rank, e in entities]),
        "start": np.ones(rows),
        "score": np.tile([0.81, 0.36], (rows, 1)),
        "label": np.array([[LABELS.index(e.label)] * 2 for _, _, e in entities]),
        "count": counts,
        "words": words,
        "long_score": np.zeros(rows),
        "long_label": np.zeros(rows, dtype=np.int64),
        "last": np.array([e.last for _, _, e in entities]),
    }


def test_certain_blocks_give_exactly_their_entities() -> None:
    head = head_of()
    wanted = [
        (0, 0, WordEntity("A", ((0, 2),))), (0, 1, WordEntity("A", ((0, 1), (3, 4)))), (0, 0, WordEntity("B", ((1, 2),))),
        (1, 0, WordEntity("C", ((0, 1),))), (1, 1, WordEntity("B", ((0, 1),))),
    ]  # fmt: skip
    found = decode(certain(wanted, 4), 3, decoding(head))
    assert [{(e.label, e.fragments) for e in own} for own in found] == [
        {(e.label, e.fragments) for s, _, e in wanted if s == number} for number in range(3)
    ]
    assert decode(certain(wanted, 4), 3, decoding(head, {"start": 0.05, "score": 0.9})) == [[], [], []]
    apart = decode(certain(wanted, 4), 3, decoding(head, {"start": 0.05, "score": 0.9, "gaps": 0.3}))
    assert [[e.fragments for e in own] for own in apart] == [[((0, 1), (3, 4))], [], []]


def test_a_second_block_takes_its_next_best_where_the_first_was_as_sure() -> None:
    twice = [(0, 0, WordEntity("A", ((2, 4),))), (0, 1, WordEntity("A", ((2, 4),)))]
    found = decode(certain(twice, 4), 1, decoding(head_of()))
    assert {e.fragments for e in found[0]} == {((2, 4),), ((2, 3),)}


def test_what_does_not_fit_is_taken_to_its_last_word() -> None:
    blocks = certain([(0, 0, WordEntity("A", ((1, 3),)))], 4)
    blocks["last"][0], blocks["long_score"][0], blocks["long_label"][0] = 7, 0.95, 2
    assert [(e.label, e.fragments) for e in decode(blocks, 1, decoding(head_of()))[0]] == [(LABELS[2], ((1, 8),))]


FACTS = CorpusFacts(
    labels=LABELS, lengths=(1,) * 300 + (9,), spans=(1, 7), piece_lengths=(2,) * 300 + (19,), most_at_one_word=3,
    most_in_a_document=3,    most_words=512, encoder_decoder=False,
    discontinuous=True,
)  # fmt: skip


def test_what_is_open_is_chosen_from_the_corpus() -> None:
    config = Config().fitted(FACTS)
    assert (config.longest, config.tail, config.space, config.contiguous, config.most_at_one_word) == (
        1,
        True,
        "pointer",
        False,
        3,
    )
    long = Config().fitted(replace(FACTS, lengths=(1, 9)))
    assert (long.longest, long.tail) == (9, False)
    half = Config().fitted(replace(FACTS, encoder_decoder=True))
    assert (half.decoder, half.space, half.longest) == ("pretrained", "sentence", 2)


def test_what_cannot_be_written_is_told() -> None:
    config = Config(longest=2, farthest=4, most_at_one_word=1, contiguous=False, space="pointer", tail=True)
    entities = [
        WordEntity("A", ((0, 2),)), WordEntity("A", ((0, 1),)), WordEntity("A", ((1, 4),)), WordEntity("A", ((2, 3), (8, 9))),
        WordEntity("A", ((3, 5), (6, 7))),
    ]  # fmt: skip
    fine, begun, long, far, gapped = config.unreachable(entities, [1] * 9)
    assert fine is None and long is None, "one without gaps is found by its last word"
    for reason, key in ((begun, "most_at_one_word"), (far, "farthest"), (gapped, "longest")):
        assert reason is not None
        assert key in reason


def test_a_warm_up_copies_stretches_and_looks_at_no_entity() -> None:
    head, states = head_of(copy_epochs=2), states_of()
    with_entities, without = (
        {name: float(part.numerator.detach()) for name, part in head.loss(states, gold_of(entities=own), Draw(0, 2)).items()}
        for own in (ENTITIES, [[], [], []])
    )
    assert with_entities == without
    assert set(without) == {"copying"}
    assert set(head.loss(states, gold_of(), Draw(0, 3))) == {"starts", "types", "writing", "last words"}
    chosen = np.array([[True, False, False, True, False]] * 2)
    gold = stretches((5, 2), chosen, 3)
    words = [tuple(gold.words[begin:end].tolist()) for begin, end in pairwise(gold.offsets)]
    assert words == [(0,), (0, 1), (0, 1, 2), (3,), (3, 4), (0,), (0, 1)]
    assert gold.sentence.tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_nothing_to_copy_is_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.architectures.nag_ner.head.COPIED", 0.0)
    part = head_of(copy_epochs=1).loss(states_of(), gold_of(), Draw(0, 1))["copying"]
    assert float(part.numerator.detach()) == float(part.denominator) == 0
    part.numerator.backward()  # type: ignore[no-untyped-call]


@torch.no_grad()
@pytest.mark.parametrize(("more", "asked"), [(0.5, 1), (0.3, 2), (0.1, 3)])
def test_a_further_entity_is_asked_for_where_it_is_likely_enough(more: float, asked: int) -> None:
    head, states = head_of(most_at_one_word=3), states_of()
    assert head.starts is not None
    for parameter in head.starts.parameters():
        parameter.zero_()
    head.starts[-1].bias[:] = torch.tensor([0.2, 0.48, 0.256, 0.064]).log()  # a second with 0.4, then a third with 0.2
    begun = head._begun(states, decoding(head, {"start": 0.7, "score": 0.05}, more=more))
    assert len(begun.blocks.word) == asked * sum(LENGTHS)
    assert begun.start.min() == pytest.approx(0.8, abs=1e-3)
    assert begun.crowded.tolist() == [asked > 1] * len(begun.blocks.word)
    assert len(head._begun(states, decoding(head, {"start": 0.9, "score": 0.05}, more=more)).blocks.word) == 0
