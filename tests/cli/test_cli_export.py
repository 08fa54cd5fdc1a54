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
from anyner.export.int8 import remove_int8
from anyner.storage.bundled import bundled_folder
from anyner.storage.graph import graph_of


def test_a_graph_stays_only_if_it_gives_the_same_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = bundled_folder("general-en")
    assert source is not None
    folder = Path(shutil.copytree(source, tmp_path / "model"))
    monkeypatch.setattr(parity, "add_graph", lambda *_: remove_int8(folder))  # there is one already
    done = anyner_command("export", folder, "--corpus", "synthetic:contiguous:test", "--most", 2)
    assert done.code == 0, done.err
    assert "in 2 documents, scores within" in done.err and "removed the int8 graph" in done.err
    assert json.loads((folder / "parity.json").read_text(encoding="utf-8"))["differing"] == 0
    assert not hasattr(anyner.load(folder, device="cpu").runtime, "model")

    compared = parity.compared

    def other(*given: Any) -> Any:
        return replace(compared(*given), differing=3)

    monkeypatch.setattr(parity, "compared", other)
    failed = anyner_command("export", folder, "--corpus", "synthetic:contiguous:test", "--most", 2)
    failed.assert_one_line("the graph and torch disagree", "3 entities differ")
    assert graph_of(folder) is None
    assert not list(folder.glob("graph*")) and not (folder / "parity.json").exists()


def test_bundled_models_are_not_changed() -> None:
    refused = anyner_command("export", "general-en")
    refused.assert_one_line("general-en: cannot change a bundled or hub model")
