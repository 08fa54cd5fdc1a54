"""What a training does with corpora, settings, losses and folders that nobody would choose."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import anyner
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.registry import head_class, names
from anyner.architectures.settings import CorpusStatistics
from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.model import NerModel
from anyner.training.auto import completed
from anyner.training.checkpoint import CHECKPOINT, has_checkpoint
from anyner.training.config import Recipe, changed
from anyner.training.data.splits import Corpora, Splits
from anyner.training.loop import Trainer
from anyner.training.progress import EpochRecord, Listener
from anyner.training.run import build, run

TINY: dict[str, Any] = {
    "data": {"synthetic": {"contiguous": True, "sentences": 20}},
    "encoder": {"scratch_width": 16, "pooling": "first", "lstm_layers": 0},
    "training": {
        "word_dropout": 0,
        "average_epochs": 0,
        "epochs": 2,
        "batch_sentences": 4,
        "encoder_lr": 0.003,
        "head_lr": 0.003,
    },
}


def tiny(*changes: str) -> Recipe:
    return Recipe.of(changed(TINY, changes), "recipe")


def whole(recipe: Recipe) -> Recipe:
    """With what was chosen from the corpus."""
    return completed(recipe, Corpora.read(recipe.data))


LENGTHS = ("longest", "farthest", "segment_words")


@pytest.mark.parametrize("architecture", names())
def test_what_is_fitted_to_a_corpus_is_no_longer_than_a_window(architecture: str) -> None:
    sizes = (1, 2, 10_000)
    statistics = CorpusStatistics(("A",), sizes, sizes, sizes, 1, 512, encoder_decoder=False, discontinuous=True)
    settings = head_class(architecture).Config.of({}, "head").fitted(statistics).model_dump()
    fitted = [settings[key] for key in LENGTHS if settings.get(key)] or [max(settings["lengths"])]
    assert fitted and max(fitted) <= 512


@pytest.mark.parametrize("architecture", names())
def test_an_entity_longer_than_a_window_is_told_and_leaves_the_settings_alone(architecture: str) -> None:
    documents = synthetic(20, seed=1, contiguous=True).documents
    text = " ".join(["word"] * 10_000)
    endless = Document(text, (Entity("Person", ((0, len(text)),)),))
    with_it, _, check = build(tiny(f"architecture={architecture}"), Splits((*documents, endless), (), ()))
    without, _, _ = build(tiny(f"architecture={architecture}"), Splits(documents, (), ()))
    assert check.lines() == [
        f"1 of {check.entities} training entities ({100 / check.entities:.1f} %) cannot be predicted: longer than a window"
    ]
    assert with_it.config.head == without.config.head


class Told(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize(("labels", "tokens", "told"), [(400, 8192, True), (400, 64, False), (4, 8192, False)])
def test_many_labels_are_told_with_the_memory_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: int, tokens: int, told: bool
) -> None:
    short = tuple(Document("a b", (Entity(f"L{number}", ((0, 1),)),)) for number in range(labels))
    long = Document("word " * 400, (Entity("L0", ((0, 4),)),))
    listener = Told()

    def before_the_first_step(_: object) -> None:
        raise RuntimeError("ready")

    monkeypatch.setattr(Trainer, "train", before_the_first_step)
    recipe = tiny("head.width=4", f"training.batch_tokens={tokens}", "training.passages=false")
    with pytest.raises(RuntimeError, match="ready"):
        run(recipe, tmp_path / "m", listener=listener, data=Splits((*short, *(long,) * 8 * (tokens > 64)), short, ()))
    notes = [line for line in listener.lines if "a step needs up to" in line]
    assert len(notes) == told
    assert not told or notes[0].startswith(f"note: every span is scored for each of {labels} labels: a step needs up to ")


class Spoiled:
    """Makes the loss of one step, or a weight behind it, not finite."""

    def __init__(self, step: int, number: float, patch: pytest.MonkeyPatch) -> None:
        self._step, self._number, self._calls, self._whole = step, number, 0, NerModel.forward

        def forward(model: NerModel, *arguments: Any) -> dict[str, LossPart]:
            return self._spoiled(self._whole(model, *arguments))

        patch.setattr(NerModel, "forward", forward)

    def _spoiled(self, losses: Losses) -> dict[str, LossPart]:
        self._calls += 1
        factor = self._number if self._calls == self._step else 1.0
        return {name: replace(part, numerator=part.numerator * factor) for name, part in losses.items()}


STEPS = 5
"""Steps of an epoch of the small recipe."""


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("step", [2, STEPS, STEPS + 1])
def test_a_loss_that_is_not_finite_ends_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint_every: Callable[[int], None], step: int, number: float
) -> None:
    checkpoint_every(1)
    folder = tmp_path / "m"
    with monkeypatch.context() as patched:
        Spoiled(step, number, patched)
        with pytest.raises(AnynerError) as caught:
            run(tiny("training.passages=false"), folder)
    message = str(caught.value)
    assert f"not finite in step {step}: start a new training with lower training.encoder_lr" in message
    assert "\n" not in message
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == (step > STEPS)
    assert message.endswith("the last good model and checkpoint are kept" if step > STEPS else "no model was kept")
    assert opened(folder)[1]["step"] == step - 1
    if step > STEPS:
        assert all(weight.isfinite().all() for weight in anyner.load(folder).model.state_dict().values())
    run(tiny("training.passages=false"), folder, resume=True)  # what was kept is good


def test_weights_that_overflow_after_a_finite_loss_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = torch.optim.AdamW.step

    def overflowing(optimizer: Any, *arguments: Any) -> Any:
        step(optimizer, *arguments)
        with torch.no_grad():
            optimizer.param_groups[0]["params"][0].fill_(torch.inf)

    monkeypatch.setattr(torch.optim.AdamW, "step", overflowing)
    with pytest.raises(AnynerError, match="not finite in step 1"):
        run(tiny("training.batch_sentences=100", "training.passages=false"), tmp_path / "m")
    assert not (tmp_path / "m/config.json").exists() and not has_checkpoint(tmp_path / "m")


LOCK = ".training.lock"


class During(Listener):
    """Does something after the first epoch."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def epoch(self, record: EpochRecord) -> None:
        if record.epoch == 1:
            self._work()


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_training_in_one_folder_is_refused(tmp_path: Path, resume: bool) -> None:
    folder = tmp_path / "m"
    messages: list[str] = []

    def second() -> None:
        with pytest.raises(AnynerError) as caught:
            run(tiny("training.seed=1"), folder, resume)
        messages.append(str(caught.value))

    run(tiny(), folder, listener=During(second))
    assert messages == [f"{folder}: another training is writing to it: choose another output folder"]
    assert not (folder / LOCK).exists()
    assert Recipe.read(folder / "recipe.yaml") == whole(tiny())


