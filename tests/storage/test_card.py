from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard

from anyner.inference.recognizer import Recognizer
from anyner.storage.card import with_metadata


def test_the_card_shows_the_figures_of_metrics_json(model_folder: Path, recognizer: Recognizer) -> None:
    metrics = json.loads((model_folder / "metrics.json").read_text(encoding="utf-8"))
    card = (model_folder / "README.md").read_text(encoding="utf-8")
    dev, training = metrics["dev"], metrics["training"]
    assert dev["f1"] > 0
    assert "| {:.2f} | {:.2f} | {:.2f} |".format(*(100 * dev[name] for name in ("precision", "recall", "f1"))) in card
    assert f"Best epoch {training['best_epoch'] + 1} of {training['epochs']}, {training['steps']} steps." in card
    assert "| training documents | 60 |" in card
    assert all(label in card for label in recognizer.config.labels)


def test_the_card_shows_the_thresholds_that_are_saved(model_folder: Path, recognizer: Recognizer) -> None:
    card = (model_folder / "README.md").read_text(encoding="utf-8")
    assert f"| thresholds | score {recognizer.config.thresholds['score']} |" in card


def test_the_card_has_front_matter_and_the_recipe(model_folder: Path) -> None:
    card = (model_folder / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    assert front["library_name"] == "anyner"
    assert "biaffine" in front["tags"]
    shown = card.split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(shown) == yaml.safe_load((model_folder / "recipe.yaml").read_text(encoding="utf-8"))


def test_the_card_shows_the_picture_of_the_training(model_folder: Path) -> None:
    card = (model_folder / "README.md").read_text(encoding="utf-8")
    assert card.count("](training.svg)") == 1
    picture = (model_folder / "training.svg").read_text(encoding="utf-8")
    metrics = json.loads((model_folder / "metrics.json").read_text(encoding="utf-8"))
    assert f"best epoch: {metrics['training']['best_epoch'] + 1}" in picture


def test_the_card_of_a_training_has_the_metadata_of_the_hub(model_folder: Path) -> None:
    metrics = json.loads((model_folder / "metrics.json").read_text(encoding="utf-8"))
    data = ModelCard((model_folder / "README.md").read_text(encoding="utf-8")).data
    assert data.pipeline_tag == "token-classification" and data.library_name == "anyner"
    found = {result.metric_type: result.metric_value for result in data.eval_results}
    assert found == {name: round(metrics["dev"][name], 4) for name in ("precision", "recall", "f1")}


@pytest.mark.parametrize("text", ["# A\n", "---\nold: 1\n---\n# A\n", "---\n[broken\n---\n# A\n", "---\n# A\n"])
def test_metadata_goes_on_top_and_the_text_stays(text: str) -> None:
    made = with_metadata(text, {"license": "mit"}, {"old": 0})
    front = yaml.safe_load(made.split("---\n")[1])
    assert front == {"old": 1 if "old" in text else 0, "license": "mit"}
    assert made.endswith("---\n# A\n") if "broken" not in text else made.endswith(text)
