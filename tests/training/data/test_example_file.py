"""Examples are read from a file as they were written, and a training from the file gives the same model."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from anyner.document import Document
from anyner.encoding.examples import Entities, Example, WindowSoftLabels
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import windows_of
from anyner.training import run as module
from anyner.training.config import Recipe
from anyner.training.data import example_file
from anyner.training.data.example_file import EXAMPLES, ExampleFile, fitting
from anyner.training.data.splits import plain_of
from anyner.training.loop import Trainer
from anyner.training.processes import Interrupted
from anyner.training.progress import Listener
from anyner.training.run import run

LABELS = ("A", "B")
TEXTS = st.text(st.sampled_from("ab .\n東👍"), min_size=1, max_size=30).filter(lambda text: bool(text.strip()))
FEW = Recipe.of(
    {
        "data": {"synthetic": {"sentences": 24}},
        "architecture": "set_gner",
        "encoder": {"source": "from_scratch", "scratch_width": 16},
        "training": {"epochs": 2, "batch_sentences": 4, "adversarial": 0},
    },
    "recipe",
)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    document = Document(draw(TEXTS))
    (window,) = windows_of(document, 0, TextConfig(), 10_000, lambda words: [tuple(map(ord, word)) for word in words])
    places, labels = st.integers(0, len(window.words) - 1), st.sampled_from(LABELS)
    entity = st.builds(lambda label, at, score: WordEntity(label, ((at, at + 1),), score), labels, places, st.floats(0, 1))
    entities = st.lists(entity, max_size=3)
    soft = st.builds(lambda found, covers: WindowSoftLabels.of(found, LABELS, 0.25, covers), entities, st.booleans())
    annotated = draw(st.none() | st.frozensets(st.sampled_from(LABELS)))
    example = Example.of(window, draw(entities), LABELS, annotated, draw(st.none() | soft))
    around = draw(st.lists(st.integers(0, 9), max_size=2))
    window = replace(window, before=tuple(around), after=tuple(around[::-1]))
    source = draw(st.none() | st.sampled_from(["", "d", "\ud800"]))
    return replace(example, window=window, times=draw(st.integers(1, 3)), source=source)


def assert_same(one: Example, other: Example) -> None:
    for name in ("words", "pieces", "before", "after", "line_starts", "content_key"):
        assert getattr(one.window, name) == getattr(other.window, name)
    assert (one.times, one.source) == (other.times, other.source)
    assert_array_equal(one.annotated, other.annotated)
    held = [(one.entities, other.entities)]
    assert (one.soft_labels is None) == (other.soft_labels is None)
    if one.soft_labels is not None and other.soft_labels is not None:
        assert (one.soft_labels.weight, one.soft_labels.covers_discontinuous) == (
            other.soft_labels.weight,
            other.soft_labels.covers_discontinuous,
        )
        held.append((one.soft_labels.entities, other.soft_labels.entities))
    for entities, others in held:
        for field in fields(Entities):
            array = getattr(others, field.name)
            assert_array_equal(getattr(entities, field.name), array)
            assert array.dtype == np.int64


@given(st.lists(examples(), max_size=8))
def test_what_was_written_is_read(written: list[Example]) -> None:
    with TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patched:
        patched.setattr(example_file, "_ROWS", 3)  # several parts
        read = ExampleFile.write(iter(written), Path(temporary, EXAMPLES), "all")
        assert len(read) == len(written) and read.made_from == "all"
        for one, other in zip(written, read, strict=True):
            assert_same(one, other)
        for one, other in zip(written[1:5], read[1:5], strict=True):
            assert_same(one, other)
        with pytest.raises(IndexError):
            read[len(written)]


def test_only_a_whole_file_of_the_same_examples_fits(tmp_path: Path) -> None:
    path = tmp_path / EXAMPLES
    assert fitting(path, "this") is None
    ExampleFile.write([], path, "this")
    assert fitting(path, "this") is not None and fitting(path, "that") is None
    path.write_bytes(path.read_bytes()[:-20])
    assert fitting(path, "this") is None


def test_sets_are_hashed_in_one_order() -> None:
    """Theirs is another in every process."""
    document = Document("a text", labels=frozenset(map(str, range(20))), doc="\ud800")
    plain = plain_of(document)
    assert plain is not None and plain[0]["labels"] == sorted(map(str, range(20)))


def test_a_training_from_a_file_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(FEW, tmp_path / "memory")
    monkeypatch.setattr(module, "LARGE", 1)
    lines: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "note", lines.append)
    run(FEW, tmp_path / "file", listener=listener)
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert not (tmp_path / "file" / EXAMPLES).exists()
    assert any("training documents into windows: " in line for line in lines)


def test_a_resumed_training_takes_the_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 1)
    run(FEW, tmp_path / "whole")
    write = Trainer._write_checkpoint

    def stops(trainer: Trainer, epoch: int, batch: int, sums: object) -> None:
        write(trainer, epoch, batch, sums)  # type: ignore[arg-type]
        raise Interrupted

    with monkeypatch.context() as stopping:
        stopping.setattr(Trainer, "_write_checkpoint", stops)
        with pytest.raises(Interrupted):
            run(FEW, tmp_path / "parts")
    assert (tmp_path / "parts" / EXAMPLES).is_file()

    def refuses(written: Iterable[Example], path: Path, made_from: str) -> None:
        raise AssertionError("written again")

    monkeypatch.setattr(ExampleFile, "write", refuses)
    run(FEW, tmp_path / "parts", resume=True)
    assert (tmp_path / "parts/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def test_without_pyarrow_a_note_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    lines: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "note", lines.append)
    run(FEW, tmp_path / "m", listener=listener)
    assert "note: all training examples are held in memory; to keep them in a file: pip install 'anyner[parquet]'" in lines
