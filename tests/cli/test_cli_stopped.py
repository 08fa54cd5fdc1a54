"""A training run that is interrupted, or out of disk space, says in one line how to continue."""

from __future__ import annotations

import errno
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import anyner_command

from anyner.training.progress import TerminalListener

TRAIN = ("train", "--data", "synthetic:contiguous", "--encoder", "from_scratch")
SMALL = (
    *("--set", "data.synthetic.sentences=20", "--set", "training.epochs=3"),
    *("--set", "encoder.scratch_width=16"),
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int) -> None:
    folder = tmp_path / "m"
    with monkeypatch.context() as patched:
        patched.setattr(TerminalListener, "epoch", lambda *_: signal.raise_signal(number))
        stopped = anyner_command(*TRAIN, "-o", folder, *SMALL)
    assert (stopped.code, stopped.out) == (code, "")
    assert stopped.err.splitlines()[-1] == f"anyner: stopped; continue with: anyner train -o {folder} --resume"
    assert "the training is not finished" in anyner_command("info", folder).out
    anyner_command(*TRAIN, "-q", "-o", folder).assert_one_line("unfinished training")
    resumed = anyner_command("train", "-q", "-o", folder, "--resume")
    assert resumed.code == 0 and "of 3)" in resumed.out
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 3


def test_a_full_disk_is_one_line_that_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "m"
    with monkeypatch.context() as patched:
        patched.setattr("anyner.storage.save.save_file", full)
        anyner_command(*TRAIN, "-q", "-o", folder, *SMALL).assert_one_line(
            f"{folder / 'model.safetensors'}: no space left on the disk: free some space, then resume the training: "
            f"anyner train -o {folder} --resume\n"
        )
    resumed = anyner_command("train", "-q", "-o", folder, "--resume")
    assert resumed.code == 0 and "of 3)" in resumed.out
    with monkeypatch.context() as patched:
        patched.setattr("anyner.training.checkpoint.save_file", full)
        anyner_command(*TRAIN, "-q", "-o", tmp_path / "n", *SMALL).assert_one_line("free some space, then start again\n")


def test_the_command_to_go_on_names_the_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TerminalListener, "epoch", lambda *_: signal.raise_signal(signal.SIGINT))
    stopped = anyner_command(*TRAIN, "-o", tmp_path / "m", *SMALL, "--quality", "fast")
    again = f"anyner train --quality fast -o {tmp_path / 'm'} --resume"
    assert stopped.err.splitlines()[-1] == f"anyner: stopped; continue with: {again}"
