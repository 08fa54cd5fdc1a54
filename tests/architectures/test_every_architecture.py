"""What holds for every architecture, whatever it does: a small model of each, trained through the one door."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from by_heart import best_until

import anyner
from anyner.architectures.registry import names
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.inference.recognizer import Recognizer
from anyner.storage.save import save
from anyner.training.config import Recipe

DOCUMENTS = synthetic(24, seed=21, contiguous=True).documents
TEXTS = tuple(document.text for document in DOCUMENTS)
Found = dict[tuple[str, tuple[tuple[int, int], ...]], float | None]


@pytest.fixture(scope="module", params=names())
def recognizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
    """What it learned does not matter here, only that it finds much: so it learns from what it is to read."""
    folder = tmp_path_factory.mktemp(request.param)
    data = str(folder / "data.jsonl")
    anyner.write(DOCUMENTS, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": [data] * 4, "dev": data},
            "encoder": {"fresh_width": 48, "fresh_layers": 1, "fresh_vocabulary": 400, "dropout": 0.0},
            "architecture": request.param,
            "head": {"width": 64},
            "training": {
                "epochs": 6, "batch_sentences": 4, "encoder_lr": 4e-3, "head_lr": 4e-3, "passages": False,
            },
        },
        "recipe",
    )  # fmt: skip
    best_until(0.6, recipe, folder / "model")
    yield anyner.load(folder / "model")


@pytest.fixture(scope="module")
def found(recognizer: Recognizer) -> list[Document]:
    documents = recognizer.predict(TEXTS)
    assert sum(len(document.entities) for document in documents) > 30, "too few to compare"
    return documents


def keys(document: Document) -> Found:
    return {entity.key: entity.score for entity in document.entities}


def assert_same(one: list[Document], other: list[Document]) -> None:
    for left, right in zip(one, other, strict=True):
        assert left.text == right.text
        assert keys(left).keys() == keys(right).keys()
        assert keys(left) == pytest.approx(keys(right), abs=1e-5)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_entities_do_not_depend_on_the_batch(recognizer: Recognizer, found: list[Document], size: int) -> None:
    calls = [document for at in range(0, len(TEXTS), size) for document in recognizer.predict(TEXTS[at : at + size])]
    assert_same(calls, found)
    assert_same(list(recognizer.stream(TEXTS, batch_tokens=8 * size)), found)


def test_entities_do_not_depend_on_the_order(recognizer: Recognizer, found: list[Document]) -> None:
    order = list(range(len(TEXTS)))
    random.Random(3).shuffle(order)
    shuffled = recognizer.predict([TEXTS[place] for place in order])
    assert_same(shuffled, [found[place] for place in order])


def test_saving_and_loading_changes_nothing(recognizer: Recognizer, found: list[Document], tmp_path: Path) -> None:
    again = anyner.load(save(recognizer, tmp_path / "model")).predict(TEXTS)
    assert [keys(document) for document in again] == [keys(document) for document in found]


def test_a_text_longer_than_a_window_is_read_whole(recognizer: Recognizer) -> None:
    document = recognizer.predict(" ".join(TEXTS))
    assert document.coverage == 1.0
    assert document.entities[-1].end > len(document.text) - 300
