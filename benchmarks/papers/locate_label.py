"""Locate and Label: what the first stage of a trained model does, and ablations by the length of entities.

stage     how far the regressor moves boundaries (Figure 3), strict F1 by length, with the lengths that no seed had in training
          marked (Table 2: leave gaps in `head.lengths`), and the number of proposals for each gold entity
lengths   strict F1 of groups of models by length of entities (Table 3); the first group is compared with each other one
holdout   splits a training corpus in two by documents, for choices that should not be made on dev

python benchmarks/papers/locate_label.py stage MODEL CORPUS -o benchmarks/results/locate-label-NAME.json
python benchmarks/papers/locate_label.py lengths full=runs/a0,runs/a1 'without filter=runs/b0,runs/b1' --corpus test.jsonl
python benchmarks/papers/locate_label.py holdout DATA/train.jsonl TRAIN.jsonl DEV.jsonl --share 0.125

A group is NAME=MODEL,MODEL…, a model for each seed; NAME=MODEL,…@KEY=VALUE sets an option of prediction. The documents of all
--corpus are pooled. The paired bootstrap resamples documents; a document counts with all seeds of its group at once.
"""

from __future__ import annotations

import json
import random
import sys
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
import yaml

import anyner
from anyner.architectures.locate_label.head import Head
from anyner.architectures.locate_label.network import SpanReader
from anyner.corpora.wordform import WordRuler
from anyner.document import Document, Entity
from anyner.encoding.batch import batch_of
from anyner.evaluation.bootstrap import compare
from anyner.evaluation.match import Pair
from anyner.evaluation.scores import NOTHING, strict_score
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import arithmetic

sys.path.append(str(Path(__file__).resolve().parent.parent))
from script import header, parser_of, run, write_result

FARTHEST, LONGEST = 4, 20
"""The last values in the paper's figure and table; larger ones are counted with them."""
BATCH = 64
LENGTH_GROUPS = {
    "all": (1, None), "1-4": (1, 4), "5-9": (5, 9), "5+": (5, None), "10+": (10, None), "11-20": (11, 20), "21+": (21, None)
}  # fmt: skip
"""The paper's groups of lengths (its Table 3), 5+, and those of `anyner evaluate` beyond ten words."""
BLOCK = 50
"""A corpus without `doc` is held out in blocks of this many neighbouring documents."""
Documents = tuple[Document, ...]


# The first stage.


def stage(arguments: Namespace) -> None:
    recognizer = anyner.load(arguments.model, runtime="torch")
    documents = tuple(document for path in arguments.corpus for document in anyner.read(path).documents)
    measured = {
        **header("locate_label"),
        "head": recognizer.config.head,
        "thresholds": recognizer.config.thresholds,
        "documents": len(documents),
        **first_stage(recognizer, documents),
        "lengths": by_length(recognizer, documents),
    }
    print(json.dumps({key: measured[key] for key in ("offsets", "seeds_passed_per_entity", "spans_per_entity", "lengths")}))
    write_result(measured, arguments.output)


@torch.inference_mode()
def first_stage(recognizer: Recognizer, documents: Documents) -> dict[str, Any]:
    """Boundary offsets of the seeds that became entities, seeds that passed the filter, and distinct spans they became."""
    head, runtime, decoding = recognizer.model.eval().head, recognizer.runtime, recognizer.decoding()
    assert isinstance(head, Head)
    windows = sorted(recognizer.windows(documents), key=lambda window: -len(window.words))
    offsets: Counter[int] = Counter()
    passed = distinct = 0
    for start in range(0, len(windows), BATCH):
        own = windows[start : start + BATCH]
        batch = batch_of(own, recognizer.vocabulary.frame, recognizer.model.encoder.shapes).to(runtime.device)
        with arithmetic(runtime.device, runtime.precision):
            states = recognizer.model.encoder(batch)
            from_seeds, shifted, _ = head.locate(SpanReader(states), decoding)
            found = head.decode(head.propose(states, decoding, runtime.draw).on_host(), len(own), decoding)
        entities = {(number, entity.first, entity.last) for number, listed in enumerate(found) for entity in listed}
        seeds, moved = (
            list(zip(spans.sentence.tolist(), spans.first.tolist(), spans.last.tolist(), strict=True))
            for spans in (from_seeds, shifted)
        )
        passed += len(seeds)
        distinct += len(set(moved))
        for seed, span in zip(seeds, moved, strict=True):
            if span in entities:
                offsets.update(min(abs(there - here), FARTHEST) for here, there in zip(seed[1:], span[1:], strict=True))
    gold = sum(len(document.entities) for document in documents)
    return {
        "offsets": {(f"{far}" if far < FARTHEST else f"{far}+"): offsets[far] for far in range(FARTHEST + 1)},
        "seeds_passed_per_entity": round(passed / gold, 3),
        "spans_per_entity": round(distinct / gold, 3),
    }


