"""What heads that write learn to write: gold, or what other models hold, as often as the settings say."""

from __future__ import annotations

import pytest
from head_batches import LABELS, alone, gold_of, states_of

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.config import Config
from anyner.architectures.writing import to_write
from anyner.encoding.gold import GoldArrays, Opinion
from anyner.text.align import WordEntity

OWN, HELD = WordEntity("A", ((0, 1),)), WordEntity("B", ((1, 3),), 0.5)
EPOCHS = range(1, 1001)


def spans(entities: GoldArrays, sentence: int) -> tuple[tuple[int, int], ...]:
    mine = entities.sentence == sentence
    return tuple(zip(entities.first[mine].tolist(), entities.last[mine].tolist(), strict=True))


def test_opinions_are_drawn_as_often_as_is_wanted_in_every_batch_alike() -> None:
    opinion, states = Opinion.of([HELD], LABELS, 0.5), states_of((5, 4))
    both = gold_of((5, 4), [[OWN], [OWN]], opinions=[opinion, opinion])
    single = gold_of((4,), [[OWN]], opinions=[opinion])
    drawn: list[tuple[tuple[int, int], ...]] = []
    for epoch in EPOCHS:
        together = to_write(Config(opinions=0.5), states, both, Draw(0, epoch))
        by_itself = to_write(Config(opinions=0.5), alone(states, 1), single, Draw(0, epoch))
        assert spans(together, 1) == spans(by_itself, 0)
        drawn.append(spans(together, 1))
    share = {found: drawn.count(found) / len(EPOCHS) for found in set(drawn)}
    assert share == {
        ((0, 0),): pytest.approx(0.5, abs=0.05),
        ((1, 2),): pytest.approx(0.25, abs=0.05),
        (): pytest.approx(0.25, abs=0.05),
    }


def test_who_does_not_listen_writes_gold() -> None:
    gold = gold_of((5,), [[OWN]], opinions=[Opinion.of([HELD], LABELS, 0.5)])
    assert to_write(Config(), states_of((5,)), gold, Draw(0, 1)) is gold.host
