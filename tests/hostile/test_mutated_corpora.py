"""Corpus files changed at random are read or refused in one line; mutated_corpora.py does so for minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NoReturn

import pytest
from mutated_corpora import tried, written_samples

from anyner.cli import inspect as command


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return written_samples(tmp_path_factory.mktemp("samples") / "all")


@pytest.mark.parametrize("hundred", range(3))
def test_none_ends_in_anything_but_one_line(samples: list[Path], tmp_path: Path, hundred: int) -> None:
    numbers = range(100 * hundred, 100 * hundred + 100)
    assert [fault for number in numbers if (fault := tried(samples, tmp_path / "scratch", number))] == []


def test_a_foreign_exception_and_a_hang_are_noticed(samples: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> NoReturn:
        raise KeyError("no such key")

    def hanging(*_: object) -> NoReturn:
        time.sleep(3)
        raise AssertionError("not stopped")

    for reader, noticed in ((broken, "KeyError"), (hanging, "took over 1 s")):
        monkeypatch.setattr("mutated_corpora.MOST_SECONDS", 1)
        monkeypatch.setattr(command, "read_parts", reader)
        faults = [fault for number in range(4) if (fault := tried(samples, tmp_path / "scratch", number))]
        assert faults and all(noticed in fault.what for fault in faults)