def by_length(recognizer: Recognizer, documents: Documents) -> list[dict[str, Any]]:
    """Strict scores for each length in words."""
    gold: Counter[int] = Counter()
    found: Counter[int] = Counter()
    correct: Counter[int] = Counter()
    predictions = recognizer.stream([document.with_entities(()) for document in documents])
    for document, predicted in zip(documents, predictions, strict=True):
        ruler = WordRuler(document)
        keys = {entity.key for entity in document.entities}
        gold.update(min(ruler.extent(entity).length, LONGEST) for entity in document.entities)
        found.update(min(ruler.extent(entity).length, LONGEST) for entity in predicted.entities)
        correct.update(min(ruler.extent(entity).length, LONGEST) for entity in predicted.entities if entity.key in keys)
    seeds = recognizer.config.head["lengths"]
    return [
        {
            "length": f"{length}" if length < LONGEST else f"{length}+",
            "seed_in_training": length in seeds,
            "gold": gold[length],
            "precision": correct[length] / max(found[length], 1),
            "recall": correct[length] / max(gold[length], 1),
            "f1": 2 * correct[length] / max(found[length] + gold[length], 1),
        }
        for length in range(1, LONGEST + 1)
        if gold[length] or found[length]
    ]


# Groups of models by length.


@dataclass(frozen=True, slots=True)
class Group:
    """Models that differ in their seed only."""

    name: str
    models: tuple[str, ...]
    options: dict[str, Any]

    @classmethod
    def of(cls, argument: str) -> Group:
        name, _, rest = argument.partition("=")
        models, _, options = rest.partition("@")
        pairs = (option.split("=", 1) for option in options.split(",") if option)
        return cls(name, tuple(models.split(",")), {key: yaml.safe_load(value) for key, value in pairs})

    def predictions(self, documents: Documents) -> list[list[Document]]:
        bare = [document.with_entities(()) for document in documents]
        return [list(anyner.load(model).stream(bare, options=self.options)) for model in self.models]


def of_length(document: Document, low: int, high: int | None) -> tuple[Entity, ...]:
    ruler = WordRuler(document)
    lengths = ((entity, ruler.extent(entity).length) for entity in document.entities)
    return tuple(entity for entity, length in lengths if low <= length and (high is None or length <= high))


def pairs_of(gold: Documents, found: list[list[Document]], low: int, high: int | None) -> list[Pair]:
    """Gold and predicted entities of these lengths: a pair for each seed and document."""
    cut_gold = [document.with_entities(of_length(document, low, high)) for document in gold]
    return [Pair(one, of_length(other, low, high)) for own in found for one, other in zip(cut_gold, own, strict=True)]


