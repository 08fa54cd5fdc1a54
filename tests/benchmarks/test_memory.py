"""Memory of long documents is measured in processes of their own, the longest compared with the shortest."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("memory")


@pytest.mark.slow
def test_memory_is_measured_in_a_new_process(memory: ModuleType, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = memory._measured_apart(str(tiny_model), 1000, 4096)
    assert found.words >= 1000 and found.entities > 0 and found.coverage == 1.0
    assert 0 < found.beyond_bytes < found.peak_bytes
    for more, bounded in ((10**6, True), (10**8, False)):
        monkeypatch.setattr(
            memory,
            "_measured_apart",
            lambda _, words, __, more=more: replace(found, words=words, beyond_bytes=7 + (words > 1) * more),
        )
        told = memory.memory(str(tiny_model), (1, 2), 4096)
        assert [one["words"] for one in told["documents"]] == [1, 2]
        assert (told["growth_beyond_bytes"], told["bounded"]) == (more, bounded)
