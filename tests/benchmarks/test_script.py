"""Scripts tell what is wrong with their input in one line, and nothing of where in the code it was found."""

import subprocess
import sys
from pathlib import Path

import pytest
from run_scripts import SCRIPTS, told_at_the_end


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["reproduce.py", "train", "missing.yaml"], "reproduce.py: there is no recipe missing.yaml"),
        (["memory.py", "missing"], "memory.py: there is no model missing"),
        (["reproduce.py", "speed", "none"], "reproduce.py: there is no training none"),
    ],
    ids=["recipe", "model", "training"],
)
def test_wrong_input_is_told_in_one_line(
    command: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = told_at_the_end(*command)
    assert isinstance(line, str) and line.startswith(told) and len(line.splitlines()) == 1
    assert capsys.readouterr().err == ""


def test_a_new_process_writes_that_line_and_fails(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / "papers/locate_label.py"), "stage", "missing", "missing.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1 and done.stderr.startswith("locate_label.py: there is no model missing")
    assert len(done.stderr.splitlines()) == 1
