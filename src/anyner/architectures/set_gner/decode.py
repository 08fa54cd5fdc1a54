"""Proposals -> entities: thresholds and overlap policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.generation import least_score, loosest_score
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence whose score and whose head's probability reach their thresholds."""
    score = proposals["score"].astype(np.float64)
    least = loosest_score(decoding.thresholds)
    kept = (score >= least) & (proposals["head"] >= decoding.thresholds.get("head", 0.0))
    best: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    rows = zip(*(column[kept].tolist() for column in (proposals["place"], proposals["words"], score)), strict=True)
    for (sentence, label, size), words, own in rows:
        # in pieces the same words can be spelt more than once
        key = (label, *sorted(set(words[:size])))
        gaps = key[-1] - key[1] + 2 > len(key)
        if own >= least_score(decoding.thresholds, gaps):
            best[sentence][key] = max(own, best[sentence].get(key, 0.0))
    found = [
        [WordEntity.of_words(decoding.labels[key[0]], key[1:], own) for key, own in sorted(entities.items())] for entities in best
    ]
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]
