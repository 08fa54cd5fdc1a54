"""The architecture that docs/add-an-architecture.md builds works as it stands there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from markdown_pages import ROOT, blocks, read

import anyner
import anyner.architectures
from anyner.architectures import registry
from anyner.corpora.synthetic import synthetic
from anyner.text.align import WordEntity
from anyner.training.config import Recipe

PAGE = ROOT / "docs/add-an-architecture.md"
PACKAGE = "anyner.architectures.tagger"


@pytest.fixture
def tagger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the page, found under its name as if it lay beside the others."""
    folder = tmp_path / "architectures/tagger"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""The tagger."""\n', encoding="utf-8")
    for block in blocks(read(PAGE)):
        first, _, code = block.code.partition("\n")
        if first.startswith("# file: "):
            (folder / first.removeprefix("# file: ")).write_text(code, encoding="utf-8")
    monkeypatch.setattr(anyner.architectures, "__path__", [*anyner.architectures.__path__, str(folder.parent)])
    monkeypatch.setattr(registry, "entry_points", lambda group: [SimpleNamespace(name="tagger", value=PACKAGE)])
    registry._modules.cache_clear()
    yield folder
    monkeypatch.undo()
    registry._modules.cache_clear()
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]


def test_the_page_has_the_three_files(tagger: Path) -> None:
    assert {path.name for path in tagger.iterdir()} == {"__init__.py", "config.py", "decode.py", "head.py"}
    assert "tagger" in registry.names()
    head, config = registry.head_class("tagger"), registry.config_class("tagger")
    assert head.Config is config and config().shapes() == {"flat"}
    assert config().unreachable([WordEntity("X", ((0, 1), (2, 3)))], [1, 1, 1]) == ["discontinuous"]


def test_it_learns_flat_entities_by_heart_saves_loads_and_predicts(
    tagger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyner.encoding.encoder.DROPOUT", 0.0)
    documents = [document for document in synthetic(200, seed=1, contiguous=True) if is_flat(document)][:16]
    assert sum(len(document.entities) for document in documents) >= 16
    anyner.write(documents, tmp_path / "flat.jsonl", "jsonl")
    recipe = next(yaml.safe_load(block.code) for block in blocks(read(PAGE)) if block.code.startswith("# recipes/tagger"))
    recipe["data"] = {"train": [str(tmp_path / "flat.jsonl")] * 6, "dev": str(tmp_path / "flat.jsonl")}
    recipe["encoder"] = {"scratch_width": 64, "pooling": "first", "lstm_layers": 0}
    recipe["training"] |= {
        "epochs": 6,
        "passages": False,
        "batch_sentences": 8,
        "head_lr": 5e-3,
        "encoder_lr": 3e-3,
        "word_dropout": 0,
        "average_epochs": 0,
    }
    result = anyner.train(Recipe.of(recipe, "the page's recipe"), tmp_path / "model")
    assert result.outcome.best_f1 >= 0.98
    recognizer = anyner.load(tmp_path / "model")
    assert anyner.evaluate(recognizer, documents).strict.f1 == result.outcome.best_f1
    texts = [document.text for document in documents]
    together, alone = recognizer.predict(texts), [recognizer.predict(text) for text in texts]
    assert [[e.key for e in document.entities] for document in together] == [
        [e.key for e in document.entities] for document in alone
    ]


def is_flat(document: anyner.Document) -> bool:
    return all(one.end <= other.start for one, other in zip(document.entities, document.entities[1:], strict=False))
