"""Which encoder `anyner train` starts from, and what it says when there is none."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import anyner_command

from anyner.encoding.pretrained import load_pretrained
from anyner.errors import AnynerError


def test_an_absent_encoder_is_one_line_where_the_hub_may_not_be_asked(tmp_path: Path) -> None:
    command = ("train", "--data", "synthetic", "--encoder", "nonexistent/thing", "-o", tmp_path / "m")
    anyner_command(*command).assert_one_line(
        "encoder.source: cannot load 'nonexistent/thing': no such folder or bundled model, "
        "and the Hugging Face Hub is not reachable (HF_HUB_OFFLINE is set)"
    )


def test_an_absent_encoder_is_one_line_where_nothing_answers(tmp_path: Path) -> None:
    code = "import time; time.sleep = lambda _: None; from anyner.cli.main import run; run()"  # it asks again and again
    command = ["train", "--data", "synthetic", "--encoder", "nonexistent/thing", "-o", str(tmp_path / "m")]
    nobody = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path), "NO_PROXY": "*"}
    asked = [sys.executable, "-c", code, *command]
    done = subprocess.run(asked, env={**os.environ, **nobody}, capture_output=True, text=True, check=False)
    reason = "no such folder or bundled model, and the Hugging Face Hub is not reachable"
    assert done.stderr == f"anyner: encoder.source: cannot load 'nonexistent/thing': {reason}\n"
    assert (done.returncode, done.stdout) == (1, "")


def test_the_libraries_are_as_loud_after_loading_as_before(tmp_path: Path) -> None:
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    with pytest.raises(AnynerError):
        load_pretrained(str(tmp_path))
    assert [logger.level for logger in loggers] == levels
