"""The proof of a graph: the same texts read by both runtimes, in batches of several sizes and in several orders."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from anyner.document import Document
from anyner.errors import AnynerError
from anyner.fragments import Fragments
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import write_text
from anyner.storage.graph import PARITY

CLOSE = 1e-4
"""Most that two scores of the same entity may differ by."""
BATCHES = (1, 7, 64)
"""Documents that are read at once."""
Scores = dict[tuple[int, str, Fragments], float]


@dataclass(frozen=True, slots=True)
class Parity:
    """What a comparison found."""

    documents: int
    entities: int
    """Of the first runtime."""
    differing: int
    """Entities that one way found and another did not, over all batches."""
    largest_difference: float
    """Of the scores of one entity."""
    speedup: float
    """Documents a second of the second runtime over those of the first, in batches as each prefers."""

    @property
    def holds(self) -> bool:
        return not self.differing and self.largest_difference <= CLOSE

    def write(self, folder: Path) -> None:
        write_text(folder / PARITY, json.dumps(asdict(self), indent=1) + "\n")


def compared(first: Recognizer, second: Recognizer, documents: Sequence[Document]) -> Parity:
    """Two ways to run one model on the same documents. The first reads them once, the second in all batches and orders."""
    if not documents:
        raise AnynerError("there are no documents to compare the runtimes on")
    start = time.perf_counter()
    expected = _scores(enumerate(first.predict(list(documents))))
    middle = time.perf_counter()
    readings = [_scores(enumerate(second.predict(list(documents))))]
    stop = time.perf_counter()
    order = sorted(range(len(documents)), key=lambda place: (place * 7919) % len(documents))  # neighbours change
    for size in BATCHES:
        for places in (list(range(len(documents))), order[::-1]):
            batches = (places[start : start + size] for start in range(0, len(places), size))
            found = (zip(own, second.predict([documents[place] for place in own]), strict=True) for own in batches)
            readings.append(_scores(pair for batch in found for pair in batch))
    differing = sum(len(expected.keys() ^ found.keys()) for found in readings)
    apart = (abs(expected[key] - found[key]) for found in readings for key in expected.keys() & found.keys())
    return Parity(len(documents), len(expected), differing, max(apart, default=0.0), (middle - start) / (stop - middle))


def _scores(documents: Iterable[tuple[int, Document]]) -> Scores:
    return {(number, *entity.key): entity.score or 0.0 for number, document in documents for entity in document.entities}
