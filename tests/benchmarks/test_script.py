"""Scripts report wrong input in one line, without a traceback."""

import runpy
import sys
from pathlib import Path

import pytest
from run_scripts import SCRIPTS, told_at_the_end


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["reproduce.py", "train", "missing.yaml"], "reproduce.py: missing.yaml: no such recipe"),
        (["memory.py", "missing"], "memory.py: cannot find model missing"),
        (["reproduce.py", "speed", "none"], "reproduce.py: unknown model none"),
    ],
    ids=["recipe", "model", "training"],
)
def test_wrong_input_is_reported_in_one_line(
    command: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = told_at_the_end(*command)
    assert isinstance(line, str) and line.startswith(told) and len(line.splitlines()) == 1
    assert capsys.readouterr().err == ""


def test_a_script_in_a_folder_finds_the_shared_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python puts the folder of a script in its path: here `papers/`, not the folder of `script.py`."""
    path = SCRIPTS / "papers/locate_label.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(path.parent), *(one for one in sys.path if one != str(SCRIPTS))])
    monkeypatch.setattr(sys, "argv", [str(path), "stage", "missing", "missing.jsonl"])
    monkeypatch.delitem(sys.modules, "script", raising=False)
    with pytest.raises(SystemExit, match=r"^locate_label\.py: cannot find model missing"):
        runpy.run_path(str(path), run_name="__main__")
