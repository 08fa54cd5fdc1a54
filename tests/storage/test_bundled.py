"""The models that ship with the package: small, machine-independent, documented, quick to load, right on simple sentences."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
import torch
import yaml

import anyner
from anyner.encoding.untrusted import read_json
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.storage.bundled import bundled_folder, bundled_names
from anyner.storage.files import CARD, CONFIG, RECIPE
from anyner.storage.graph import INDEX, INT8, PARITY, graph_file
from anyner.storage.load import find
from anyner.text.lines import line_starts
from anyner.training.config import Recipe
from anyner.view.terminal import draw

ROOT = Path(__file__).parent.parent.parent
NAMES = ("biomed-en", "general-en")
LABELS = {"general-en": {"PER", "ORG", "LOC", "MISC"}, "biomed-en": {"protein", "DNA", "RNA", "cell_type", "cell_line"}}
MOST_BYTES = 30e6
MOST_SECONDS = 60
_PLACE = re.compile(r"/(home|work|tmp|root|Users|mnt|opt|usr)\b|[A-Z]:\\")
PLAIN = {
    "general-en": {
        "Angela Merkel met executives of Siemens in Munich on Tuesday.": {
            ("PER", "Angela Merkel"),
            ("ORG", "Siemens"),
            ("LOC", "Munich"),
        },
        "angela merkel lives in berlin.": {("PER", "angela merkel"), ("LOC", "berlin")},
        "No names here, only a plain sentence about the weather.": set(),
    },
    "biomed-en": {
        "NF-kappa B binds to the promoter in monocytes.": {("protein", "NF-kappa B"), ("cell_type", "monocytes")},
        "Normal and malignant B cells express CD23 mRNA.": {
            ("cell_type", "Normal B cells"),
            ("cell_type", "malignant B cells"),
            ("RNA", "CD23 mRNA"),
            ("protein", "CD23"),
        },
        "The patient was given aspirin and recovered.": set(),
    },
}


@pytest.fixture(scope="module", params=NAMES)
def folder(request: pytest.FixtureRequest) -> Path:
    found = bundled_folder(request.param)
    assert found is not None, f"{request.param} is not bundled"
    return found


@pytest.fixture(scope="module")
def model(folder: Path) -> Recognizer:
    return anyner.load(folder.name, device="cpu")


def test_these_models_are_bundled() -> None:
    assert bundled_names() == NAMES


def test_it_is_small_and_holds_nothing_but_the_model(folder: Path) -> None:
    files = {file.name: file.stat().st_size for file in folder.rglob("*") if file.is_file()}
    assert sum(files.values()) <= MOST_BYTES
    shapes = {"features.json"} if folder.name == "general-en" else set()
    steps = {INDEX, PARITY, INT8, *map(graph_file, read_json(folder / INDEX)["weights"])}
    own = {CONFIG, "model.safetensors", "tokenizer.json", "tokenizer_config.json", RECIPE, CARD}
    assert files.keys() == own | steps | shapes


def test_its_graph_holds_for_its_settings_and_was_checked(folder: Path, model: Recognizer) -> None:
    assert not hasattr(model.runtime, "model"), "it runs without torch unless something else is requested"
    found = read_json(folder / PARITY)
    assert found["differing"] == 0 and found["largest_difference"] <= 1e-4 and found["entities"] > 100
    assert found["int8"]["f1_in_float32"] - found["int8"]["f1"] <= 0.002 and found["int8"]["differing"] == 0


@pytest.mark.parametrize("file", [CONFIG, RECIPE, CARD, "tokenizer_config.json"])
def test_it_contains_no_path_of_a_machine(folder: Path, file: str) -> None:
    assert _PLACE.search((folder / file).read_text(encoding="utf-8")) is None


def test_its_card_has_data_licences_and_figures(folder: Path) -> None:
    card = (folder / CARD).read_text(encoding="utf-8")
    for one in yaml.safe_load((ROOT / "benchmarks/bundled" / f"{folder.name}.yaml").read_text(encoding="utf-8"))["data"]:
        assert f"| {one['name']} | {one['licence']} |" in card
    figures = card.split("## Figures")[1].split("##")[0]
    assert re.search(r"^\| \w+ \| \d+\.\d \| \d+\.\d \| \d+\.\d \|", figures, re.MULTILINE)
    assert "## Limits" in card and "## Training" in card


def test_its_recipe_is_one(folder: Path) -> None:
    recipe = Recipe.read(folder / RECIPE)
    assert recipe.architecture == {"general-en": "biaffine", "biomed-en": "set_gner"}[folder.name]


def test_it_is_found_with_and_without_its_prefix(folder: Path) -> None:
    assert find(f"bundled:{folder.name}") == find(folder.name) == folder


def test_it_has_its_labels_and_finds_what_is_plain(model: Recognizer, folder: Path) -> None:
    assert set(model.config.labels) == LABELS[folder.name]
    assert model.config.weights == "int8"
    for document in model.predict(list(PLAIN[folder.name])):
        found = {(entity.label, entity.text) for entity in document.entities}
        expected = PLAIN[folder.name][document.text]
        assert expected <= found and bool(expected) == bool(found), document.text


def test_a_new_process_loads_them_and_predicts_soon() -> None:
    texts = {name: next(iter(PLAIN[name])) for name in NAMES}
    code = f"import anyner; print(*(len(anyner.load(name).predict(text).entities) for name, text in {texts!r}.items()))"
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert time.monotonic() - started < MOST_SECONDS
    for name, found in zip(NAMES, done.stdout.split(), strict=True):
        assert int(found) >= len(PLAIN[name][texts[name]])


@pytest.mark.slow
def test_a_training_starts_from_its_encoder_without_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise AssertionError("asked for the network")

    monkeypatch.setattr(socket.socket, "connect", cut_off)
    changes = ["data.synthetic.sentences=4", "training.epochs=1", "training.encoder_lr=1e-12"]
    changes += [f"encoder.source=bundled:{folder.name}"]
    trained = anyner.load(anyner.train(ROOT / "recipes/biaffine/demo-bundled.yaml", tmp_path / "new", changes=changes).folder)
    assert "Symptom" in trained.config.labels
    own = dict(anyner.load(folder, device="cpu", runtime="torch").model.encoder.pretrained.named_parameters())
    for name, weight in trained.model.encoder.pretrained.named_parameters():
        assert torch.allclose(weight.cpu(), own[name], atol=1e-6), name


_ENDS = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z])")


def test_no_entity_of_a_text_reaches_across_a_sentence_or_a_line(
    folder: Path, model: Recognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    *_, texts = import_module("bundle").written_by_hand(ROOT / "benchmarks/bundled" / f"{folder.name}.yaml")
    recorded = json.loads((ROOT / "benchmarks/results" / f"bundled-{folder.name}.json").read_text(encoding="utf-8"))["texts"]
    assert len(texts) == {"general-en": 6, "biomed-en": 1}[folder.name]
    for document, one in zip(model.predict([text.text for text in texts]), recorded, strict=True):
        borders = [*line_starts(document.text), *(match.end() for match in _ENDS.finditer(document.text))]
        assert document.entities and (borders or one["name"] == "a tweet")
        for entity in document.entities:
            assert not any(entity.start < border < entity.end for border in borders), entity
        assert draw(document, colour=False) == one["drawn"], "as the card and the pages show it"


def test_most_of_what_the_texts_name_is_found(folder: Path, model: Recognizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    *_, texts = import_module("bundle").written_by_hand(ROOT / "benchmarks/bundled" / f"{folder.name}.yaml")
    assert evaluate_documents(texts, model.predict([text.text for text in texts])).strict.f1 > 0.8
