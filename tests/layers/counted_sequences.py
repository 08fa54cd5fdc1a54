"""Sequences on the CPU, from how many each sentence has."""

from __future__ import annotations

from collections.abc import Sequence as Listed

import numpy as np
import torch

from anyner.layers.sequences import Sequences


def sequences_of(counts: Listed[int]) -> Sequences:
    """As many of each sentence, in this order."""
    sentence = np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.int64))
    return Sequences.of(sentence, len(counts), torch.device("cpu"))
