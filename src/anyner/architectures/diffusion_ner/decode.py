"""Proposals -> entities: the mean over samples, one label for each span, then threshold and overlap policy. numpy only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.decode import decode_spans
from anyner.architectures.diffusion_ner.config import DiffusionOptions
from anyner.architectures.settings import Decoding
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """`place` (P, 4) has sentence, label, first and last word; each sample proposes a span at most once."""
    assert isinstance(decoding.options, DiffusionOptions)
    if decoding.options.samples > 1 and len(proposals["place"]):
        proposals = _mean_over_samples(proposals["place"], proposals["score"].astype(np.float64), decoding.options.samples)
    return decode_spans(proposals, sentences, decoding)


def _mean_over_samples(place: NDArray[np.int64], score: NDArray[np.float64], samples: int) -> dict[str, NDArray[Any]]:
    place, same = np.unique(place, axis=0, return_inverse=True)
    score = np.bincount(same.reshape(-1), score) / samples
    sentence, label, first, last = place.T
    order = np.lexsort((label, -score, last, first, sentence))  # samples may disagree about the label: the best first
    place, score = place[order], score[order]
    best = np.append(True, (np.diff(place[:, [0, 2, 3]], axis=0) != 0).any(1))
    return {"place": place[best], "score": score[best]}
