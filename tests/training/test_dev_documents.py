"""The documents on which the graph of a trained model is checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.training.config import Recipe
from anyner.training.data.splits import dev_documents


@pytest.mark.parametrize(("with_dev", "expected"), [(True, ["dev 0", "dev 1"]), (False, ["train 8", "train 9"])])
def test_dev_comes_from_its_file_or_is_held_out(
    tmp_path: Path, written: Callable[[Path, list[Document]], str], with_dev: bool, expected: list[str]
) -> None:
    written(tmp_path / "train.jsonl", [Document(f"train {number}") for number in range(10)])
    if with_dev:
        written(tmp_path / "dev.jsonl", [Document(f"dev {number}") for number in range(4)])
    data = {"folder": str(tmp_path), "held_out": 0.0 if with_dev else 0.2}
    (tmp_path / "recipe.yaml").write_text(Recipe.of({"data": data}, "recipe").to_yaml(), encoding="utf-8")
    assert [document.text for document in dev_documents(tmp_path, 2)] == expected


def test_without_the_files_of_the_training_documents_are_synthetic(tmp_path: Path) -> None:
    assert tuple(dev_documents(tmp_path, 3)) == synthetic(3).documents
