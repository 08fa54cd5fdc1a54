"""The training loop from the outside: killed, interrupted, stopped early, resumed."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from training_processes import INTERRUPTED, exit_code, killed_at, train, train_until

from anyner.architectures.base import LossPart
from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.encoding.batch import training_batch
from anyner.errors import AnynerError
from anyner.evaluation.scores import Score
from anyner.inference.tuning import Tuned, Tuner
from anyner.training.checkpoint import CHECKPOINT
from anyner.training.config import Recipe
from anyner.training.data.splits import Splits, read_data
from anyner.training.losses import LossSums
from anyner.training.model_folder import BestModel
from anyner.training.processes import Interrupted
from anyner.training.progress import Listener
from anyner.training.run import build, run

Noting = Callable[[], tuple[Listener, list[str]]]
SMALL = "data.synthetic.sentences=24"
"""6 steps an epoch."""
AVERAGED = "training.average_epochs=0.5"
ADVERSARIAL = "training.adversarial=0.1"
HARD = (
    "encoder.lstm_layers=2",
    "encoder.word_shapes=8",
    "training.word_dropout=0.2",
    ADVERSARIAL,
    "data.synthetic.sentences=16",
    "training.batch_sentences=2",
)
"""Everything that draws or remembers something: 8 steps an epoch."""


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def metrics(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without their times."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in one.items() if "second" not in key} for one in records]


def saved_step(folder: Path) -> int:
    with safe_open(folder / CHECKPOINT, "pt") as file:
        return int(json.loads(file.metadata()["place"])["step"])


@pytest.fixture(
    scope="module", params=[pytest.param((), id="plain", marks=pytest.mark.slow), pytest.param((AVERAGED,), id="averaged")]
)
def uninterrupted(
    request: pytest.FixtureRequest, tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recipe, Path]:
    recipe = tiny(*HARD, *request.param)
    folder = tmp_path_factory.mktemp("uninterrupted") / "model"
    assert exit_code(train, recipe, folder) == 0
    return recipe, folder


def test_killed_in_two_epochs_and_resumed_it_ends_bit_for_bit_the_same(
    uninterrupted: tuple[Recipe, Path], tmp_path: Path
) -> None:
    recipe, whole = uninterrupted
    folder = tmp_path / "model"
    killed_at(recipe, folder, step=5)
    assert saved_step(folder) == 3
    assert not (folder / "config.json").exists()
    killed_at(recipe, folder, step=11, resume=True)
    assert saved_step(folder) == 9
    assert exit_code(train, recipe, folder, True) == 0
    assert weights(folder) == weights(whole)
    assert metrics(folder) == metrics(whole)
    assert len(metrics(folder)) == 2
    assert json.loads((folder / "metrics.json").read_text())["dev"] == json.loads((whole / "metrics.json").read_text())["dev"]
    assert not list(folder.glob("checkpoint*"))


@pytest.fixture
def changing(tiny: Callable[..., Recipe], tmp_path: Path) -> Recipe:
    """Learns from other sentences and entities in every epoch."""
    soft_labels = tmp_path / "soft_labels.jsonl"
    recipe = tiny(
        *HARD, "architecture=nag_ner", "head={layers: 1, width: 16}", "data.synthetic={sentences: 16}",
        "training.batch_sentences=4", "training.adversarial=0.0", "data.augmentation=1.0", "data.oversample_discontinuous=2",
        f"data.soft_labels={soft_labels}",
    )  # fmt: skip
    data = read_data(recipe.data.documents_only(), recipe.text)
    write([replace(one, entities=tuple(replace(e, score=0.5) for e in one.entities)) for one in data.train], soft_labels, "jsonl")
    return recipe


@pytest.mark.slow
def test_epochs_that_differ_are_resumed_where_they_were(changing: Recipe, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "model"
    assert exit_code(train, changing, whole) == 0
    first = metrics(whole)[0]["step"]
    killed_at(changing, folder, step=first + 4)
    assert exit_code(train, changing, folder, True) == 0
    assert weights(folder) == weights(whole) and metrics(folder) == metrics(whole)


def test_other_soft_labels_are_another_training(changing: Recipe, tmp_path: Path) -> None:
    killed_at(changing, tmp_path / "model", step=4)
    soft_labels = tmp_path / "soft_labels.jsonl"
    soft_labels.write_text(soft_labels.read_text(encoding="utf-8").replace("0.5", "0.75"), encoding="utf-8")
    with pytest.raises(AnynerError, match="their soft labels are not the same"):
        run(changing, tmp_path / "model", resume=True)


def test_half_a_checkpoint_beside_the_last_one_is_removed(uninterrupted: tuple[Recipe, Path], tmp_path: Path) -> None:
    recipe, whole = uninterrupted
    folder = tmp_path / "model"
    killed_at(recipe, folder, step=11)
    (folder / ".anyner-0123.tmp").write_bytes(b"\x00" * 7)
    assert exit_code(train, recipe, folder, True) == 0
    assert weights(folder) == weights(whole)
    assert {path.name for path in folder.iterdir()} == {path.name for path in whole.iterdir()}


def test_killed_right_after_the_last_checkpoint_it_only_finishes(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny("training.epochs=1", SMALL)
    killed_at(recipe, tmp_path / "m", step=6)
    assert exit_code(train, recipe, tmp_path / "m", True) == 0
    training = json.loads((tmp_path / "m/metrics.json").read_text(encoding="utf-8"))["training"]
    assert (training["epochs"], training["steps"], training["best_epoch"]) == (1, 6, 0)


def test_ctrl_c_saves_and_resuming_ends_the_same(uninterrupted: tuple[Recipe, Path], tmp_path: Path) -> None:
    recipe, whole = uninterrupted
    folder = tmp_path / "model"
    assert exit_code(train_until, recipe, folder, False, 10, signal.SIGINT) == INTERRUPTED
    assert saved_step(folder) == 11
    assert exit_code(train, recipe, folder, True) == 0
    assert weights(folder) == weights(whole)
    assert metrics(folder) == metrics(whole)


def test_killed_while_the_first_model_is_written_it_resumes(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny("training.epochs=2", SMALL)
    kept = BestModel.keep

    def dies(keeper: Any, tuned: Any) -> None:
        kept(keeper, tuned)
        raise KeyboardInterrupt

    monkeypatch.setattr(BestModel, "keep", dies)
    with pytest.raises(KeyboardInterrupt):
        run(recipe, tmp_path / "m")
    monkeypatch.undo()
    run(recipe, tmp_path / "m", resume=True)
    run(recipe, tmp_path / "whole")
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")
    assert metrics(tmp_path / "m") == metrics(tmp_path / "whole")


def test_other_annotation_is_not_resumed(
    tiny: Callable[..., Recipe], written: Callable[[Path, list[Document]], str], tmp_path: Path
) -> None:
    def texts(label: str) -> str:
        other = {"Z": "Y", "Y": "Z"}[label]
        return written(tmp_path / "d.jsonl", [Document("Anna sleeps", (Entity(label, ((0, 4),)), Entity(other, ((5, 11),))))] * 8)

    recipe = tiny("data.synthetic=null", f"data.train={texts('Z')}", f"data.dev={texts('Z')}")
    assert exit_code(train_until, recipe, tmp_path / "m", False, 1, signal.SIGINT) == INTERRUPTED
    texts("Y")
    with pytest.raises(AnynerError, match="their labels or their soft labels are not the same"):
        run(recipe, tmp_path / "m", resume=True)


def test_a_seed_repeats_the_weights_and_another_does_not(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        assert exit_code(train, tiny("training.epochs=1", SMALL, f"training.seed={seed}"), tmp_path / name) == 0
    assert weights(tmp_path / "one") == weights(tmp_path / "again") != weights(tmp_path / "other")


@pytest.fixture
def dev_scores(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[int]], None]:
    """Sets the dev scores of the epochs: the number of correct entities of 100."""

    def give(correct: list[int]) -> None:
        scores: Iterator[int] = iter(correct)
        monkeypatch.setattr(Tuner, "tune", lambda _: Tuned({"score": 0.5}, Score(next(scores), 100, 100), Score(0, 0, 0)))

    return give


@pytest.mark.parametrize(("discontinuous", "f1"), [(Score(1, 2, 2), 0.5), (Score(0, 0, 0), None)])
def test_the_f1_of_discontinuous_entities_is_recorded(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discontinuous: Score, f1: float | None
) -> None:
    monkeypatch.setattr(Tuner, "tune", lambda _: Tuned({"score": 0.5}, Score(50, 100, 100), discontinuous))
    run(tiny("training.epochs=1", SMALL), tmp_path / "one")
    assert [record["dev_discontinuous_f1"] for record in metrics(tmp_path / "one")] == [f1]


def test_it_stops_when_patience_is_over_and_keeps_the_best_epoch(
    tiny: Callable[..., Recipe], noting: Noting, tmp_path: Path, dev_scores: Callable[[list[int]], None]
) -> None:
    recipe = tiny("training.epochs=9", "training.patience=1", SMALL)
    dev_scores([10, 50, 20])
    listener, lines = noting()
    whole = run(recipe, tmp_path / "long", listener=listener)
    assert (whole.outcome.epochs, whole.outcome.best_epoch, whole.outcome.best_f1) == (3, 1, 0.5)
    assert "stopped: no better dev F1 for 1 epochs" in lines
    assert [record["best"] for record in metrics(tmp_path / "long")] == [True, True, False]
    # The same training, cut off in its third and fourth epoch: what is in the folder then is what it had after two and three.
    for epochs, scores in ((2, [10, 50]), (3, [10, 50, 60])):
        dev_scores(scores)
        with pytest.raises(Interrupted):
            run(recipe, tmp_path / str(epochs), listener=_StopAfter(epochs))
    assert weights(tmp_path / "2") == weights(tmp_path / "long") != weights(tmp_path / "3")


def test_scoring_dev_takes_no_longer_than_training(
    tiny: Callable[..., Recipe],
    tmp_path: Path,
    written: Callable[[Path, list[Document]], str],
    dev_scores: Callable[[list[int]], None],
) -> None:
    documents = list(synthetic(2, contiguous=True).documents)
    data = {"train": documents, "dev": 4 * documents}
    paths = [f"data.{part}={written(tmp_path / f'{part}.jsonl', own)}" for part, own in data.items()]
    for patience in ("null", 1):
        dev_scores([20, 10])
        recipe = tiny("data.synthetic=null", *paths, "training.epochs=8", f"training.patience={patience}")
        folder = tmp_path / f"patience-{patience}"
        run(recipe, folder)
        assert [record["epoch"] for record in metrics(folder) if record["dev_f1"] is not None] == [4, 8]


class _StopAfter(Listener):
    """Sends SIGINT after `epochs` epochs: the next one ends after its first step."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs

    def epoch(self, record: Any) -> None:
        if record.epoch == self._epochs:
            signal.raise_signal(signal.SIGINT)


