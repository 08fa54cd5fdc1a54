"""Scripts tell what is wrong with their input in one line, and nothing of where in the code it was found."""

import subprocess
import sys
from pathlib import Path

import pytest
from run_scripts import SCRIPTS, told_at_the_end


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["accuracy.py", "missing.yaml"], "accuracy.py: there is no recipe missing.yaml"),
        (["memory.py", "missing"], "memory.py: there is no model missing"),
        (["side_by_side.py", "--commands", "missing.txt"], "side_by_side.py: missing.txt: No such file or directory"),
    ],
    ids=["recipe", "model", "results"],
)
def test_wrong_input_is_told_in_one_line(
    command: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = told_at_the_end(*command)
    assert isinstance(line, str) and line.startswith(told) and len(line.splitlines()) == 1
    assert capsys.readouterr().err == ""


def test_a_new_process_writes_that_line_and_fails(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / "side_by_side.py"), "--commands", "missing.txt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (1, "side_by_side.py: missing.txt: No such file or directory\n")
