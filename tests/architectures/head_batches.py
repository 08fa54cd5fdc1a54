"""Small batches as heads get them, without an encoder: random states, and gold from entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from anyner.architectures.base import Head
from anyner.architectures.draw import Draw
from anyner.encoding.batch import training_batch
from anyner.encoding.encoder import States
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.encoding.gold import Gold
from anyner.encoding.pieces import Frame
from anyner.text.align import WordEntity
from anyner.text.windows import Window

LABELS = ("A", "B", "C")
WIDTH, PIECE_WIDTH = 6, 5
LENGTHS = (5, 1, 3)
ENTITIES = [
    [WordEntity("A", ((0, 5),)), WordEntity("B", ((1, 3),)), WordEntity("C", ((0, 1), (3, 4)))],
    [WordEntity("B", ((0, 1),))],
    [],
]


def windows_of(lengths: Sequence[int]) -> tuple[Window, ...]:
    return tuple(Window(n, 0, list(range(c)), list(range(1, c + 1)), [f"w{n}"] * c, [(5,)] * c) for n, c in enumerate(lengths))


def states_of(lengths: Sequence[int] = LENGTHS, seed: int = 0) -> States:
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(len(lengths), longest, WIDTH, generator=generator)
    cls = torch.randn(len(lengths), PIECE_WIDTH, generator=generator)
    none = torch.zeros(len(lengths), longest, dtype=torch.long)
    return States(words, mask, words, mask, none, none, none, cls, tuple(lengths), windows_of(lengths))


def alone(states: States, sentence: int) -> States:
    """One sentence of a batch, without padding."""
    own, length = slice(sentence, sentence + 1), states.lengths[sentence]
    words, mask, none = states.words[own, :length], states.word_mask[own, :length], torch.zeros(1, length).long()
    window = (states.windows[sentence],)
    return States(words, mask, words, mask, none, none, none, states.cls[own], (length,), window)


def gold_of(
    lengths: Sequence[int] = LENGTHS,
    entities: Sequence[Sequence[WordEntity]] = ENTITIES,
    annotated: Sequence[frozenset[str] | None] | None = None,
    soft_labels: Sequence[WindowSoftLabels | None] | None = None,
) -> Gold:
    nothing = [None] * len(lengths)
    listed = zip(windows_of(lengths), entities, annotated or nothing, soft_labels or nothing, strict=True)
    examples = [Example.of(window, own, LABELS, known, soft) for window, own, known, soft in listed]
    gold = training_batch(examples, Frame((1,), (2,), 0, 3)).gold
    assert gold is not None
    return gold


INEXPRESSIBLE: list[tuple[dict[str, Any], WordEntity]] = [
    ({"contiguous": True}, WordEntity("A", ((0, 1), (3, 4)))),
    ({"farthest": 3}, WordEntity("A", ((0, 4),))),
]
"""Settings of generative heads, and an entity that they cannot generate."""


@torch.no_grad()
def assert_no_target(head: Head, entity: WordEntity) -> None:
    """As a target it would be impossible: losses in the thousands, or below zero."""
    with_it, without = (head.loss(states_of(), gold_of(entities=[own, [], []]), Draw(0, 1)) for own in ([entity], []))
    for name, part in without.items():
        assert torch.equal(with_it[name].numerator, part.numerator), name
