"""The demo: trains biaffine on the embedded contiguous corpus with a small new encoder, scores it and tags three sentences."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import anyner
from anyner.evaluation.report import render
from anyner.training.config import Recipe
from anyner.training.data import read_data
from anyner.training.progress import TerminalListener
from anyner.view.terminal import draw

ROOT = Path(__file__).resolve().parent.parent
RECIPE, FOLDER = ROOT / "recipes/biaffine/demo.yaml", ROOT / "runs/demo"
SENTENCES = (
    "The director of St Edith Clinic in Fenford met Dr Hanna Norwood on Monday.",
    "I took 2.5 mg of Ystrodolex and woke up with sharp pain in my left shoulder.",
    "Marcus Vickery was admitted to Marfield Infirmary with swelling in the side of the right arm.",
)


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    recipe = Recipe.read(RECIPE)
    with TerminalListener() as listener:
        anyner.train(recipe, FOLDER, listener=listener)
    recognizer = anyner.load(FOLDER)
    evaluation = anyner.evaluate(recognizer, read_data(recipe.data, recipe.text).test)
    print(render(evaluation).split("\n\n")[0])
    print(f"\nstrict F1 on {evaluation.documents} unseen sentences: {100 * evaluation.strict.f1:.2f}\n")
    for document in recognizer.predict(SENTENCES):
        print(draw(document, colour=sys.stdout.isatty()), end="\n\n")
    print('Try it on your own text: .venv/bin/anyner predict "…" --model runs/demo')


if __name__ == "__main__":
    main()
