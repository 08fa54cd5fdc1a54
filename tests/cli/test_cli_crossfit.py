"""`anyner crossfit`: one file that the next training learns from, and one clear line for whatever is wrong."""

from pathlib import Path

import pytest
from command_line import anyner_command

SMALL = [
    "data.synthetic={train: 12, dev: 4, test: 1, contiguous: true}",
    "encoder={source: fresh, fresh_width: 32, fresh_layers: 1, fresh_vocabulary: 400}",
    "training.epochs=1",
]
RECIPE = Path(__file__).parent.parent.parent / "recipes/biaffine/demo.yaml"


def sets(*more: str) -> list[str]:
    return [part for change in (*SMALL, *more) for part in ("--set", change)]


def test_what_it_writes_is_what_a_training_reads(tmp_path: Path) -> None:
    quick = "training={epochs: 4, batch_sentences: 4, encoder_lr: 0.004, head_lr: 0.004, passages: false}"
    enough = ("data.synthetic.train=60", quick)
    answer = anyner_command("crossfit", RECIPE, "-o", tmp_path / "out", "--folds", 2, *sets(*enough))
    assert answer.code == 0, answer
    assert f"{tmp_path / 'out' / 'opinions.jsonl'}: 60 documents" in answer.out
    assert "fold 2 of 2" in answer.err and "nothing was learned" not in answer.err
    opinions = f"data.opinions={tmp_path / 'out' / 'opinions.jsonl'}"
    learned = anyner_command("train", RECIPE, "-o", tmp_path / "model", *sets(*enough, "training.epochs=1", opinions))
    assert learned.code == 0, learned
    assert "opinions of other models on 60 of 60 training documents" in learned.err


def test_models_that_learned_nothing_are_told_and_not_heard(tmp_path: Path) -> None:
    answer = anyner_command("crossfit", RECIPE, "-o", tmp_path / "out", "--folds", 2, *sets())
    assert answer.code == 0 and "anyner: nothing was learned" in answer.err, answer
    deaf = anyner_command("train", RECIPE, "-o", tmp_path / "m", *sets(f"data.opinions={tmp_path / 'out/opinions.jsonl'}"))
    deaf.assert_one_line("opinions.jsonl holds no entity of the training texts")
    assert not (tmp_path / "m").exists()


def test_folds_trained_by_themselves_are_taken_up(tmp_path: Path) -> None:
    together = anyner_command("crossfit", RECIPE, "-o", tmp_path / "together", "--folds", 2, *sets())
    assert together.code == 0, together
    for fold in (2, 1):
        alone = anyner_command("crossfit", RECIPE, "-o", tmp_path / "apart", "--folds", 2, "--fold", fold, *sets())
        assert alone.code == 0 and f"fold-{fold}-of-2: the model of fold {fold} is trained" in alone.out, alone
    assert not (tmp_path / "apart/opinions.jsonl").exists()
    weights = tmp_path / "apart/fold-2-of-2/model.safetensors"
    trained = weights.stat().st_mtime_ns
    again = anyner_command("crossfit", RECIPE, "-o", tmp_path / "apart", "--folds", 2, "--fold", 2, *sets())
    assert again.code == 0 and weights.stat().st_mtime_ns == trained
    collected = anyner_command("crossfit", RECIPE, "-o", tmp_path / "apart", "--folds", 2, *sets())
    assert collected.code == 0 and "epoch 1" not in collected.err
    opinions = [(tmp_path / name / "opinions.jsonl").read_text(encoding="utf-8") for name in ("apart", "together")]
    assert opinions[0] == opinions[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "3", "--fold", "4"], "there is no fold 4 of 3"),
        (["--folds", "20"], "12 training documents are too few for 20 folds"),
        (["--set", "data.opinions=nowhere.jsonl", "--folds", "20"], "12 training documents are too few for 20 folds"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    answer = anyner_command("crossfit", RECIPE, "-o", tmp_path / "out", *sets(), *arguments)
    answer.assert_one_line(message)
    assert not (tmp_path / "out").exists()


def test_opinions_that_are_not_there_are_told_in_one_line(tmp_path: Path) -> None:
    answer = anyner_command("train", RECIPE, "-o", tmp_path / "model", *sets("data.opinions=nowhere.jsonl"))
    answer.assert_one_line("nowhere.jsonl")
    assert not (tmp_path / "model").exists()
