"""Adds graphs to a model folder and checks them: both runtimes read the same texts, in several batch sizes and orders."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.export.graph import add_graph
from anyner.export.int8 import add_int8, remove_int8
from anyner.fragments import Fragments
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import write_text
from anyner.storage.graph import PARITY, remove_graph
from anyner.storage.load import load

CLOSE = 1e-4
"""Maximum difference between two scores of the same entity."""
MOST_LOST = 0.002
"""Maximum loss of F1 in int8."""
BATCHES = (1, 7, 64)
"""Batch sizes, in documents."""
Scores = dict[tuple[int, str, Fragments], float]


@dataclass(frozen=True, slots=True)
class Parity:
    """The result of comparing two runtimes."""

    documents: int
    entities: int
    """Entities found by the first runtime."""
    differing: int
    """Entities that only one of the runtimes found, over all batches."""
    largest_difference: float
    """Largest difference between two scores of the same entity."""
    speedup: float
    """Documents per second of the second runtime over those of the first, with default batches."""

    @property
    def holds(self) -> bool:
        return not self.differing and self.largest_difference <= CLOSE


@dataclass(frozen=True, slots=True)
class Int8Parity:
    """What the int8 graph costs and saves. Its scores differ, so it is judged by gold entities."""

    documents: int
    f1: float
    f1_in_float32: float
    differing: int
    """Entities that depend on the batch."""
    largest_difference: float
    """Largest difference between the scores of an entity in two batches."""
    speedup: float
    """Documents per second over those of the float32 graph."""

    @property
    def holds(self) -> bool:
        whatever_the_batch = not self.differing and self.largest_difference <= CLOSE
        return whatever_the_batch and self.f1_in_float32 - self.f1 <= MOST_LOST


def add_checked_graph(folder: Path, documents: Sequence[Document]) -> Parity:
    """Exports the model and predicts the documents in both runtimes. If the results differ, the graph is removed."""
    in_torch = load(folder, device="cpu", runtime="torch")
    add_graph(in_torch, folder)
    try:
        parity = compared(in_torch, load(folder, runtime="onnx"), documents)
        if not parity.holds:
            difference = f"{parity.differing} entities differ, scores by up to {parity.largest_difference:.1e}"
            raise AnynerError(f"{folder}: the graph and torch disagree: {difference}")
    except BaseException:
        remove_graph(folder)
        raise
    write_parity(folder, parity)
    return parity


def add_checked_int8(folder: Path, parity: Parity, documents: Sequence[Document]) -> Int8Parity:
    """Adds an int8 graph to a folder whose graph has been checked; it is removed if it loses too much F1."""
    add_int8(folder)
    try:
        int8 = compared_int8(load(folder, runtime="onnx"), load(folder, runtime="int8"), documents)
        if not int8.holds:
            scores = f"F1 {100 * int8.f1:.1f} instead of {100 * int8.f1_in_float32:.1f} on {int8.documents} documents"
            raise AnynerError(f"{folder}: no int8 graph: it loses more than {100 * MOST_LOST:.1f} points: {scores}")
    except BaseException:
        remove_int8(folder)
        raise
    write_parity(folder, parity, int8)
    return int8


def write_parity(folder: Path, parity: Parity, int8: Int8Parity | None = None) -> None:
    plain = asdict(parity) | ({"int8": asdict(int8)} if int8 else {})
    write_text(folder / PARITY, json.dumps(plain, indent=1) + "\n")


def compared(first: Recognizer, second: Recognizer, documents: Sequence[Document]) -> Parity:
    """Compares two runtimes of one model. The first reads the documents once, the second in all batch sizes and orders."""
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


def compared_int8(in_onnx: Recognizer, in_int8: Recognizer, documents: Sequence[Document]) -> Int8Parity:
    """Compares both graphs of one model on documents with gold entities."""
    if not any(document.entities for document in documents):
        raise AnynerError("an int8 graph is checked on gold entities, but these documents have none: name a corpus that has some")
    start = time.perf_counter()
    expected = in_onnx.predict(list(documents))
    middle = time.perf_counter()
    found = in_int8.predict(list(documents))
    stop = time.perf_counter()
    f1, f1_in_float32 = (evaluate_documents(documents, own).strict.f1 for own in (found, expected))
    together = _scores(enumerate(found))
    alone = _scores(enumerate(map(in_int8.predict, documents)))
    apart = max((abs(together[key] - alone[key]) for key in together.keys() & alone.keys()), default=0.0)
    speedup = (middle - start) / (stop - middle)
    return Int8Parity(len(documents), f1, f1_in_float32, len(together.keys() ^ alone.keys()), apart, speedup)


def _scores(documents: Iterable[tuple[int, Document]]) -> Scores:
    return {(number, *entity.key): entity.score or 0.0 for number, document in documents for entity in document.entities}
