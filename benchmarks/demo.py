"""`make demo`: what the bundled models find, then a minute of fine-tuning, with scores before and after."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from script import ROOT, run

import anyner
from anyner.cli.output import table
from anyner.document import Document
from anyner.evaluation.evaluate import Evaluation, evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.progress import TerminalListener
from anyner.view.terminal import draw

RECIPE, FOLDER = ROOT / "recipes/biaffine/demo-bundled.yaml", ROOT / "runs/demo"
GENERAL = (
    "Angela Merkel met executives of Siemens in Munich on Tuesday.",
    "the mayor of lagos told reuters that shell would pay for the damage",
)
BIOMEDICAL = (
    "Normal and malignant B cells express CD23 mRNA.",
    "Antibodies against the p50 and p65 subunits of NF-kappa B blocked binding.",
    "Primary human T and B lymphocytes express the IL-2 receptor alpha chain gene.",
)
OWN = "Marcus Vickery was admitted to Marfield Infirmary with swelling in the side of the right arm."
RENAMED = {"PER": "Person", "ORG": "Organisation", "LOC": "Place"}
"""Labels of general-en and what the embedded corpus calls them."""


def main() -> None:
    general = anyner.load("general-en")
    print("\n1. general-en comes with anyner: names in any casing.\n")
    show(general.predict(GENERAL))
    print("2. biomed-en comes with it too: nested and discontinuous entities.\n")
    show(anyner.load("biomed-en").predict(BIOMEDICAL))

    recipe = Recipe.read(RECIPE)
    data = read_data(recipe.data, recipe.text)
    print(f"3. Other labels need training: about a minute with {len(data.train)} sentences and the encoder of general-en.\n")
    print(f"Before, general-en unchanged: {', '.join(f'{old} read as {new}' for old, new in RENAMED.items())}.")
    print("It does not know the other labels; their entities count as missed.\n")
    show(renamed(general.predict([OWN]), RENAMED))
    before = scored(general, data.test, RENAMED)
    shutil.rmtree(FOLDER, ignore_errors=True)
    with TerminalListener() as listener:
        anyner.train(recipe, FOLDER, listener=listener)
    recognizer = anyner.load(FOLDER)
    print("\nAfter, the fine-tuned model in runs/demo:\n")
    show(recognizer.predict([OWN]))
    print(compared(before, scored(recognizer, data.test, {})))
    print("\nEverything ran on this machine, without network. Try your own text:\n")
    for model in ("", " --model biomed-en", " --model runs/demo"):
        print(f'  .venv/bin/anyner predict "…"{model}')
    print("\nOr in the browser, as you type:\n\n  .venv/bin/anyner serve general-en biomed-en runs/demo")


def show(documents: Iterable[Document]) -> None:
    for document in documents:
        print(draw(document, colour=sys.stdout.isatty()), end="\n\n", flush=True)


def renamed(documents: Iterable[Document], names: Mapping[str, str]) -> list[Document]:
    """The documents with renamed labels; entities with any other label are left out."""
    return [
        replace(one, entities=tuple(replace(e, label=names[e.label]) for e in one.entities if e.label in names))
        for one in documents
    ]


def scored(recognizer: Recognizer, gold: Sequence[Document], names: Mapping[str, str]) -> Evaluation:
    found = recognizer.predict([replace(one, entities=()) for one in gold])
    return evaluate_documents(gold, renamed(found, names) if names else found)


def compared(before: Evaluation, after: Evaluation) -> str:
    """Strict F1 of each label and of all; a label that a model does not know has 0."""
    had = {label: score.f1 for label, score in before.labels.items()}
    rows = [(label, _percent(had.get(label, 0.0)), _percent(score.f1)) for label, score in after.labels.items()]
    total = ("all", _percent(before.strict.f1), _percent(after.strict.f1))
    return table([(f"strict F1 on {after.documents} unseen sentences", "before", "after"), *rows, total])


def _percent(share: float) -> str:
    return f"{100 * share:6.2f}"


if __name__ == "__main__":
    run(main)
