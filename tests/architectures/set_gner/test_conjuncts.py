"""The paper's two cases (Figure 4) on a trained model: the order of conjuncts changes nothing, heads are independent."""

from collections.abc import Iterator
from itertools import combinations, permutations

import pytest
import torch
from overfitting import train_until

import anyner
from anyner.architectures.set_gner.head import Head
from anyner.document import Document, Entity
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe

pytestmark = pytest.mark.slow
PARTS = ("hands", "arms", "shoulders", "knees", "feet", "hips", "ankles", "elbows")
FEELINGS = ("pain", "swelling", "itching")
HELD_OUT = {("hands", "arms", "shoulders"), ("knees", "feet", "elbows")}


def sentence(feeling: str, parts: tuple[str, ...]) -> Document:
    """`Bad pain in my hands , arms and shoulders today`: one entity for each part, all but the first discontinuous."""
    first, second, third = parts
    words = ["Bad", feeling, "in", "my", first, ",", second, "and", third, "today"]
    entities = [Entity("Symptom", ((1, 5),)), *(Entity("Symptom", ((1, 4), (at, at + 1))) for at in (6, 8))]
    return Document.from_words(words, entities)


@pytest.fixture(scope="module")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
    folder = tmp_path_factory.mktemp("conjuncts")
    held_out = {frozenset(parts) for parts in HELD_OUT}
    seen = [parts for chosen in combinations(PARTS, 3) if frozenset(chosen) not in held_out for parts in permutations(chosen)]
    documents = [sentence(FEELINGS[number % 3], parts) for number, parts in enumerate(seen[::2])]
    anyner.write(documents, folder / "train.jsonl", "jsonl-tokens")
    anyner.write(documents[::5], folder / "dev.jsonl", "jsonl-tokens")
    recipe = Recipe.of(
        {
            "data": {"train": str(folder / "train.jsonl"), "dev": str(folder / "dev.jsonl")},
            "encoder": {"scratch_width": 48, "pooling": "first", "lstm_layers": 0},
            "text": {"words": "given"},
            "architecture": "set_gner",
            "head": {"width": 48, "layers": 1, "span_classifier": {"width": 0}},
            "training": {
                "word_dropout": 0,
                "average_epochs": 0,
                "epochs": 12,
                "batch_sentences": 16,
                "encoder_lr": 4e-3,
                "head_lr": 4e-3,
            },
        },
        "recipe",
    )
    assert train_until(1.0, recipe, folder / "model") == 1.0
    yield anyner.load(folder / "model")


def texts(document: Document) -> set[str]:
    return {" ".join(entity.text.split()) for entity in document.entities}


@pytest.mark.parametrize("parts", sorted(HELD_OUT))
def test_the_order_of_conjuncts_changes_nothing(recognizer: Recognizer, parts: tuple[str, ...]) -> None:
    orders = [recognizer.predict_words([*sentence("pain", order).text.split()]) for order in permutations(parts)]
    assert {frozenset(texts(document)) for document in orders} == {frozenset(f"pain in my {part}" for part in parts)}


def test_an_error_at_one_head_does_not_affect_the_others(recognizer: Recognizer, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        *sentence("pain", ("hands", "arms", "shoulders")).text.split(),
        *sentence("itching", ("knees", "feet", "elbows")).text.split(),
    ]
    before = recognizer.predict_words(words)
    kinds = {text.split()[0] for text in texts(before)}
    assert kinds == {"pain", "itching"}
    head = recognizer.model.head
    assert isinstance(head, Head)
    real = head.network.detect

    def misses_the_first(vectors: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        parts, counts = real(vectors)
        assert parts is not None
        parts[:, 1, 0] = -20.0
        return parts, counts

    monkeypatch.setattr(head.network, "detect", misses_the_first)
    after = recognizer.predict_words(words)
    assert texts(after) == {text for text in texts(before) if text.startswith("itching")}
