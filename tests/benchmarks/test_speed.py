"""Models are timed in rounds: each in turn, after a warm-up round, and the fastest counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import anyner
from anyner.corpora.synthetic import synthetic

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("speed")


def test_the_fastest_of_several_rounds_counts_and_the_first_does_not(speed: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now, order = [0.0], list[str]()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def taking(name: str, *seconds: float) -> Callable[[], None]:
        left = iter(seconds)

        def work() -> None:
            order.append(name)
            now[0] += next(left)

        return work

    assert speed.in_rounds([taking("a", 1, 5, 4, 6), taking("b", 9, 2, 8, 7)], 3) == [4, 2]
    assert order == ["a", "b"] * 4


def test_each_model_gets_its_own_times(speed: ModuleType, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed = list[int]()

    def counted(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
        for work in works:
            work()
        timed.append(repeats)
        return [float(place + 1) for place in range(len(works))]

    monkeypatch.setattr(speed, "in_rounds", counted)
    ner, documents = anyner.load(tiny_model), synthetic(6, contiguous=True).documents
    first, second = speed.speeds([speed.Entrant(ner, documents, "six"), speed.Entrant(ner, documents[:3], "three", 64)], 7)
    assert timed == [7]
    assert (first["corpus"], first["documents"], first["batch_tokens"]) == ("six", 6, ner.batch_tokens)
    assert (second["corpus"], second["documents"], second["batch_tokens"]) == ("three", 3, 64)
    assert (first["device_ratio"], first["end_to_end_ratio"], first["end_to_end_sentences_per_second"]) == (2, 1.333, 1.5)
    assert (second["device_ratio"], second["end_to_end_ratio"]) == (1.2, 1.143)
    assert second["end_to_end_sentences_per_second"] == 0.4


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("data/genia/test.jsonl.xz", "genia"),
        ("data/genia/dev.jsonl", "genia-dev"),
        ("posts.jsonl", "posts"),
        ("test.jsonl", "test"),
    ],
)
def test_results_are_named_by_their_corpus(speed: ModuleType, path: str, name: str) -> None:
    assert speed.corpus_name(Path(path)) == name
