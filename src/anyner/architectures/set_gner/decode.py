"""Proposals -> entities: thresholds and overlap policy. numpy only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from anyner.architectures.generation import resolved
from anyner.architectures.settings import Decoding, least_score
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence whose score and head probability reach their thresholds."""
    thresholds = {"score": 0.0, "head": 0.0, **decoding.thresholds}
    kept = proposals["head"] >= thresholds["head"]
    best: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    columns = (proposals["place"], proposals["words"], proposals["score"].astype(float))
    for (sentence, label, size), words, score in zip(*(column[kept].tolist() for column in columns), strict=True):
        key = (label, *sorted(set(words[:size])))  # in pieces, different sequences can give the same words
        if score >= least_score(thresholds, key[1:]):
            best[sentence][key] = max(score, best[sentence].get(key, 0.0))
    return resolved(best, decoding)
