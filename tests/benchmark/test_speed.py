"""Works are timed in rounds: each in turn, a first round aside, the fastest counts."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from anyner.benchmark.speed import in_rounds


def test_the_fastest_of_several_rounds_counts_and_the_first_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now, order = [0.0], list[str]()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def taking(name: str, *seconds: float) -> Callable[[], None]:
        left = iter(seconds)

        def work() -> None:
            order.append(name)
            now[0] += next(left)

        return work

    assert in_rounds([taking("a", 1, 5, 4, 6), taking("b", 9, 2, 8, 7)], 3) == [4, 2]
    assert order == ["a", "b"] * 4
