"""What numpy and torch both compute of spans is the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from anyner.architectures import numpy_spans
from anyner.layers import fragments

LABELS, WORDS, SENTENCES = 3, 30, 4


@pytest.mark.parametrize("number", [0, 1, 12, 400])
def test_pairs_of_fragments_are_those_of_torch(number: int) -> None:
    """Also where a window has more fragments than are paired, and where scores are equal."""
    random = np.random.default_rng(number)
    first = random.integers(0, WORDS, number)
    last = np.minimum(first + random.integers(0, 4, number), WORDS - 1)
    place = np.column_stack([random.integers(0, SENTENCES, number), random.integers(0, 2 * LABELS, number), first, last])
    score = (random.integers(1, 20, number) / 20).astype(np.float32)
    layer = fragments.FragmentPairs(8, 16, LABELS, dropout=0.0).eval()
    words = torch.from_numpy(random.normal(size=(SENTENCES, WORDS, 8)).astype(np.float32))
    states: Any = SimpleNamespace(words=words, lengths=(WORDS,) * SENTENCES)
    with torch.inference_mode():
        expected = layer.proposed(states, torch.from_numpy(place), torch.from_numpy(score))
        own = numpy_spans.FragmentPairs(LABELS, lambda pairs: layer(words, torch.from_numpy(pairs)).numpy())
        pairs, probability = own.proposed(place, score)
    assert (pairs == expected[0].numpy()).all()
    assert pairs.shape == tuple(expected[0].shape)
    assert probability == pytest.approx(expected[1].numpy(), abs=1e-6)
    assert number < 12 or len(pairs) > 2
