"""Proposals -> entities: blocks of one word get different entities, then thresholds and overlap policy. numpy only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.generation import resolved
from anyner.architectures.settings import Decoding, least_score
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence. Each block gives its best candidate that no earlier block has given."""
    least, start = least_score(decoding.thresholds), decoding.thresholds.get("start", 0.0)
    found: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    best = proposals["score"].max(1, initial=0.0)
    for block in np.flatnonzero((best >= least) & (proposals["start"] >= start)).tolist():
        taken = found[int(proposals["place"][block, 0])]
        for score, key in sorted(_candidates(proposals, block), key=lambda candidate: -candidate[0]):
            if score >= least_score(decoding.thresholds, key[1:]) and key not in taken:
                taken[key] = score
                break
    return resolved(found, decoding)


def _candidates(proposals: Mapping[str, NDArray[Any]], block: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Score and (label, *words) of each candidate of a block."""
    word = int(proposals["place"][block, 1])
    scores, labels, counts = (proposals[name][block].tolist() for name in ("score", "label", "count"))
    for number, (score, label, count) in enumerate(zip(scores, labels, counts, strict=True)):
        if score > 0:
            yield score, (label, *(word + proposals["words"][block, number, :count]).tolist())
