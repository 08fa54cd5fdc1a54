"""What options of decoding are worth on a saved model: dev scores with each, its thresholds chosen anew.

python benchmarks/decoding.py MODEL --set doubt=0 --set doubt=0.7 -o benchmarks/results/tried-NAME.json
python benchmarks/decoding.py MODEL --set overlap=all --set overlap=flat -o benchmarks/results/tried-NAME.json

Dev and text settings are those of the recipe beside the model; --folder names the corpus where it lies elsewhere now.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml
from plainly import plainly
from tried import flat

import anyner
from anyner.benchmark.record import header, write
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuner
from anyner.overlap import checked_policy
from anyner.training.config import Recipe
from anyner.training.data import dev_passages, read_data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a trained model, with its recipe")
    parser.add_argument(
        "--set",
        action="append",
        required=True,
        dest="options",
        help="an option, NAME=VALUE, or overlap=POLICY; once for each row",
    )
    parser.add_argument("--folder", help="where the corpus lies")
    parser.add_argument("-o", "--output", required=True, help="where the JSON file goes")
    arguments = parser.parse_args()
    moved = [f"data.folder={arguments.folder}"] if arguments.folder else []
    recipe = Recipe.read(Path(arguments.model) / "recipe.yaml", moved)
    if any("=" not in option for option in arguments.options):
        parser.error("--set wants NAME=VALUE")
    if recipe.chosen is not None:
        parser.error(f"{arguments.model} learned from dev as well: its score there says nothing")
    dev = dev_passages(read_data(recipe.data.as_they_are(), recipe.text).dev, recipe.training.passages)
    ner = anyner.load(arguments.model, precision="float32")
    rows = [changed(ner.config, option) for option in arguments.options]
    tried = []
    for option, (told, config) in zip(arguments.options, rows, strict=True):
        tuned = Tuner(Recognizer(ner.model, ner.vocabulary, config, "float32"), dev).tune()
        gaps = tuned.discontinuous.f1 if tuned.discontinuous.gold else None
        tried.append({"set": [told], "dev_f1": tuned.score.f1, "dev_gaps_f1": gaps})
        print(f"{100 * tuned.score.f1:.2f}  {option}", flush=True)
    everywhere = flat(recipe.model_dump(mode="json", exclude_defaults=True))
    write({**header("tried"), "everywhere": everywhere, "tried": tried}, arguments.output)


def changed(config: ModelConfig, option: str) -> tuple[str, ModelConfig]:
    """How a recipe would write the option, and the model's settings with it."""
    name, given, value = option.partition("=")
    if not given:
        raise AnynerError(f"--set {option!r}: write name=value")
    if name == "overlap":
        return option, config.model_copy(update={"overlap": checked_policy(value)})
    return f"options.{option}", config.model_copy(update={"options": {**config.options, name: yaml.safe_load(value)}})


if __name__ == "__main__":
    plainly(main)
