"""`anyner choose`: what it finds is taken over by `train --as`, and one clear line for whatever is wrong."""

import json
from pathlib import Path

import pytest
from command_line import anyner_command

RECIPE = Path(__file__).parent.parent.parent / "recipes/biaffine/demo.yaml"
CHANGES = (
    "data.synthetic={train: 60, dev: 20, test: 1, contiguous: true}",
    "encoder={source: fresh, fresh_width: 32, fresh_layers: 1, fresh_vocabulary: 400}",
    "training={epochs: 4, batch_sentences: 4, encoder_lr: 0.004, head_lr: 0.004}",
)
SMALL = [part for change in CHANGES for part in ("--set", change)]


def test_from_folds_to_a_model_of_all_documents(tmp_path: Path) -> None:
    alone = anyner_command("choose", RECIPE, "-o", tmp_path / "folds", "--folds", 2, "--fold", 2, *SMALL)
    assert alone.code == 0 and "fold-2-of-2: the model of fold 2 is trained" in alone.out, alone
    early = anyner_command("train", "--as", tmp_path / "folds", "-o", tmp_path / "model")
    early.assert_one_line("holds no chosen.json yet: call anyner choose once more, without --fold")
    answer = anyner_command("choose", RECIPE, "-o", tmp_path / "folds", "--folds", 2, *SMALL)
    assert answer.code == 0, answer
    told = json.loads((tmp_path / "folds/chosen.json").read_text(encoding="utf-8"))
    assert told["score"]["f1"] > 0
    assert f"chosen.json: epoch {told['epoch']}, score {told['thresholds']['score']:g}; F1 unseen " in answer.out
    model = anyner_command("train", "--as", tmp_path / "folds", "-o", tmp_path / "model")
    assert model.code == 0 and "80 training documents" in model.err, model
    assert f"learned from dev as well (epoch {told['epoch']} of {told['epoch']})" in model.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "3", "--fold", "4"], "there is no fold 4 of 3"),
        (["--folds", "90"], "80 training documents are too few for 90 folds"),
        (["--set", "chosen.epoch=1"], "has `chosen` already"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    answer = anyner_command("choose", RECIPE, "-o", tmp_path / "out", *SMALL, *arguments)
    answer.assert_one_line(message)
    assert not (tmp_path / "out").exists()


def test_folds_that_learned_nothing_are_told(tmp_path: Path) -> None:
    blind = ("--set", "training.head_lr=1e-9", "--set", "training.encoder_lr=1e-9", "--set", "training.epochs=1")
    answer = anyner_command("choose", RECIPE, "-o", tmp_path / "out", "--folds", 2, *SMALL, *blind)
    assert answer.code == 0 and "F1 unseen 0.00" in answer.out, answer
    assert answer.err.splitlines()[-1].startswith("anyner: nothing was learned: look at the data")
