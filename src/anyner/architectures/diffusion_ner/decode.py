"""Proposals -> entities: spans that ended as the same entity are one; threshold and overlap policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.diffusion_ner.config import DiffusionOptions
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence whose score reaches the threshold `score`."""
    assert isinstance(decoding.options, DiffusionOptions)
    place, score = _agreed(proposals["place"], proposals["score"].astype(np.float64), decoding.options.samples)
    kept = score >= decoding.thresholds["score"]
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    for (sentence, first, last, label), own in zip(place[kept].tolist(), score[kept].tolist(), strict=True):
        found[sentence].append(WordEntity(decoding.labels[label], ((first, last + 1),), own))
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]


def _agreed(place: NDArray[np.int64], score: NDArray[np.float64], samples: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One label for each span of a sentence: in each sample the best answer, over the samples the mean.

    `place` (P, 5): sentence, first, last, label, sample; the result has no sample: (P', 4).
    """
    if not len(place):
        return place[:, :4], score
    order = np.lexsort((place[:, 3], -score, place[:, 4], place[:, 2], place[:, 1], place[:, 0]))
    place, score = place[order], score[order]
    best = _first_of_each(place[:, [0, 1, 2, 4]])  # of one sample's answers for a span the best
    place, score = place[best], score[best]
    order = np.lexsort((place[:, 3], place[:, 2], place[:, 1], place[:, 0]))
    place, score = place[order], score[order]
    begins = np.flatnonzero(_first_of_each(place[:, :4]))
    place, score = place[begins, :4], np.add.reduceat(score, begins) / samples
    order = np.lexsort((place[:, 3], -score, place[:, 2], place[:, 1], place[:, 0]))
    place, score = place[order], score[order]
    best = _first_of_each(place[:, :3])  # samples may disagree about the label
    return place[best], score[best]


def _first_of_each(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])
