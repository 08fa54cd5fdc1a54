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
from anyner.architectures.numpy_spans import FragmentPairs, SpanClassifier, likely_spans, span_proposals
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
        return span_proposals(self.fragment_pairs(read), *found)

    def span_classifier(self, read: Arrays) -> SpanClassifier | None:
        table = read.get("span_table")
        return SpanClassifier(table, read.get("fragment_table"), self.kinds) if table is not None else None

    def fragment_pairs(self, read: Arrays) -> FragmentPairs | None:
        """The scorer of pairs of fragments, if the model joins them."""
        if not getattr(self.config, "fragments", False):
            return None
        words = read["words"]
        return FragmentPairs(len(self.labels), lambda pairs: self.run("pairs", {"words": words, "pairs": pairs})["logits"])

    @property
    def kinds(self) -> int:
        """Number of span classes: entities of each label and, if fragments are joined, fragments of each."""
        return len(self.labels) * (2 if getattr(self.config, "fragments", False) else 1)


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
