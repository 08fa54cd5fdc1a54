"""A trained model becomes a bundled one, with figures and a card made from them."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent
ABOUT = """
about: Names in made-up text.
data: [{name: synthetic, licence: our own}]
encoder: from_scratch
chosen: Nothing was.
limits: It knows nothing else.
sentences:
  - {text: Pain in hip and knee., entities: [[Symptom, Pain in … knee], [Symptom, Pain in hip]]}
  - {text: Nothing here., entities: []}
texts:
  - {name: a note, text: "Pain in hip.\\nPain in knee.", entities: [[Symptom, Pain], [Symptom, Pain in knee], [Symptom, Pain]]}
"""


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("bundle")


@pytest.mark.parametrize("name", ["general-en", "biomed-en"])
def test_twenty_sentences_were_written_for_each_model(bundle: ModuleType, name: str) -> None:
    about, documents, _ = bundle.written_by_hand(ROOT / "benchmarks/bundled" / f"{name}.yaml")
    assert len({document.text for document in documents}) == 20
    assert any(not document.entities for document in documents)
    assert {"about", "encoder", "chosen", "data", "limits"} < about.keys()
    assert any(entity.discontinuous for document in documents for entity in document.entities) == (name == "biomed-en")


def test_an_entity_listed_twice_gets_two_occurrences(bundle: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(ABOUT, encoding="utf-8")
    _, _, (note,) = bundle.written_by_hand(tmp_path / "tiny.yaml")
    assert note.id == "a note" and [entity.fragments for entity in note.entities] == [((0, 4),), ((13, 25),), ((13, 17),)]


def test_another_casing_keeps_all_offsets(bundle: ModuleType) -> None:
    document = synthetic(1, seed=3).documents[0]
    (upper,) = bundle.in_casing([document], str.upper)
    assert [e.text for e in upper.entities] == [e.text.upper() for e in document.entities]
    (odd,) = bundle.in_casing([Document("Straße İ")], str.upper)
    assert odd.text == "STRAßE İ"


def test_local_paths_are_renamed_or_refused(bundle: ModuleType) -> None:
    recipe = "data: {folder: /srv/data/genia}\nencoder: {source: models/minilm}\n# see https://example.org/a/b, P / R\n"
    names = {"/srv/data": "data", "models/minilm": "owner/minilm"}
    named = bundle.without_local_paths(recipe, names, "recipe.yaml")
    assert "folder: data/genia}" in named and "source: owner/minilm" in named and "https://example.org/a/b" in named
    for left in (recipe, '"source": "/srv/models/minilm"', "~/models/minilm"):
        with pytest.raises(SystemExit, match="--rename"):
            bundle.without_local_paths(left, {}, "recipe.yaml")


def test_a_model_is_stored_measured_and_described(bundle: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe.of(
        {
            "data": {"synthetic": {"sentences": 40}},
            "encoder": {"scratch_width": 32, "pooling": "first", "lstm_layers": 0},
            "training": {"word_dropout": 0, "adversarial": 0, "average_epochs": 0, "epochs": 1},
        },
        "recipe",
    )
    model = anyner.train(recipe, tmp_path / "model").folder
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    anyner.write(synthetic(12, seed=5).documents, corpus / "test.jsonl", "jsonl")
    texts = tmp_path / "bundled"
    texts.mkdir()
    (texts / "tiny.yaml").write_text(ABOUT, encoding="utf-8")
    (texts / "card.md.jinja").write_text(
        (ROOT / "benchmarks/bundled/card.md.jinja").read_text(encoding="utf-8"), encoding="utf-8"
    )
    monkeypatch.setattr(bundle, "HERE", tmp_path)
    monkeypatch.setattr(bundle, "BUNDLED", tmp_path / "package")
    monkeypatch.setattr(
        "sys.argv",
        [
            *("bundle.py", str(model), "tiny", "--corpus", str(corpus), "-o", str(tmp_path / "result.json")),
            *("--rename", f"{tmp_path}=runs", "--rename", "from_scratch=a small encoder"),
        ],
    )
    bundle.main()
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    (scores,) = result["corpora"]
    assert scores["documents"] == 12
    assert result["command"] == "python bundle.py runs/model tiny --corpus runs/corpus -o runs/result.json"
    assert (
        json.loads((tmp_path / "package/tiny/config.json").read_text(encoding="utf-8"))["encoder"]["source"] == "a small encoder"
    )
    assert {"f1", "lower", "upper", "float32", "discontinuous_f1"} < scores.keys()
    assert result["sentences"][0]["missed"] == ["Symptom Pain in hip", "Symptom Pain in knee (with a gap)"]
    assert result["bytes"] < 2e6
    card = (tmp_path / "package/tiny/README.md").read_text(encoding="utf-8")
    assert "| synthetic | our own |" in card
    assert "| Pain in hip and knee. | Symptom Pain in hip; Symptom Pain in knee (with a gap) |" in card
    assert "F1 before int8" in card and "A note (missed: " in card
    assert anyner.load(tmp_path / "package/tiny").config.weights == "int8"
    weights = (tmp_path / "package/tiny/model.safetensors").read_bytes()
    monkeypatch.setattr(
        "sys.argv",
        [
            *("bundle.py", str(tmp_path / "package/tiny"), "tiny", "--corpus", str(corpus)),
            *("-o", str(tmp_path / "again.json"), "--rename", f"{tmp_path}=runs"),
        ],
    )
    bundle.main()
    (again,) = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["corpora"]
    assert again == {**scores, "float32": None}
    assert (tmp_path / "package/tiny/model.safetensors").read_bytes() == weights
    assert "F1 before int8" not in (tmp_path / "package/tiny/README.md").read_text(encoding="utf-8")
