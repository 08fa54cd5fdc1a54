"""Strict F1 by the length of entities, of several groups of models; the first group is compared with each other one.

A group is NAME=MODEL,MODEL…, one model a seed; NAME=MODEL,…@KEY=VALUE sets an option of prediction. The test documents of all
`--corpus` are pooled. The paired bootstrap resamples documents; a document counts with all its group's seeds at once.

python benchmarks/lengths.py full=runs/a0,runs/a1 'without filter=runs/b0,runs/b1' --corpus dev.jsonl --corpus test.jsonl
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

import yaml
from plainly import plainly

import anyner
from anyner.benchmark.record import header, write
from anyner.evaluation.bootstrap import compare
from anyner.evaluation.match import Pair
from anyner.evaluation.scores import Score, strict_score
from anyner.evaluation.words import WordRuler, default_words

GROUPS = {"all": (1, None), "1-4": (1, 4), "5-9": (5, 9), "5+": (5, None), "10+": (10, None)}
"""The paper's groups of lengths (its Table 3), and 5+."""


@dataclass(frozen=True, slots=True)
class Group:
    """Models that differ in their seed alone."""

    name: str
    models: tuple[str, ...]
    options: dict[str, Any]

    @classmethod
    def of(cls, argument: str) -> Group:
        name, _, rest = argument.partition("=")
        models, _, options = rest.partition("@")
        pairs = (option.split("=", 1) for option in options.split(",") if option)
        return cls(name, tuple(models.split(",")), {key: yaml.safe_load(value) for key, value in pairs})

    def found(self, documents: tuple[anyner.Document, ...]) -> list[list[anyner.Document]]:
        bare = [document.with_entities(()) for document in documents]
        return [list(anyner.load(model).stream(bare, options=self.options)) for model in self.models]


def of_length(document: anyner.Document, low: int, high: int | None) -> tuple[anyner.Entity, ...]:
    ruler = WordRuler(default_words(document))
    lengths = ((entity, ruler.extent(entity).length) for entity in document.entities)
    return tuple(entity for entity, length in lengths if low <= length and (high is None or length <= high))


def pairs_of(gold: tuple[anyner.Document, ...], found: list[list[anyner.Document]], low: int, high: int | None) -> list[Pair]:
    """One pair a document and seed: gold and predicted entities of these lengths."""
    cut_gold = [document.with_entities(of_length(document, low, high)) for document in gold]
    return [Pair(one, of_length(other, low, high)) for own in found for one, other in zip(cut_gold, own, strict=True)]


def together(pairs: list[Pair], documents: int) -> list[Pair]:
    """All seeds of a document as one pair, kept apart by their labels."""

    def marked(entities: tuple[anyner.Entity, ...], seed: int) -> list[anyner.Entity]:
        return [replace(entity, label=f"{entity.label}/{seed}", text="") for entity in entities]

    joined = []
    for place in range(documents):
        own = pairs[place::documents]
        gold = [entity for seed, pair in enumerate(own) for entity in marked(pair.document.entities, seed)]
        found = [entity for seed, pair in enumerate(own) for entity in marked(tuple(pair.predicted), seed)]
        joined.append(Pair(own[0].document.with_entities(gold), tuple(found)))
    return joined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+")
    parser.add_argument("--corpus", action="append", required=True)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    gold = tuple(document for path in arguments.corpus for document in anyner.read(path).documents)
    groups = [Group.of(group) for group in arguments.groups]
    found = {group.name: group.found(gold) for group in groups}
    rows: list[dict[str, Any]] = []
    for group in groups:
        head = anyner.load(group.models[0]).config.head
        row: dict[str, Any] = {"name": group.name, "seeds": len(group.models), "options": group.options, "head": head, "f1": {}}
        for name, (low, high) in GROUPS.items():
            pairs = pairs_of(gold, found[group.name], low, high)
            f1 = [sum(map(strict_score, pairs[at : at + len(gold)]), Score(0, 0, 0)).f1 for at in range(0, len(pairs), len(gold))]
            row["f1"][name] = {"seeds": f1, "mean": mean(f1), "spread": stdev(f1) if len(f1) > 1 else 0.0}
            if group is not groups[0] and len(group.models) == len(groups[0].models):
                first = pairs_of(gold, found[groups[0].name], low, high)
                compared = compare(together(first, len(gold)), together(pairs, len(gold)), arguments.resamples)
                row["f1"][name] |= {"first_is_better_by": compared.difference, "p": compared.p_value}
            if group is groups[0]:
                row["f1"][name]["entities"] = sum(len(pair.document.entities) for pair in pairs) // len(group.models)
        rows.append(row)
        print(
            group.name, {name: f"{100 * one['mean']:.2f} p={one.get('p', 1):.3f}" for name, one in row["f1"].items()}, flush=True
        )
    measured = {
        **header("lengths"),
        "architecture": anyner.load(groups[0].models[0]).config.architecture,
        "documents": len(gold),
        "groups": rows,
    }
    if arguments.output:
        write(measured, arguments.output)


if __name__ == "__main__":
    plainly(main)
