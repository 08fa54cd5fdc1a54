"""`anyner cross-validate`, `train --refit-from`, and the old names of commands."""

import json
from pathlib import Path

import pytest
from command_line import anyner_command

from anyner.training.processes import Interrupted

RECIPE = Path(__file__).parent.parent.parent / "recipes/biaffine/demo.yaml"
CHANGES = (
    "data.synthetic={sentences: 30, contiguous: true}",
    "encoder={source: from_scratch, scratch_width: 32, pooling: first, lstm_layers: 0}",
    "training={epochs: 4, batch_sentences: 4, encoder_lr: 0.004, head_lr: 0.004, word_dropout: 0, average_epochs: 0}",
)
SMALL = [part for change in CHANGES for part in ("--set", change)]


def test_from_folds_to_a_model_of_all_documents(tmp_path: Path) -> None:
    folds, model = tmp_path / "folds", tmp_path / "model"
    for _ in range(2):  # the second call finds the model trained
        alone = anyner_command("cross-validate", RECIPE, "-o", folds, "--folds", 2, "--fold", 2, *SMALL)
        assert alone.code == 0 and "fold-2-of-2: trained" in alone.out, alone
    assert "epoch 1" not in alone.err and not (folds / "soft_labels.jsonl").exists()
    early = anyner_command("train", "--refit-from", folds, "-o", model)
    early.assert_one_line("has no refit.json yet: run anyner cross-validate again, without --fold")
    answer = anyner_command("cross-validate", RECIPE, "-o", folds, "--folds", 2, *SMALL)
    assert answer.code == 0 and "fold 2 of 2" in answer.err, answer
    found = json.loads((folds / "refit.json").read_text(encoding="utf-8"))
    assert found["score"]["f1"] > 0
    assert f"best epoch {found['epoch']}, score {found['thresholds']['score']:g}; soft labels for 34 documents" in answer.out
    refit = anyner_command(
        "train", "--refit-from", folds, "-o", model, "--set", f"data.soft_labels={folds / 'soft_labels.jsonl'}"
    )
    assert refit.code == 0 and "soft labels for 34 of 34 training documents" in refit.err, refit
    assert f"trained on train and dev (epoch {found['epoch']} of {found['epoch']})" in refit.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "3", "--fold", "4"], "fold: expected 1 to 3, got 4"),
        (["--folds", "90"], "34 documents in train and dev are too few for 90 folds"),
        (["--set", "refit.epoch=1"], "already has `refit`"),
        (["--set", "data.soft_labels=nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    answer = anyner_command("cross-validate", RECIPE, "-o", tmp_path / "out", *SMALL, *arguments)
    answer.assert_one_line(message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("code", [130, 143])
def test_an_interrupted_call_exits_with_the_code_of_its_signal(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise Interrupted(code)

    monkeypatch.setattr("anyner.training.cross_validation.cross_validate", stopped)
    answer = anyner_command("cross-validate", RECIPE, "-o", tmp_path / "out", "-q")
    assert (answer.code, answer.err) == (code, "anyner: stopped; repeat the command to continue\n")


def test_folds_that_learned_nothing_are_reported(tmp_path: Path) -> None:
    blind = ("--set", "training.head_lr=1e-9", "--set", "training.encoder_lr=1e-9", "--set", "training.epochs=1")
    answer = anyner_command("cross-validate", RECIPE, "-o", tmp_path / "out", "--folds", 2, *SMALL, *blind)
    assert answer.code == 0 and "out-of-fold F1 0.00" in answer.out, answer
    assert answer.err.splitlines()[-1].startswith("anyner: nothing was learned (F1 is 0)")
    soft_labels = f"data.soft_labels={tmp_path / 'out/soft_labels.jsonl'}"
    unused = anyner_command("train", RECIPE, "-o", tmp_path / "model", *SMALL, "--set", soft_labels)
    unused.assert_one_line("soft_labels.jsonl has no entity in the training texts")
    assert not (tmp_path / "model").exists()