def test_loss_sums_do_not_depend_on_when_they_are_read() -> None:
    parts = [torch.tensor([[0.1 * i, 3.0], [1e-7 * i, 2.0]]) for i in range(20)]
    late, early = LossSums(), LossSums()
    for part in parts:
        late.add(("a", "b"), part)
        early.add(("a", "b"), part)
        early.means()
    assert late.plain() == early.plain()
    assert late.means()["a"] == pytest.approx(0.1 * 190 / 60)
    assert LossSums().means() == {}


def test_a_label_that_no_document_annotates_gets_no_gradient(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny()
    text = "Anna saw Bern."
    silent = Document(text, (Entity("Person", ((0, 4),)),), labels=frozenset({"Person"}))
    loud = Document(text, (Entity("Place", ((9, 13),)),), labels=frozenset({"Place", "Person"}))
    recognizer, examples, _ = build(recipe, Splits((silent, loud), (), ()))
    head = recognizer.model.head
    assert head.labels == ("Person", "Place")

    def gradients(example: Any) -> list[torch.Tensor]:
        recognizer.model.zero_grad()
        recognizer.model.eval()
        batch = training_batch([example], recognizer.vocabulary.frame)
        part: LossPart = recognizer.model(batch, recognizer.runtime.draw)["span"]
        part.numerator.backward()
        pairs: Any = head.span_scores
        return [pairs.bilinear.grad, pairs.linear.weight.grad, pairs.linear.bias.grad, pairs.length.weight.grad.T]

    for gradient in gradients(examples[0]):
        assert gradient[0].abs().max() > 0
        assert gradient[1].abs().max() == 0
    for gradient in gradients(examples[1]):
        assert gradient[0].abs().max() > 0
        assert gradient[1].abs().max() > 0


def test_the_synthetic_data_reach_the_trainer_whole(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny()
    data = read_data(recipe.data, recipe.text)
    _, examples, check = build(recipe, data)
    assert len(examples) == len(data.train)
    assert sum(len(example.entities.label) for example in examples) == check.entities == sum(len(d.entities) for d in data.train)
