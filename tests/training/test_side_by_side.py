"""Trainings in parallel processes: the folds of a cross-validation, errors and signals."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from light_trainings import fails, waits

from anyner.errors import AnynerError
from anyner.training import cross_validation as module
from anyner.training.config import Recipe
from anyner.training.cross_validation import cross_validate
from anyner.training.processes import Interrupted
from anyner.training.progress import Listener
from anyner.training.side_by_side import gpus, side_by_side

Noting = Callable[[], tuple[Listener, list[str]]]
FEW = Recipe.of(
    {
        "data": {"synthetic": {"sentences": 12, "contiguous": True}},
        "architecture": "biaffine",
        "encoder": {"source": "from_scratch", "scratch_width": 16, "lstm_layers": 0},
        "training": {"epochs": 2, "batch_sentences": 4},
    },
    "recipe",
)
CPUS = ["", ""]
"""Two devices without a GPU; for each, a process imports torch."""


@pytest.mark.slow
def test_folds_on_two_devices_give_the_files_of_folds_in_turn(
    noting: Noting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross_validate(FEW, tmp_path / "in turn", folds=2)
    monkeypatch.setattr(module, "gpus", lambda: CPUS)
    listener, lines = noting()
    cross_validate(FEW, tmp_path / "apart", folds=2, listener=listener)
    for name in ("soft_labels.jsonl", "refit.json", "recipe.yaml"):
        assert (tmp_path / "apart" / name).read_bytes() == (tmp_path / "in turn" / name).read_bytes()
    for fold in (1, 2):
        assert sum(line.startswith(f"fold {fold}: epoch 2: loss span ") for line in lines) == 1


@pytest.mark.slow
def test_one_that_fails_stops_the_others_and_its_error_is_raised(noting: Noting, tmp_path: Path) -> None:
    listener, lines = noting()
    with pytest.raises(AnynerError, match=r"^fold 2: the disk is full$"):
        side_by_side({"fold 1": partial(waits, tmp_path), "fold 2": partial(fails)}, CPUS, listener)
    assert "fold 2: begins" in lines


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_where_they_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
    class StopsAtOnce(Listener):
        def note(self, line: str) -> None:
            os.kill(os.getpid(), number)

    with pytest.raises(Interrupted) as stopped:
        side_by_side({"fold 1": partial(waits, tmp_path)}, CPUS[:1], StopsAtOnce())
    assert stopped.value.exit_code == 128 + number
    assert (tmp_path / "stopped").exists()


def test_devices_are_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    assert gpus() == ["2", "5"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    assert gpus() == ["0", "1", "2"]
