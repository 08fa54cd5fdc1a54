"""`anyner pretrain`: writes a folder that training can start from; errors are one line."""

import json
from pathlib import Path

import pytest
from command_line import anyner_command

SMALL = ["data.synthetic={sentences: 40, contiguous: true}", "training.epochs=1"]
RECIPE = Path(__file__).parent.parent.parent / "recipes/biaffine/demo.yaml"


def sets(*more: str) -> list[str]:
    return [part for change in (*SMALL, *more) for part in ("--set", change)]


def test_a_training_starts_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a text of six words altogether", encoding="utf-8")
    answer = anyner_command("pretrain", RECIPE, tmp_path / "notes.txt", "-o", tmp_path / "encoder", "--epochs", "2", *sets())
    assert answer.code == 0, answer
    assert "epoch 2: loss" in answer.err and "of masked pieces predicted" in answer.out
    trained = anyner_command("train", RECIPE, "-o", tmp_path / "model", *sets(f"encoder.source={tmp_path / 'encoder'}"))
    assert trained.code == 0, trained


def test_a_single_long_document_is_enough(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": "pain in the left hip and knee " * 100}))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"data: {{folder: {tmp_path}}}\nencoder: {{source: from_scratch}}\n")
    answer = anyner_command("pretrain", recipe, "-o", tmp_path / "encoder", "--epochs", "1")
    assert answer.code == 0, answer
    assert "700 words" in answer.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt"], "nowhere.txt"),
        (["--set", "training.epoch=2"], "training.epoch"),
        (["--set", "encoder.source=./nowhere"], "no such folder: ./nowhere"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    answer = anyner_command("pretrain", RECIPE, "-o", tmp_path / "out", *sets(), *arguments)
    answer.assert_one_line(message)
    assert not (tmp_path / "out").exists()