def test_of_two_trainings_that_start_together_the_second_is_refused(tmp_path: Path) -> None:
    class Started(Listener):
        def note(self, line: str) -> None:  # before the first step
            with pytest.raises(AnynerError, match="another training is writing to it"):
                run(tiny("training.seed=1"), tmp_path / "m")

    run(tiny("training.epochs=1"), tmp_path / "m", listener=Started())
    assert Recipe.read(tmp_path / "m/recipe.yaml").training.seed == 0


@pytest.mark.parametrize("content", ["", "left by a process that is gone"])
def test_a_lock_that_nobody_holds_is_taken_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / LOCK).write_text(content, encoding="utf-8")
    run(tiny("training.epochs=1"), tmp_path / "m")
    assert not list((tmp_path / "m").glob(".*"))


def test_a_training_killed_before_its_first_line_of_metrics_starts_again(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    (folder / ".new.abc_123").mkdir(parents=True)
    (folder / ".new.abc_123/model.safetensors").write_bytes(b"half")
    (folder / ".anyner-0a1b2c.tmp").write_text("half")
    (folder / ".mine.part").write_text("mine")
    (folder / "recipe.yaml").write_text(whole(tiny()).to_yaml(), encoding="utf-8")
    run(tiny(), folder)
    assert [path.name for path in folder.glob(".*")] == [".mine.part"]
    assert not list(folder.glob("checkpoint*"))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that ended without a word in its second epoch."""

    def die() -> None:
        raise RuntimeError("dead")

    class AfterTwo(Listener):
        def epoch(self, record: EpochRecord) -> None:
            if record.epoch == 2:
                die()

    folder = tmp_path_factory.mktemp("stopped") / "m"
    with pytest.MonkeyPatch.context() as patched, pytest.raises(RuntimeError, match="dead"):
        patched.setattr(Trainer, "_checkpoint_due", lambda trainer: trainer.place.step % 2 == 0)
        run(tiny("training.epochs=3"), folder, listener=AfterTwo())
    return folder


def opened(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors of a checkpoint, and its place."""
    with safe_open(folder / CHECKPOINT, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["place"])  # noqa: SIM118


def place(**changes: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        tensors, place = opened(folder)
        save_file(tensors, folder / CHECKPOINT, metadata={"place": json.dumps({**place, **changes})})

    return spoil


def place_text(text: str) -> Callable[[Path], None]:
    return lambda folder: save_file(opened(folder)[0], folder / CHECKPOINT, metadata={"place": text})


def tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        loaded, place = opened(folder)
        change(loaded)
        save_file(loaded, folder / CHECKPOINT, metadata={"place": json.dumps(place)})

    return spoil


def content(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8") and None


def truncated(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-100]) and None


FAULTS: dict[str, Callable[[Path], object]] = {
    "a step of letters": place(step="many"),
    "a step that is a list": place(step=[1]),
    "an epoch before the first": place(epoch=-1),
    "half a batch": place(batch=1.5),
    "a score that is no number": place(best_f1=float("nan")),
    "sums that are a list": place(loss_sums=[]),
    "sums of three": place(loss_sums={"span": [1.0, 2.0, 3.0]}),
    "a place that is a list": place_text("[]"),
    "a deep place": place_text("[" * 100_000),
    "no place": lambda folder: save_file(opened(folder)[0], folder / CHECKPOINT),
    "half a checkpoint": truncated(CHECKPOINT),
    "a weight too few": tensors(lambda state: state.pop(next(name for name in state if name.startswith("model.")))),
    "a moment too few": tensors(lambda state: state.pop("optimizer.0.exp_avg")),
    "a moment of another shape": tensors(lambda state: state.update({"optimizer.0.exp_avg": torch.zeros(3)})),
    "moments of a weight that is not there": tensors(lambda state: state.update({"optimizer.999.exp_avg": torch.zeros(3)})),
    "moments of no number": tensors(lambda state: state.update({"optimizer.x.exp_avg": torch.zeros(3)})),
    "no metrics": lambda folder: (folder / "metrics.json").unlink(),
    "half of the metrics": content("metrics.json", '{"dev"'),
    "deep metrics": content("metrics.json", "[" * 100_000),
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "a deep recipe": content("recipe.yaml", "head: " + "[" * 2000),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_folder_is_one_line_when_it_is_resumed(stopped: Path, tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "m"
    shutil.copytree(stopped, folder)
    FAULTS[fault](folder)
    with pytest.raises(AnynerError) as caught:
        run(tiny("training.epochs=3"), folder, resume=True)
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("written", ["{a: " * 1500, "[" * 1500, "- " * 1500])
def test_a_deep_recipe_is_one_line(tmp_path: Path, written: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(written, encoding="utf-8")
    with pytest.raises(AnynerError, match=r"deep\.yaml: ") as caught:
        Recipe.read(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(AnynerError, match="not valid YAML"):
        changed({}, [f"head.width={written}"])


@pytest.mark.parametrize(
    "change",
    [
        "encoder.scratch_width=10000000",
        "encoder.scratch_width=800000000000000000000000000",
        "head.width=1000000000",
        "head.width=1000000000000000000000000000000",
        "encoder.lstm_layers=100000000000",
        "encoder.word_shapes=10000000000000000",
        "training.head_lr=1e38",
        "training.encoder_lr=1e38",
    ],
)
def test_an_absurd_size_is_one_line(tmp_path: Path, change: str) -> None:
    with pytest.raises(AnynerError) as caught:
        run(tiny(change), tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m").exists()
