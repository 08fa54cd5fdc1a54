"""A full disk ends a training with an error of one line; nothing that was saved before is lost."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
from safetensors import SafetensorError

import anyner
from anyner.errors import AnynerError
from anyner.storage import files
from anyner.training.config import Recipe
from anyner.training.loop import Trainer

ERRORS = {
    "Python": OSError(errno.ENOSPC, "No space left on device"),
    "quota": OSError(errno.EDQUOT, "Disk quota exceeded"),
    "Rust": SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
}
FullDisk = Callable[..., None]
FEW = ("data.synthetic.sentences=24", "training.batch_sentences=2")


@pytest.fixture(autouse=True, scope="module")
def checkpoints() -> Iterator[None]:
    """One every five steps."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trainer, "_checkpoint_due", lambda trainer: trainer.place.step % 5 == 0)
        yield


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    """From the nth time on, writing fails half-way for files whose path contains `part`; `$` is the end of the path."""

    def fill(part: str, times: int = 1, error: Exception = ERRORS["Python"]) -> None:
        seen = 0
        targets: dict[Path, Path] = {}

        @contextmanager
        def replacing(target: Path) -> Iterator[Path]:
            with into_place(target) as temporary:
                targets[temporary] = target
                yield temporary

        def refuse(path: Path) -> None:
            nonlocal seen
            meant = part in f"{targets.get(path, path).as_posix()}$"
            seen += meant
            if meant and seen >= times:
                path.write_bytes(b"half")
                raise error

        text, opened, weights = Path.write_text, Path.open, safetensors.torch.save_file

        def write_text(path: Path, *arguments: Any, **named: Any) -> int:
            refuse(path)
            return text(path, *arguments, **named)

        def append(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if mode == "a":
                refuse(path)
            return opened(path, mode, *arguments, **named)

        def save_file(tensors: Any, path: Path, **named: Any) -> None:
            refuse(path)
            weights(tensors, path, **named)

        into_place = files.replacing
        monkeypatch.setattr(files, "replacing", replacing)
        monkeypatch.setattr(Path, "write_text", write_text)
        monkeypatch.setattr(Path, "open", append)
        for module in ("anyner.training.checkpoint", "anyner.storage.save"):
            monkeypatch.setattr(f"{module}.save_file", save_file)

    return fill


def weights_in(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def whole(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of an uninterrupted training."""
    return anyner.train(tiny(*FEW), tmp_path_factory.mktemp("whole") / "m").folder


@pytest.mark.parametrize(
    ("part", "times", "named"),
    [
        ("/checkpoint.safetensors$", 2, "checkpoint.safetensors"),
        ("/m/.new.", 1, "model.safetensors"),
        ("/tokenizer_config.json", 1, "tokenizer.json"),
        ("/config.json$", 1, "config.json"),
        ("/m/metrics.json$", 1, "metrics.json"),
        ("/m/metrics.jsonl$", 3, "metrics.jsonl"),
        ("/m/README.md$", 1, "README.md"),
    ],
)
def test_a_training_stopped_by_a_full_disk_resumes_exactly(
    tiny: Callable[..., Recipe],
    tmp_path: Path,
    whole: Path,
    full_disk: FullDisk,
    *,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    times: int,
    named: str,
) -> None:
    recipe, folder = tiny(*FEW), tmp_path / "m"
    full_disk(part, times)
    with pytest.raises(AnynerError) as caught:
        anyner.train(recipe, folder)
    assert str(caught.value) == f"{folder / named}: no space left on the disk: free some space, then resume the training"
    assert not list(folder.glob(".*"))
    monkeypatch.undo()
    if (folder / "config.json").exists():
        anyner.load(folder)
    anyner.train(recipe, folder, resume=True)
    assert weights_in(folder) == weights_in(whole)
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("kind", ERRORS)
def test_without_a_checkpoint_it_can_be_started_again(
    tiny: Callable[..., Recipe], tmp_path: Path, full_disk: FullDisk, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    recipe = tiny("training.epochs=1")
    full_disk("/checkpoint.safetensors$", error=ERRORS[kind])
    with pytest.raises(
        AnynerError, match=r"m.checkpoint\.safetensors: no space left on the disk: free some space, then start again$"
    ):
        anyner.train(recipe, tmp_path / "m")
    monkeypatch.undo()
    anyner.train(recipe, tmp_path / "m")


def test_a_resumed_training_whose_metrics_cannot_be_written_keeps_them(
    tiny: Callable[..., Recipe], tmp_path: Path, full_disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, folder = tiny(*FEW), tmp_path / "m"
    full_disk("/checkpoint.safetensors$", 5)  # in the second epoch
    with pytest.raises(AnynerError):
        anyner.train(recipe, folder)
    before = (folder / "metrics.jsonl").read_text()
    monkeypatch.undo()
    full_disk("metrics.jsonl")
    with pytest.raises(AnynerError, match=r"metrics\.jsonl: no space left"):
        anyner.train(recipe, folder, resume=True)
    assert (folder / "metrics.jsonl").read_text() == before != ""


def test_other_errors_of_writing_stay_what_they_are(tiny: Callable[..., Recipe], tmp_path: Path, full_disk: FullDisk) -> None:
    full_disk("/checkpoint.safetensors$", error=OSError(errno.EIO, "Input/output error"))
    with pytest.raises(OSError, match="Input/output error"):
        anyner.train(tiny("training.epochs=1"), tmp_path / "m")
