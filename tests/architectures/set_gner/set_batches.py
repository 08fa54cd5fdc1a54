"""Small heads and random entities for the tests of set_gner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from head_batches import LABELS, LENGTHS, windows_of
from hypothesis import strategies as st
from stand_ins import FakeEncoder

from anyner.architectures.set_gner.config import Config, SetOptions
from anyner.architectures.set_gner.head import Head
from anyner.architectures.settings import Decoding
from anyner.encoding.encoder import Encoder
from anyner.encoding.gold import Gold
from anyner.layers.sequences import Sequences
from anyner.layers.units import UnitEntities, WordUnits
from anyner.text.align import WordEntity

FITTED: dict[str, Any] = {
    "decoder": "new", "reads": "words", "longest": 6, "farthest": 9, "most_at_one_word": 3,
    "contiguous": False, "most_units": 12, "width": 8, "dropout": 0.0,
    "span_classifier": {"width": 0},
}  # fmt: skip


def config_of(**settings: object) -> Config:
    return Config.of({**FITTED, **settings}, "head")


def head_of(seed: int = 0, **settings: object) -> Head:
    config, encoder = config_of(**settings), FakeEncoder()
    torch.manual_seed(seed)
    return Head(config, LABELS, cast(Encoder, encoder)).eval()


def decoding(head: Head, thresholds: dict[str, float] | None = None, **options: Any) -> Decoding:
    loosest = {threshold.name: threshold.loosest for threshold in head.settings.thresholds()}
    return Decoding(LABELS, thresholds or loosest, "all", head.settings, SetOptions(**options))


def sequences_of_one(sentence: int) -> Sequences:
    """One sequence, of this sentence of the batch."""
    return Sequences(torch.tensor([sentence]), torch.tensor([sentence]), len(LENGTHS), 1)


def in_words(gold: Gold, lengths: Sequence[int]) -> UnitEntities:
    return UnitEntities.of(gold.host, WordUnits.of(windows_of(lengths), "words"))


@st.composite
def entity_sets(draw: st.DrawFn, longest: int = 8) -> tuple[int, list[WordEntity]]:
    """A sentence length, and distinct entities of any shape in it, including the same words with two labels."""
    length = draw(st.integers(1, longest))
    one = st.builds(
        lambda label, words: WordEntity.of_words(label, sorted(words)),
        st.sampled_from(LABELS),
        st.sets(st.integers(0, length - 1), min_size=1, max_size=length),
    )
    return length, draw(st.lists(one, max_size=5, unique_by=lambda entity: (entity.label, entity.fragments)))
