from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import anyner_command

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.inference.config import Calibration
from anyner.storage.bundled import bundled_folder
from anyner.storage.calibration import store_calibration
from anyner.storage.graph import graph_of

SENTENCE = "Angela Merkel met Tim Cook of Siemens in Berlin."


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl"
    anyner.write(synthetic(40, seed=3, contiguous=True, split="dev").documents, path, "jsonl")
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_calibration_is_stored_told_and_replaced(tiny_model: Path, dev: Path, tmp_path: Path) -> None:
    folder, plot = Path(shutil.copytree(tiny_model, tmp_path / "model")), tmp_path / "plot.svg"
    before = files(folder)
    done = anyner_command("calibrate", folder, dev, "--precision", 0.7, "--report", plot)
    assert done.code == 0, done.err
    assert done.out.startswith("temperature ") and "expected calibration error 0." in done.out
    assert "label" in done.out and "threshold" in done.out and done.out.splitlines()[-1].startswith("all labels")
    assert ElementTree.fromstring(plot.read_text(encoding="utf-8")).tag.endswith("svg")

    after = files(folder)
    config, old = (json.loads(one.pop("config.json")) for one in (after, before))
    stored = Calibration.of(config.pop("calibration"), "stored")
    assert after == before, "nothing but config.json is touched"
    assert config == {key: value for key, value in old.items() if key != "calibration"}
    assert stored.thresholds.keys() == set(config["labels"])
    assert "label thresholds" in anyner_command("info", folder).out

    found = anyner.calibrate(folder, anyner.read(dev), thresholds=False)
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["calibration"]["thresholds"] == {}
    assert (found.calibration.temperature, found.calibration.bias) == (stored.temperature, stored.bias)
    texts = [document.text for document in anyner.read(dev)]
    plain, mapped = (anyner.load(one, "cpu").predict(texts) for one in (tiny_model, folder))
    assert [[e.key for e in d.entities] for d in mapped] == [[e.key for e in d.entities] for d in plain]
    assert [e.score for d in mapped for e in d.entities] == [
        stored.probability(e.score or 0.0) for d in plain for e in d.entities
    ]


def test_what_cannot_be_reached_is_one_line(tiny_model: Path, dev: Path, tmp_path: Path) -> None:
    done = anyner_command("calibrate", tiny_model, dev, "--recall", 0.999, "-o", tmp_path / "copy")
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1].startswith("recall 0.999 is not reached; lower confidence bounds at the best thresholds: ")
    assert anyner.load(tmp_path / "copy", "cpu").config.calibration is not None
    assert "calibration" not in anyner_command("info", tiny_model).out


def test_mistakes_are_told_before_the_model_is_run(tiny_model: Path, dev: Path, tmp_path: Path) -> None:
    anyner_command("calibrate", "general-en", dev).assert_one_line("general-en: cannot change a bundled or hub model", "-o")
    anyner_command("calibrate", tiny_model, dev, "-o", tmp_path).assert_one_line("already exists")
    anyner_command("calibrate", tiny_model, dev, "--report", tmp_path / "r.png").assert_one_line("its name must end in .svg")
    (tmp_path / "empty.jsonl").write_text('{"text": "x", "entities": []}\n', encoding="utf-8")
    anyner_command("calibrate", tiny_model, tmp_path / "empty.jsonl").assert_one_line("has no entities to calibrate on")


def test_a_copy_keeps_its_graph(tmp_path: Path) -> None:
    source = bundled_folder("general-en")
    assert source is not None
    calibration = Calibration(temperature=3.0, bias=-0.5)
    folder = store_calibration(source, calibration, tmp_path / "models/mine")
    assert graph_of(folder) is not None
    plain = anyner.load(source, runtime="onnx").predict(SENTENCE)
    expected = {entity.key: calibration.probability(entity.score or 0.0) for entity in plain.entities}
    assert len(expected) == 4
    mapped = anyner.load(folder, runtime="onnx").predict(SENTENCE)
    assert {entity.key: entity.score for entity in mapped.entities} == expected
