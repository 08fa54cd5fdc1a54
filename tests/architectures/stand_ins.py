"""For the tests of generative heads: the parts of an encoder that they use, and sentences compared alone and in a batch."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from head_batches import ENTITIES, LENGTHS, PIECE_WIDTH, WIDTH, alone, gold_of, states_of
from torch import nn
from transformers import BertConfig

from anyner.architectures.base import Head
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.encoding.encoder import Tables


@dataclass(frozen=True)
class Pretrained:
    config: BertConfig


class FakeEncoder:
    """Has a position table, whose row 1 belongs to piece 0, or none."""

    def __init__(self, positions: bool = True) -> None:
        torch.manual_seed(9)
        self.width, self.piece_width = WIDTH, WIDTH
        self.pretrained = Pretrained(BertConfig(hidden_size=WIDTH, num_attention_heads=2, intermediate_size=8))
        self.tables = Tables(nn.Embedding(10, PIECE_WIDTH), nn.Embedding(20, PIECE_WIDTH) if positions else None, 1)


@torch.no_grad()
def entities_alone_and_together(head: Head, decoding: Decoding, part: str) -> int:
    """Asserts that each sentence has the same entities and loss alone as in a batch; returns the number of entities."""
    states, total = states_of(), 0.0
    together = head.decode(head.propose(states, decoding, Draw(0)).on_host(), len(LENGTHS), decoding)
    for number, length in enumerate(LENGTHS):
        own = alone(states, number)
        found = head.decode(head.propose(own, decoding, Draw(0)).on_host(), 1, decoding)[0]
        assert {(e.label, e.fragments) for e in found} == {(e.label, e.fragments) for e in together[number]}
        total += float(head.loss(own, gold_of((length,), ENTITIES[number : number + 1]), Draw(0, 1))[part].numerator)
    assert float(head.loss(states, gold_of(), Draw(0, 1))[part].numerator) == pytest.approx(total, rel=1e-4)
    return sum(map(len, together))
