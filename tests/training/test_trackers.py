from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.errors import AnynerError
from anyner.training import trackers
from anyner.training.config import Recipe
from anyner.training.run import run


def test_tensorboard_gets_the_losses_and_dev_scores_of_every_epoch(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed")
    few = ("data.synthetic.sentences=20", "training.trackers=[tensorboard]")
    folder = run(tiny(*few), tmp_path / "model").folder
    logged = events.EventAccumulator(str(folder / trackers.PROJECT)).Reload()
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    for name, key in [("dev/f1", "dev_f1"), ("epoch", "epoch"), ("sentences_per_second", "sentences_per_second")]:
        found = [(event.step, event.value) for event in logged.Scalars(name)]
        assert found == [(record["step"], pytest.approx(record[key])) for record in records]
    assert {f"loss/{name}" for name in records[0]["losses"]} <= set(logged.Tags()["scalars"])


def test_a_tracker_that_is_unknown_or_not_installed_is_one_line(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AnynerError, match=r"training\.trackers\.0.*'tensorboard', 'mlflow' or 'wandb'"):
        tiny("training.trackers=[paper]")
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    with pytest.raises(AnynerError, match=r"^training\.trackers: wandb is not installed: pip install wandb$"):
        run(tiny("training.trackers=[wandb]"), tmp_path / "model")
    assert not (tmp_path / "model").exists()
