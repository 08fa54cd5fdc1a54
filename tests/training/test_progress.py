from __future__ import annotations

import json
import math
import re
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from anyner.training.progress import EpochRecord, MetricsFile, TerminalListener

RECORD = EpochRecord(1, 9, {"span": 0.25}, 0.5, 0.25, 1 / 3, None, {"score": 0.5}, 1234.5, 3725.0, True)


def test_metrics_are_one_json_line_an_epoch(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "metrics.jsonl", keep=0)
    file.add(RECORD)
    file.add(RECORD)
    lines = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [asdict(RECORD)] * 2
    assert file.records == 2


def test_lines_after_the_checkpoint_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("1\n2\n3\nhalf a li", encoding="utf-8")
    file = MetricsFile(path, keep=2)
    assert path.read_text(encoding="utf-8") == "1\n2\n"
    file.add(RECORD)
    assert file.records == 3


def test_a_process_that_does_not_write_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("1\n2\n", encoding="utf-8")
    file = MetricsFile(path, keep=1, writes=False)
    file.add(RECORD)
    assert path.read_text(encoding="utf-8") == "1\n2\n"
    assert file.records == 2


def test_without_a_terminal_there_is_a_line_an_epoch_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalListener() as listener:
        listener.note("a note with [brackets]")
        listener.step(1, 0.5, 0.1, 10.0)
        listener.epoch(RECORD)
    captured = capsys.readouterr()
    assert captured.out == ""
    shown = re.sub(r"\s+", " ", captured.err)
    assert "a note with [brackets]" in shown
    assert "epoch 1: loss span 0.2500, dev P 50.00% R 25.00% F1 33.33%, 1,234 sentences/s, 1:02:05 *" in shown


def test_without_a_terminal_the_time_left_is_printed_from_time_to_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("anyner.training.progress.time.monotonic", lambda: now)
    with TerminalListener() as listener:
        for now in (1.0, 59.0, 61.0, 62.0, 119.0, 122.0):
            listener.step(2, now / 200, 0.1, 200.0 - now)
    assert capsys.readouterr().err.splitlines() == [
        "epoch 2:  30%, loss 0.1000, 2:19 left",
        "epoch 2:  61%, loss 0.1000, 1:18 left",
    ]


def test_discontinuous_entities_have_their_own_f1(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalListener() as listener:
        listener.epoch(replace(RECORD, dev_discontinuous_f1=0.125))
    assert "F1 33.33% discontinuous F1 12.50%, 1,234" in re.sub(r"\s+", " ", capsys.readouterr().err)


@pytest.mark.parametrize(("f1", "shown"), [(None, False), (0.125, True)])
def test_the_table_has_a_column_for_discontinuous_entities(
    f1: float | None, shown: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with TerminalListener() as listener:
        listener.epoch(replace(RECORD, dev_discontinuous_f1=f1))
        listener.step(2, 0.5, 0.1, 75.0)
    err = capsys.readouterr().err
    assert ("disc. F1" in err) == shown
    assert ("12.50" in err) == shown


def test_on_a_terminal_there_is_a_table_with_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with TerminalListener() as listener:
        listener.epoch(RECORD)
        listener.step(2, 0.5, 0.1, 75.0)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "dev F1" in shown
    assert "33.33" in shown
    assert "1:02:05" in shown


def test_in_a_log_what_runs_is_named_at_most_once_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyner.training.progress._SECONDS_OF_A_TICK", 0.001)
    monkeypatch.setattr("anyner.training.progress._SECONDS_UNSAID", 0.02)
    monkeypatch.setattr(TerminalListener, "_said", -math.inf)
    with TerminalListener() as listener:
        for what in ("reading the corpus", "scoring dev"):
            with listener.running(what):
                time.sleep(0.1)
    assert capsys.readouterr().err == "reading the corpus, 0:00\n"


def test_on_a_terminal_what_runs_is_a_live_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("anyner.training.progress._SECONDS_OF_A_TICK", 0.01)
    with TerminalListener() as listener, listener.running("scoring dev"):
        time.sleep(0.5)
    err = capsys.readouterr().err
    assert "scoring dev, 0:00" in err
    assert "dev F1" not in err
