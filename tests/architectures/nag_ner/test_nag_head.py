"""The head as a whole: losses, all settings, decoding of certain scores, and independence of the batch."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from head_batches import INEXPRESSIBLE, LABELS, LENGTHS, assert_no_target, gold_of, states_of
from nag_batches import decoding, head_of
from stand_ins import FakeEncoder, entities_alone_and_together
from test_nag_search import everything

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.config import Config
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.settings import CorpusStatistics
from anyner.errors import AnynerError
from anyner.text.align import WordEntity

SETTINGS: list[dict[str, Any]] = [
    {}, {"space": "sentence"}, {"space": "vocab"}, {"tail": False}, {"start_classifier": "none"}, {"start_classifier": "linear"},
    {"block_inputs": "positions"}, {"block_inputs": "none"}, {"negatives": 0}, {"negatives": "all"},
    {"layers": 1}, {"contiguous": True}, {"decoder": "encoder", "width": None}, {"longest": 1}, {"farthest": 4},
    {"loss": "positions"}, {"span_classifier": {"width": 4}},
]  # fmt: skip


@pytest.mark.parametrize(("settings", "entity"), INEXPRESSIBLE)
def test_what_the_settings_cannot_express_is_no_target(settings: dict[str, Any], entity: WordEntity) -> None:
    assert_no_target(head_of(**settings).eval(), entity)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_all_settings_learn_and_propose(settings: dict[str, Any]) -> None:
    head = head_of(**settings).train()
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    sum((part.numerator for part in parts.values()), torch.zeros(())).backward()  # type: ignore[no-untyped-call]
    unused = [name for name, one in head.named_parameters() if one.grad is None or not one.grad.abs().sum()]
    off = ("ranks", "start_projection") if settings.get("block_inputs") == "none" else ()
    # the bias of keys shifts all words equally, and with few blocks some positions have no target
    allowed = (*off, "positions", "key.bias", "last_word.special", "word_projection", "start_norm")
    assert not [name for name in unused if not any(part in name for part in allowed)], unused
    head.eval()
    every: list[dict[str, Any]] = [
        {},
        {"more": "argmax"},
        *([{"decoding": "greedy"}] if head.settings.loss == "positions" else []),
    ]
    for options in every:
        chosen = decoding(head, **options)
        with torch.no_grad():
            found = head.decode(head.propose(states_of(), chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
        for length, entities in zip(LENGTHS, found, strict=True):
            for entity in entities:
                assert 0 <= entity.first <= entity.last < length
                assert len(entity.fragments) == 1 or not head.settings.contiguous


@torch.no_grad()
def test_the_targets_are_those_of_the_entities() -> None:
    head, states, gold = head_of(negatives=0), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(0, 1))
    # entities of the first sentence: words 0 to 4 (five, so one does not fit), 1 to 2, 0 and 3; of the second: its only word
    units = (4 + 1) + (2 + 1) + (2 + 1) + (1 + 1)
    others = 1 + 0 + 1 + 3  # a word that starts nothing in two sentences, and a block more at each of three start words
    assert float(parts["labels"].denominator) == 4 + others
    assert float(parts["words"].denominator) == units + 2 * others
    assert float(parts["last words"].denominator) == 4
    assert float(parts["starts"].denominator) == sum(LENGTHS)


@pytest.mark.parametrize("entities", [[[], [], []], [[WordEntity("A", ((0, length),))] for length in LENGTHS]])
@pytest.mark.parametrize("settings", [{}, {"space": "sentence"}, {"start_classifier": "none"}, {"loss": "positions"}])
def test_batches_without_entities_or_full_of_them_are_finite(entities: list[list[WordEntity]], settings: dict[str, Any]) -> None:
    parts = head_of(**settings).loss(states_of(), gold_of(entities=entities), Draw(0, 1))
    assert all(torch.isfinite(part.numerator) and torch.isfinite(part.denominator) for part in parts.values())


@pytest.mark.parametrize("space", ["pointer", "sentence", "vocab"])
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_sentence_alone_has_the_same_loss_and_entities(space: str, contiguous: bool) -> None:
    head = head_of(seed=2, space=space, contiguous=contiguous, negatives=9)
    entities = entities_alone_and_together(head, decoding(head), "words")
    assert entities > 2 or space != "pointer", "with random weights, pieces hardly ever form a word"


@torch.no_grad()
def test_labels_that_are_not_annotated_give_no_loss() -> None:
    states, gold = states_of((5,)), gold_of((5,), [[WordEntity("A", ((1, 4),))]], [frozenset({"A"})])
    head = head_of()
    before = head.loss(states, gold, Draw(0))
    head.network.types.bias[2:] += 5.0  # B and C
    after = head.loss(states, gold, Draw(0))
    assert float(before["labels"].denominator) == float(before["starts"].denominator) == 1
    assert float(before["labels"].numerator) == pytest.approx(float(after["labels"].numerator), rel=1e-5)


def test_the_position_of_a_word_is_read_from_the_encoders_own_table() -> None:
    encoder = FakeEncoder()
    head = head_of(encoder=encoder)
    shared = head.network._table[0]
    assert shared is not None
    assert encoder.tables.positions is not None
    assert shared.weight.data_ptr() == encoder.tables.positions.weight.data_ptr()
    assert not any("_table" in name for name in head.state_dict()), "it stays the encoder's"
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    parts["words"].numerator.backward()  # type: ignore[no-untyped-call]
    assert encoder.tables.positions.weight.grad is not None
    assert encoder.tables.positions.weight.grad[1].abs().sum() > 0, "piece 0 has row 1, as in the encoder"
    assert head_of(encoder=FakeEncoder(positions=False)).network.start_positions is not None


def certain(entities: list[tuple[int, WordEntity]], longest: int) -> dict[str, np.ndarray[Any, Any]]:
    """Proposals of blocks that are sure of one entity each: (sentence, entity)."""
    words = np.zeros((len(entities), 2, longest), dtype=np.int64)
    for own, (_, entity) in zip(words, entities, strict=True):
        own[0, : len(entity.word_indices)] = np.array(entity.word_indices) - entity.first
    return {
        "place": np.array([[sentence, entity.first] for sentence, entity in entities]),
        "start": np.ones(len(entities)),
        "score": np.tile([0.81, 0.36], (len(entities), 1)),
        "label": np.array([[LABELS.index(entity.label)] * 2 for _, entity in entities]),
        "count": np.array([[len(entity.word_indices), 1] for _, entity in entities]),
        "words": words,
    }


def test_certain_blocks_give_exactly_their_entities() -> None:
    head = head_of()
    entities = [
        (0, WordEntity("A", ((0, 2),))), (0, WordEntity("A", ((0, 1), (3, 4)))), (0, WordEntity("B", ((1, 2),))),
        (1, WordEntity("C", ((0, 1),))), (1, WordEntity("B", ((0, 1),))),
    ]  # fmt: skip
    found = decode(certain(entities, 4), 3, decoding(head))
    assert [{(e.label, e.fragments) for e in own} for own in found] == [
        {(e.label, e.fragments) for s, e in entities if s == number} for number in range(3)
    ]
    assert decode(certain(entities, 4), 3, decoding(head, {"start": 0.05, "score": 0.9})) == [[], [], []]
    apart = decode(certain(entities, 4), 3, decoding(head, {"start": 0.05, "score": 0.9, "discontinuous": 0.3}))
    assert [[e.fragments for e in own] for own in apart] == [[((0, 1), (3, 4))], [], []]


def test_a_second_block_takes_its_next_best_entity() -> None:
    twice = [(0, WordEntity("A", ((2, 4),)))] * 2
    found = decode(certain(twice, 4), 1, decoding(head_of()))
    assert {e.fragments for e in found[0]} == {((2, 4),), ((2, 3),)}


@torch.no_grad()
def test_entities_that_do_not_fit_are_found_by_their_last_word() -> None:
    head, states = head_of(longest=1, farthest=5), states_of((5,))
    assert head.network.last_word is not None and isinstance(head.network.output.special, torch.nn.Linear)
    head.network.output.special.bias[:] = torch.tensor([-20.0, 20.0])  # never the end, always more
    chosen = decoding(head, {"start": 0.05, "score": 0.0, "discontinuous": 0.0})
    proposals = head.propose(states, chosen, Draw(0))
    entities = head.decode(proposals.on_host(), 1, chosen)[0]
    assert entities and all(len(entity.fragments) == 1 for entity in entities)
    assert {len(entity.word_indices) for entity in entities} & {2, 3, 4, 5}, "longer than a block"


STATISTICS = CorpusStatistics(
    labels=LABELS, lengths=(1,) * 300 + (9,), spans=(1, 7), piece_lengths=(2,) * 300 + (19,), most_at_one_word=3,
    most_words=512, encoder_decoder=False, discontinuous=True,
)  # fmt: skip


def test_unset_values_are_chosen_from_the_corpus() -> None:
    config = Config().fitted(STATISTICS)
    assert (config.longest, config.tail, config.space, config.contiguous, config.most_at_one_word) == (
        1,
        True,
        "pointer",
        False,
        3,
    )
    long = Config().fitted(replace(STATISTICS, lengths=(1, 9)))
    assert (long.longest, long.tail) == (9, False)
    half = Config().fitted(replace(STATISTICS, encoder_decoder=True))
    assert (half.decoder, half.space, half.longest) == ("pretrained", "sentence", 2)


def test_entities_that_cannot_be_generated_are_reported() -> None:
    config = Config(longest=2, farthest=4, most_at_one_word=1, contiguous=False, space="pointer", tail=True)
    entities = [
        WordEntity("A", ((0, 2),)), WordEntity("A", ((0, 1),)), WordEntity("A", ((1, 4),)), WordEntity("A", ((2, 3), (8, 9))),
        WordEntity("A", ((3, 5), (6, 7))),
    ]  # fmt: skip
    fine, started, long, far, discontinuous = config.unreachable(entities, [1] * 9)
    assert fine is None and long is None, "a contiguous one is found by its last word"
    for reason, key in ((started, "most_at_one_word"), (far, "farthest"), (discontinuous, "longest")):
        assert reason is not None
        assert key in reason


@torch.no_grad()
@pytest.mark.parametrize(("more", "blocks_per_word"), [(0.5, 1), (0.3, 2), (0.1, 3), ("argmax", 1)])
def test_a_word_has_one_more_block_if_one_more_entity_is_likely_enough(more: float | str, blocks_per_word: int) -> None:
    head, states = head_of(most_at_one_word=3), states_of()
    assert isinstance(head.start_classifier, torch.nn.Sequential)
    for parameter in head.start_classifier.parameters():
        parameter.zero_()
    head.start_classifier[-1].bias[:] = torch.tensor([0.2, 0.48, 0.256, 0.064]).log()  # a second with 0.4, then a third with 0.2
    blocks, start = head._expected_blocks(states, decoding(head, {"start": 0.7, "score": 0.05}, more=more))
    assert len(blocks.word) == blocks_per_word * sum(LENGTHS)
    assert start.min() == pytest.approx(0.8, abs=1e-3)
    assert len(head._expected_blocks(states, decoding(head, {"start": 0.9, "score": 0.05}, more=more))[0].word) == 0


@torch.no_grad()
def test_the_loss_is_normalised_over_all_sequences() -> None:
    """By brute force, for a discontinuous entity and for the negative block at the next rank of its word."""
    head, cost = head_of(tail=False, negatives=9, farthest=5), 0.7
    assert head.network.gap_cost is not None
    torch.nn.init.constant_(head.network.gap_cost, cost)
    torch.nn.init.zeros_(head.network.word_positions)  # in training, sentences have a random offset
    states, gold = states_of((5,)), gold_of((5,), [[WordEntity("A", ((0, 1), (2, 4)))]])
    sentences = head.network.read(states)
    blocks, _ = head._expected_blocks(states, decoding(head, {"start": 0.0, "score": 0.0}, more=0.0))
    hidden = head.network(sentences, blocks)
    scores = head._word_scores(head.network.output(hidden[:, 1:], blocks, sentences), blocks, sentences)
    loss = 0.0
    for word, rank, sequence in ((0, 0, (0, 2, 3)), (0, 1, (0,)), *((word, 0, (0,)) for word in range(1, 5))):
        block = int(((blocks.word == word) & (blocks.rank == rank)).nonzero())
        end = torch.logaddexp(scores.end[block], scores.more[block])
        every = everything(scores.placed[block], scores.sizes[block], end, contiguous=False, cost=cost)
        partition = float(torch.tensor([score for score, _ in every]).logsumexp(0))
        loss += partition - {found: score for score, found in every}[sequence]
    assert float(head.loss(states, gold, Draw(0))["words"].numerator) == pytest.approx(loss, rel=1e-4)


def test_greedy_decoding_is_refused_after_training_on_sequences() -> None:
    with pytest.raises(AnynerError, match=r"options\.decoding: greedy needs a model trained with head\.loss: positions"):
        decoding(head_of(), decoding="greedy")
    assert decoding(head_of(loss="positions"), decoding="greedy")
