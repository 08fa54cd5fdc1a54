"""The contract of a torch-free head: what an architecture does around its exported networks, in numpy.

An architecture that can be exported has a `numpy_head.py` in its folder. Its networks are the steps that its torch head names in
`Head.steps`; that file has everything between them. The results are those of the torch head, within float32 rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.numpy_spans import Floats, Integers, SpanClassifier, fragment_pairs, likely_spans, sigmoid
from anyner.architectures.settings import Decoding, HeadConfig, Options, least_span_score
from anyner.encoding.arrays import BatchArrays
from anyner.errors import AnynerError
from anyner.text.align import WordEntity

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Run = Callable[[str, Arrays], dict[str, Array]]
"""Runs a step by name, with inputs and outputs by name."""
TABLE = "token_table"
"""An input of the first step: the rows of the encoder's token embedding that the batch needs; `piece_ids` index them."""
READ = "read"
"""The first step: the encoder, and all of the head that is computed once per batch."""


class NumpyHead(ABC):
    CallOptions: ClassVar[type[Options]] = Options

    def __init__(self, config: HeadConfig, labels: tuple[str, ...], run: Run) -> None:
        self.config, self.labels, self.run = config, labels, run

    @abstractmethod
    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        """Candidates, as in the torch head; `read` holds the outputs of the first step."""

    @staticmethod
    @abstractmethod
    def decode(proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """As in the torch head."""

    def propose_by_spans(self, batch: BatchArrays, read: Arrays, decoding: Decoding) -> HostProposals:
        """Proposals of the span classifier alone."""
        classifier = self.span_classifier(read)
        if classifier is None:
            raise AnynerError("options.span_classifier_alone: the model has no span classifier (head.span_classifier.width is 0)")
        found = likely_spans(classifier.label_probabilities, real_spans(batch), least_span_score(decoding.thresholds))
        return self.span_proposals(read, *found)

    def span_classifier(self, read: Arrays) -> SpanClassifier | None:
        table = read.get("span_table")
        return (
            SpanClassifier(table, read.get("fragment_table"), self.config.kinds(len(self.labels))) if table is not None else None
        )

    def span_proposals(self, read: Arrays, place: Integers, score: Floats) -> HostProposals:
        """The spans, with all pairs of fragments among them if the model joins fragments."""
        pair, pair_score = np.zeros((0, 6), dtype=np.int64), np.zeros(0, dtype=np.float32)
        if self.config.kinds(len(self.labels)) > len(self.labels):
            pair = fragment_pairs(place, score, len(self.labels))
        if len(pair):
            logits = self.run("pairs", {"words": read["words"], "pairs": np.delete(pair, 1, axis=1)})["logits"]  # (R, C)
            pair_score = sigmoid(logits[np.arange(len(pair)), pair[:, 1]])
        return {"place": place, "score": score, "pair": pair, "pair_score": pair_score}


def placed_in_grid(sentence: NDArray[np.int64], sentences: int) -> dict[str, Array]:
    """Inputs that place sequences, sorted by `sentence` (N,), in a grid of sentences x the most sequences of any sentence."""
    counts = np.bincount(sentence, minlength=sentences)
    number = np.arange(len(sentence)) - np.repeat(np.cumsum(counts) - counts, counts)
    grid = np.full((sentences, counts.max(initial=1)), len(sentence))  # empty places: N
    grid[sentence, number] = np.arange(len(sentence))
    return {"sentence": sentence, "place": sentence * grid.shape[1] + number, "grid": grid}


def real_spans(batch: BatchArrays, longest: int | None = None) -> NDArray[np.bool_]:
    """True where (first, last) is a span of real words, of at most `longest`: (B, M, M)."""
    word = np.arange(batch.word_mask.shape[1])
    length = word - word[:, None]  # (M, M) words of a span, minus 1
    spans = (length >= 0) & (length < longest if longest is not None else True)
    inside: NDArray[np.bool_] = spans & batch.word_mask[:, None]  # if the last word is real, all are
    return inside
