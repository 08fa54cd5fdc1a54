from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import anyner_command

import anyner
from anyner.export import parity
from anyner.storage.graph import graph_of


def test_a_graph_is_added_only_if_it_gives_the_same_entities(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
    done = anyner_command("export", folder, "--corpus", "synthetic:contiguous:test", "--most", 20)
    assert done.code == 0, done.err
    assert "in 20 documents, scores within" in done.err
    assert json.loads((folder / "parity.json").read_text(encoding="utf-8"))["differing"] == 0
    assert not hasattr(anyner.load(folder, device="cpu").runtime, "model")

    compared = parity.compared

    def other(*given: Any) -> parity.Parity:
        return replace(compared(*given), differing=3)

    monkeypatch.setattr(parity, "compared", other)
    failed = anyner_command("export", folder, "--corpus", "synthetic:contiguous:test", "--most", 3)
    failed.assert_one_line("gives other results than torch", "3 entities differ")
    assert graph_of(folder) is None
    assert not list(folder.glob("graph*")) and not (folder / "parity.json").exists()
