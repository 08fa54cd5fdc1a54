"""Scripts tell what is wrong with their input in one line, and nothing of where in the code it was found."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["accuracy.py", "missing.yaml"], "accuracy.py: there is no recipe missing.yaml"),
        (["memory.py", "missing"], "memory.py: there is no model missing"),
        (["tried.py", "missing.json", "-o", "out.json"], "tried.py: missing.json: No such file or directory"),
        (["side_by_side.py", "--commands", "missing.txt"], "side_by_side.py: missing.txt: No such file or directory"),
    ],
    ids=["recipe", "model", "results", "commands"],
)
def test_wrong_input_is_told_in_one_line(command: list[str], told: str, tmp_path: Path) -> None:
    script, *arguments = command
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(told)
    assert len(done.stderr.splitlines()) == 1
