"""How much memory one long document needs beyond its text and its entities.

Each document is predicted in a process of its own: the model is loaded, a short text warms it up, and the peak of the resident
memory from then on is taken. The peak less the text and the entities, which includes model and libraries, must not grow with
the document. (The memory right before prediction is reported too, but it varies by tens of megabytes with what the allocator
has just released, so it is not used as the baseline of the peak.)

python benchmarks/memory.py MODEL -o benchmarks/results/memory-NAME.json
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from threading import Event, Thread
from typing import Any

import psutil
from script import header, parser_of, run, write_result

from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.storage.load import find, load
from anyner.text.words import iterate_words

_SENTENCES = 2000
_GROWTH = 32 * 2**20
"""Tolerance for noise of the allocator and of sampling; a leak of 45 bytes per word would exceed it."""


@dataclass(frozen=True, slots=True)
class Measured:
    words: int
    characters: int
    entities: int
    coverage: float
    seconds: float
    baseline_bytes: int
    """Resident memory after loading and warming up, with the text in memory."""
    peak_bytes: int
    text_bytes: int
    entities_bytes: int
    beyond_bytes: int
    """Peak less the text and the entities."""


def long_text(words: int) -> str:
    """About this many words of synthetic sentences, repeated as needed."""
    return " ".join(_sentences(words))


def _sentences(words: int) -> Iterator[str]:
    documents = synthetic(_SENTENCES, contiguous=True, split="test").documents
    sizes = [sum(1 for _ in iterate_words(document.text, "unicode")) for document in documents]
    while words > 0:
        for document, size in zip(documents, sizes, strict=True):
            yield document.text
            words -= size
            if words <= 0:
                return


def entities_bytes(document: Document) -> int:
    """Memory of the entities themselves: every object they are made of, labels aside, which are shared."""
    total = sys.getsizeof(document.entities)
    for entity in document.entities:
        total += (
            sys.getsizeof(entity) + sys.getsizeof(entity.text) + sys.getsizeof(entity.score) + sys.getsizeof(entity.fragments)
        )
        total += sum(sys.getsizeof(fragment) + sum(map(sys.getsizeof, fragment)) for fragment in entity.fragments)
    return total


class PeakOf:
    """The highest resident memory of this process while the block runs, sampled every few milliseconds."""

    def __enter__(self) -> PeakOf:
        self._process, self._over = psutil.Process(), Event()
        self.baseline = self.peak = self._resident()
        self._watcher = Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()
        self.peak = max(self.peak, self._resident())

    def _resident(self) -> int:
        return int(self._process.memory_info().rss)

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self.peak = max(self.peak, self._resident())


def measure(model: str, words: int, batch_tokens: int) -> Measured:
    recognizer = load(model)
    recognizer.predict(long_text(min(words, 20_000)), batch_tokens=batch_tokens)
    text = long_text(words)
    counted = sum(1 for _ in iterate_words(text, recognizer.config.text.splitter))
    began = time.perf_counter()
    with PeakOf() as watched:
        document = recognizer.predict(text, batch_tokens=batch_tokens)
    own = entities_bytes(document)
    return Measured(
        words=counted,
        characters=len(text),
        entities=len(document.entities),
        coverage=document.coverage,
        seconds=round(time.perf_counter() - began, 1),
        baseline_bytes=watched.baseline,
        peak_bytes=watched.peak,
        text_bytes=sys.getsizeof(text),
        entities_bytes=own,
        beyond_bytes=watched.peak - sys.getsizeof(text) - own,
    )


def memory(model: str, words: Sequence[int], batch_tokens: int) -> dict[str, Any]:
    """Measures documents of these numbers of words, and compares the first with the last."""
    find(model)  # fails here rather than in the process that would load it
    documents = [asdict(_measured_apart(model, count, batch_tokens)) for count in words]
    growth = documents[-1]["beyond_bytes"] - documents[0]["beyond_bytes"]
    return {
        **header("memory"),
        "batch_tokens": batch_tokens,
        "documents": documents,
        "growth_beyond_bytes": growth,
        "bounded": growth <= _GROWTH,
    }


def _measured_apart(model: str, words: int, batch_tokens: int) -> Measured:
    """Measures in a new process, so that one document's memory cannot hide in what another left."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, model, words, batch_tokens).result()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[250_000, 1_000_000], help="lengths of the documents")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    result = memory(arguments.model, arguments.words, arguments.batch_tokens)
    print(json.dumps(result, indent=1))
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
