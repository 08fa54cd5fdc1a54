"""What holds for every architecture: a small model of each, trained through the public API."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from overfitting import small, train_until

import anyner
from anyner.architectures.registry import config_class, names
from anyner.architectures.settings import SpanClassifierOptions
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.encoding.batch import batch_of
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.overlap import resolve
from anyner.storage.save import save
from anyner.text.align import WordEntity
from anyner.training.config import Recipe
from anyner.training.data.splits import Splits
from anyner.training.run import build

DOCUMENTS = synthetic(16, seed=21, contiguous=True).documents
TEXTS = tuple(document.text for document in DOCUMENTS)
Found = dict[tuple[str, tuple[tuple[int, int], ...]], float | None]


@pytest.fixture(scope="module", params=names())
def recognizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
    """How well it learned does not matter here, only that it finds many entities, so it trains on the test sentences.

    Windows are short, so that a long text is read in windows about as long as the training sentences.
    """
    folder = tmp_path_factory.mktemp(request.param)
    data = str(folder / "data.jsonl")
    anyner.write(DOCUMENTS, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": [data] * 6, "dev": data, "augmentation": 0},
            "encoder": {"scratch_width": 48, "pooling": "first", "lstm_layers": 0},
            "text": {"window": 96},
            "architecture": request.param,
            "head": small(request.param),
            "training": {"word_dropout": 0, "average_epochs": 0,
                "epochs": 9, "batch_sentences": 4, "encoder_lr": 4e-3, "head_lr": 4e-3, "passages": False,
            },
        },
        "recipe",
    )  # fmt: skip
    train_until(0.6, recipe, folder / "model")
    yield anyner.load(folder / "model")


@pytest.fixture(scope="module")
def found(recognizer: Recognizer) -> list[Document]:
    documents = recognizer.predict(TEXTS)
    assert sum(len(document.entities) for document in documents) > 20, "too few to compare"
    return documents


def keys(document: Document) -> Found:
    return {entity.key: entity.score for entity in document.entities}


def assert_same(one: list[Document], other: list[Document]) -> None:
    for left, right in zip(one, other, strict=True):
        assert left.text == right.text
        assert keys(left).keys() == keys(right).keys()
        assert keys(left) == pytest.approx(keys(right), abs=1e-5)


@pytest.mark.parametrize("size", [1, 7])
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


@torch.inference_mode()
def from_the_table(recognizer: Recognizer, document: Document) -> list[tuple[str, int, int, float]]:
    """Entities of a short text from the span classifier's table: spans and labels that reach the threshold, then the policy."""
    decoding, model, windows = recognizer.decoding(), recognizer.model.eval(), recognizer.windows([document])
    assert len(windows) == 1
    batch = batch_of(windows, recognizer.vocabulary.frame, model.encoder.shapes)
    assert model.head.span_classifier is not None
    table = model.head.span_classifier.spans(model.encoder(batch).words).softmax(1)  # (1, classes, M, M)
    found = [
        WordEntity(label, ((first, last + 1),), float(table[0, 1 + number, first, last]))
        for number, label in enumerate(decoding.labels)
        for first in range(table.shape[2])
        for last in range(first, table.shape[2])
        if table[0, 1 + number, first, last] >= decoding.thresholds["score"]
    ]
    return sorted((entity.label, entity.first, entity.last, entity.score or 0.0) for entity in resolve(found, decoding.policy))


def test_the_span_classifier_alone_gives_entities_from_its_table(recognizer: Recognizer) -> None:
    if not issubclass(type(recognizer.model.head).CallOptions, SpanClassifierOptions):
        pytest.skip("has no span classifier beside its own method")
    total = 0
    for document in recognizer.predict(TEXTS[:8], options={"span_classifier_alone": True}):
        expected = from_the_table(recognizer, document.with_entities(()))
        found = sorted(document.entities, key=lambda entity: (entity.label, entity.start, entity.end))
        assert [label for label, *_ in expected] == [entity.label for entity in found]
        assert [score for *_, score in expected] == pytest.approx([entity.score for entity in found], abs=1e-5)
        assert all(len(entity.fragments) == 1 for entity in found)
        total += len(expected)
    assert total > 5, "too few to compare"


def test_the_span_classifier_alone_is_refused_where_there_is_none(
    recognizer: Recognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_option = issubclass(type(recognizer.model.head).CallOptions, SpanClassifierOptions)
    monkeypatch.setattr(recognizer.model.head, "span_classifier", None)
    with pytest.raises(AnynerError) as refused:
        recognizer.predict(TEXTS[0], options={"span_classifier_alone": True})
    none = "options.span_classifier_alone: the model has no span classifier (head.span_classifier.width is 0)"
    assert str(refused.value) == (none if has_option else "options: unknown key 'span_classifier_alone'")


def assert_contains(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Every expected key has its value; groups may have more keys."""
    for key, value in expected.items():
        if isinstance(value, Mapping):
            assert_contains(found[key], value)
        else:
            assert found[key] == (list(value) if isinstance(value, tuple) else value), key


@pytest.mark.parametrize("name", [name for name in names() if config_class(name).PAPER])
def test_the_preset_of_the_paper_becomes_plain_keys_and_single_keys_win(name: str) -> None:
    own = {"dropout": 0.125, "span_classifier": {"dropout": 0.375}}
    recipe = Recipe.of(
        {
            "data": {"synthetic": {}},
            "encoder": {"scratch_width": 16, "pooling": "first", "lstm_layers": 0},
            "architecture": name,
            "head": {"preset": "paper", **own},
        },
        "recipe",
    )
    config = build(recipe, Splits(DOCUMENTS, DOCUMENTS, ()))[0].config
    assert "preset" not in config.head
    assert_contains(config.head, own)
    assert_contains(config.head, {key: value for key, value in config_class(name).PAPER.items() if key != "dropout"})
    assert_contains(config.options, config_class(name).PAPER_OPTIONS)
    assert config.head["span_classifier"]["width"] == 0, "no paper has one"
