"""What a threshold is worth on documents that it was not chosen on: the best one of a half, or the middle of those as good as it.

python benchmarks/thresholds.py PREDICTED.jsonl GOLD.jsonl --name 'nag_ner on CADEC' -o benchmarks/results/thresholds-NAME.json

PREDICTED has all that a model finds at its loosest thresholds, with scores; GOLD the same documents as they should be.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from plainly import plainly

import anyner
from anyner.benchmark.record import header, write
from anyner.document import Document
from anyner.evaluation.scores import Score
from anyner.inference.tuning import middle_place

GRID = tuple(round(0.05 * i, 2) for i in range(1, 20))
SPLITS = 300


@dataclass(frozen=True)
class Judged:
    """One document: how many entities it has, and what was found with which score, right or not."""

    gold: int
    found: tuple[tuple[float, bool], ...]


def judged(predicted: Document, gold: Document, gaps: bool) -> Judged:
    wanted = {entity.key for entity in gold.entities if entity.discontinuous == gaps}
    found = [(entity.score or 0.0, entity.key in wanted) for entity in predicted.entities if entity.discontinuous == gaps]
    return Judged(len(wanted), tuple(found))


def score(documents: Sequence[Judged], threshold: float) -> Score:
    kept = [right for document in documents for own, right in document.found if own >= threshold]
    return Score(sum(kept), len(kept), sum(document.gold for document in documents))


def compared(documents: Sequence[Judged]) -> dict[str, Any]:
    """Chosen on one half, scored on the other, for many ways to cut the documents in two."""
    draw, found = random.Random(0), {"best": [], "middle": [], "possible": []}
    for _ in range(SPLITS):
        mixed = draw.sample(documents, len(documents))
        chosen_on, other = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        scores = {place: score(chosen_on, threshold) for place, threshold in enumerate(GRID)}
        f1 = [score(other, threshold).f1 for threshold in GRID]
        found["best"].append(f1[max(scores, key=lambda place: scores[place].f1)])
        found["middle"].append(f1[middle_place(scores) or 0])
        found["possible"].append(max(f1))
    return {"gold": sum(document.gold for document in documents), **{name: mean(values) for name, values in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predicted")
    parser.add_argument("gold")
    parser.add_argument("--name", required=True, help="what the table calls the model and the documents")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    gold = {document.id: document for document in anyner.read(arguments.gold)}
    predicted = list(anyner.read(arguments.predicted))
    rows = []
    for entities, gaps in (("without gaps", False), ("with gaps", True)):
        documents = [judged(document, gold[document.id], gaps) for document in predicted]
        if any(document.gold for document in documents):
            rows.append({"name": arguments.name, "entities": entities, **compared(documents)})
            print(rows[-1])
    write({**header("thresholds"), "splits": SPLITS, "rows": rows}, arguments.output)


if __name__ == "__main__":
    plainly(main)