def seeds_pooled(pairs: list[Pair], documents: int) -> list[Pair]:
    """One pair for each document: the entities of all seeds, kept apart by their labels."""

    def marked(entities: tuple[Entity, ...], seed: int) -> list[Entity]:
        return [replace(entity, label=f"{entity.label}/{seed}", text="") for entity in entities]

    pooled = []
    for place in range(documents):
        own = pairs[place::documents]
        gold = [entity for seed, pair in enumerate(own) for entity in marked(pair.document.entities, seed)]
        found = [entity for seed, pair in enumerate(own) for entity in marked(tuple(pair.predicted), seed)]
        pooled.append(Pair(own[0].document.with_entities(gold), tuple(found)))
    return pooled


def lengths(arguments: Namespace) -> None:
    gold = tuple(document for path in arguments.corpus for document in anyner.read(path).documents)
    groups = [Group.of(group) for group in arguments.groups]
    found = {group.name: group.predictions(gold) for group in groups}
    rows: list[dict[str, Any]] = []
    for group in groups:
        head = anyner.load(group.models[0]).config.head
        row: dict[str, Any] = {"name": group.name, "seeds": len(group.models), "options": group.options, "head": head, "f1": {}}
        for name, (low, high) in LENGTH_GROUPS.items():
            pairs = pairs_of(gold, found[group.name], low, high)
            of_seeds = [pairs[at : at + len(gold)] for at in range(0, len(pairs), len(gold))]
            scores = [sum(map(strict_score, own), NOTHING) for own in of_seeds]
            f1 = [score.f1 for score in scores]
            row["f1"][name] = {"seeds": f1, "mean": mean(f1), "spread": stdev(f1) if len(f1) > 1 else 0.0}
            row["f1"][name]["recall"] = [score.recall for score in scores]
            if group is not groups[0] and len(group.models) == len(groups[0].models):
                first = pairs_of(gold, found[groups[0].name], low, high)
                compared = compare(seeds_pooled(first, len(gold)), seeds_pooled(pairs, len(gold)), arguments.resamples)
                row["f1"][name] |= {"first_is_better_by": compared.difference, "p": compared.p_value}
            if group is groups[0]:
                row["f1"][name]["entities"] = sum(len(pair.document.entities) for pair in pairs) // len(group.models)
        rows.append(row)
        shown = {name: f"{100 * one['mean']:.2f} p={one.get('p', 1):.3f}" for name, one in row["f1"].items()}
        print(group.name, shown, flush=True)
    architecture = anyner.load(groups[0].models[0]).config.architecture
    result = {**header("lengths"), "architecture": architecture, "documents": len(gold), "groups": rows}
    write_result(result, arguments.output)


def holdout(arguments: Namespace) -> None:
    """Sentences of one `doc` stay together."""
    documents = anyner.read(arguments.input).documents
    sources = [document.doc or f"block-{place // BLOCK:06}" for place, document in enumerate(documents)]
    shuffled = sorted(set(sources))
    random.Random(arguments.seed).shuffle(shuffled)
    held_out = set(shuffled[: int(len(shuffled) * arguments.share)])
    for path, side in ((arguments.train, False), (arguments.dev, True)):
        own = [document for document, source in zip(documents, sources, strict=True) if (source in held_out) == side]
        anyner.write(own, path, "jsonl-tokens")
        print(f"{path}: {len(own):,} documents")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    own = commands.add_parser("stage", help="what the first stage of a model does")
    own.add_argument("model")
    own.add_argument("corpus", nargs="+")
    own.add_argument("-o", "--output")
    own.set_defaults(work=stage)
    own = commands.add_parser("lengths", help="groups of models by length of entities")
    own.add_argument("groups", nargs="+", metavar="NAME=MODEL,…")
    own.add_argument("--corpus", action="append", required=True)
    own.add_argument("--resamples", type=int, default=2000, help="resamples of the bootstrap")
    own.add_argument("-o", "--output")
    own.set_defaults(work=lengths)
    own = commands.add_parser("holdout", help="split a training corpus in two by documents")
    own.add_argument("input")
    own.add_argument("train")
    own.add_argument("dev")
    own.add_argument("--share", type=float, default=0.125, help="share of the documents for dev")
    own.add_argument("--seed", type=int, default=5)
    own.set_defaults(work=holdout)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
