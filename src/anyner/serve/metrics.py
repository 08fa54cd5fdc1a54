"""Metrics of a server, in the Prometheus text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
Labels = Mapping[str, str]


class Histogram:
    """Counts of values up to each bound, and their sum."""

    def __init__(self, bounds: Iterable[float]) -> None:
        self._counts = dict.fromkeys((*bounds, float("inf")), 0)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[next(bound for bound in self._counts if value <= bound)] += 1
        self._sum += value

    def lines(self, name: str, help_text: str) -> Iterator[str]:
        yield from _described(name, "histogram", help_text)
        total = 0
        for bound, count in self._counts.items():
            total += count
            yield sample(f"{name}_bucket", total, {"le": "+Inf" if bound == float("inf") else f"{bound:g}"})
        yield sample(f"{name}_sum", self._sum)
        yield sample(f"{name}_count", total)


class Metrics:
    """What happened since the server started."""

    def __init__(self) -> None:
        self._lock = Lock()  # batches are counted in the threads of the models
        self._requests: Counter[tuple[str, int]] = Counter()
        self._texts: Counter[str] = Counter()
        self._entities: Counter[str] = Counter()
        self._seconds, self._batch_texts, self._batch_seconds = Histogram(_SECONDS), Histogram(_TEXTS), Histogram(_SECONDS)

    def request(self, path: str, status: int, seconds: float) -> None:
        self._requests[path, status] += 1
        self._seconds.add(seconds)

    def answered(self, model: str, texts: int, entities: int) -> None:
        self._texts[model] += texts
        self._entities[model] += entities

    def batch(self, texts: int, seconds: float) -> None:
        with self._lock:
            self._batch_texts.add(texts)
            self._batch_seconds.add(seconds)

    def text(self, queued: Mapping[str, int]) -> str:
        """All metrics; `queued`: texts that wait or run, by model."""
        lines = [
            *_described("anyner_requests_total", "counter", "Requests by route and status."),
            *(
                sample("anyner_requests_total", count, {"path": path, "status": str(status)})
                for (path, status), count in sorted(self._requests.items())
            ),
            *self._seconds.lines("anyner_request_seconds", "Seconds from the head of a request to the end of its answer."),
            *_by_model("anyner_texts_total", "counter", "Texts answered.", self._texts),
            *_by_model("anyner_entities_total", "counter", "Entities in the answers.", self._entities),
            *_by_model("anyner_queued_texts", "gauge", "Texts that wait or run.", queued),
        ]
        with self._lock:
            lines += self._batch_texts.lines("anyner_batch_texts", "Texts per batch.")
            lines += self._batch_seconds.lines("anyner_batch_seconds", "Seconds per batch.")
        return "\n".join(lines) + "\n"


def sample(name: str, value: float, labels: Labels | None = None) -> str:
    """A line of the text format.

    >>> sample("texts", 3, {"model": "general-en"})
    'texts{model="general-en"} 3'
    """
    inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in (labels or {}).items())
    return f"{name}{{{inner}}} {value!r}" if inner else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _described(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def _by_model(name: str, kind: str, help_text: str, counts: Mapping[str, int]) -> list[str]:
    return [
        *_described(name, kind, help_text),
        *(sample(name, count, {"model": model}) for model, count in sorted(counts.items())),
    ]
