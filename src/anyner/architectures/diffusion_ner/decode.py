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
    place, samples = proposals["place"], decoding.options.samples
    if samples == 1 or not len(place):
        return decode_spans(proposals, sentences, decoding)
    place, same = np.unique(place, axis=0, return_inverse=True)
    score = np.bincount(same.reshape(-1), proposals["score"].astype(np.float64)) / samples
    sentence, label, first, last = place.T
    fragment = label >= len(decoding.labels)
    order = np.lexsort((label, -score, fragment, last, first, sentence))  # samples may disagree about the label: the best first
    place, score, fragment = place[order], score[order], fragment[order]
    best_of_span = np.append(True, (np.diff(np.column_stack([place[:, [0, 2, 3]], fragment]), axis=0) != 0).any(1))
    return decode_spans({**proposals, "place": place[best_of_span], "score": score[best_of_span]}, sentences, decoding)
