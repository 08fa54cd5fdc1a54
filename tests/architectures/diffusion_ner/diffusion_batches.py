"""Small batches and heads for the tests of diffusion_ner."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import torch

from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.settings import Decoding
from anyner.encoding.batch import Example, Gold, training_batch
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.pieces import Frame
from anyner.text.align import WordEntity
from anyner.text.windows import Window

LABELS = ("A", "B", "C")
WIDTH = 6
LENGTHS = (5, 1, 3)
ENTITIES = [
    [WordEntity("A", ((0, 5),)), WordEntity("B", ((1, 3),)), WordEntity("C", ((0, 1), (3, 4)))],
    [WordEntity("B", ((0, 1),))],
    [],
]


def head_of(seed: int = 0, **settings: object) -> Head:
    torch.manual_seed(seed)
    config = Config.of({"width": 8, "heads": 2, "feed_forward": 8, "spans": 7, "dropout": 0.0, **settings}, "head")
    return Head(config, LABELS, cast(Encoder, SimpleNamespace(width=WIDTH))).eval()


def windows_of(lengths: Sequence[int]) -> tuple[Window, ...]:
    return tuple(
        Window(n, 0, list(range(c)), list(range(1, c + 1)), [f"w{n}"] * c, [(5,)] * c, True) for n, c in enumerate(lengths)
    )


def states_of(lengths: Sequence[int] = LENGTHS, seed: int = 0) -> States:
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    words = torch.randn(len(lengths), longest, WIDTH, generator=torch.Generator().manual_seed(seed))
    none = torch.zeros(len(lengths), longest, dtype=torch.long)
    return States(words, mask, words, mask, none, none, none, words[:, 0], tuple(lengths), 1, windows_of(lengths))


def alone(states: States, sentence: int) -> States:
    """One sentence of a batch, without padding."""
    own, length = slice(sentence, sentence + 1), states.lengths[sentence]
    words, mask, none = states.words[own, :length], states.word_mask[own, :length], torch.zeros(1, length).long()
    window = (states.windows[sentence],)
    return States(words, mask, words, mask, none, none, none, states.cls[own], (length,), 1, window)


def gold_of(
    lengths: Sequence[int] = LENGTHS,
    entities: Sequence[Sequence[WordEntity]] = ENTITIES,
    annotated: Sequence[frozenset[str] | None] | None = None,
) -> Gold:
    listed = zip(windows_of(lengths), entities, annotated or [None] * len(lengths), strict=True)
    gold = training_batch([Example.of(window, own, LABELS, known) for window, own, known in listed], Frame((1,), (2,), 0, 3)).gold
    assert gold is not None
    return gold


def decoding(head: Head, score: float = 0.2, **options: Any) -> Decoding:
    return Decoding(LABELS, {"score": score}, "all", head.settings, DiffusionOptions(**options))
