"""What the first stage of a trained locate_label model does: the paper's Figure 3, Table 2 and its count of proposals.

offsets     how far the regressor moves boundaries of the seeds that become entities (Figure 3)
lengths     strict F1 by length in words; lengths that no seed had in training are marked (Table 2: leave gaps in `head.lengths`)
proposals   seeds that pass the filter, and different spans they become, for each gold entity

python benchmarks/locate_label.py MODEL CORPUS -o benchmarks/results/locate-label-NAME.json
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

import torch
from plainly import plainly

import anyner
from anyner.architectures.locate_label.head import Head
from anyner.architectures.locate_label.network import SpanReader
from anyner.benchmark.record import header, write
from anyner.encoding.batch import batch_of
from anyner.evaluation.words import WordRuler, default_words
from anyner.inference.proposing import arithmetic
from anyner.inference.recognizer import Choice, Recognizer

FARTHEST, LONGEST = 4, 20
"""Where the paper's figure and table end: what is larger counts as this."""
BATCH = 64


@torch.inference_mode()
def first_stage(recognizer: Recognizer, documents: tuple[anyner.Document, ...]) -> dict[str, Any]:
    """Offsets of the boundaries of seeds that became entities, and how many seeds passed and spans came of them."""
    head, proposer, decoding = recognizer.model.eval().head, recognizer.proposer, recognizer.decoding(Choice())
    assert isinstance(head, Head)
    windows = sorted(recognizer.windows(documents), key=lambda window: -len(window.words))
    offsets: Counter[int] = Counter()
    passed = different = 0
    for begin in range(0, len(windows), BATCH):
        own = windows[begin : begin + BATCH]
        batch = batch_of(own, recognizer.vocabulary.frame, proposer.prompt, recognizer.model.encoder.features).to(proposer.device)
        with arithmetic(proposer.device, proposer.precision):
            states = recognizer.model.encoder(batch)
            located = head.locate(SpanReader.of(states), decoding)
            found = head.decode(head.propose(states, decoding, proposer.draw).on_host(), len(own), decoding)
        entities = {(number, entity.first, entity.last) for number, listed in enumerate(found) for entity in listed}
        seeds, moved = (
            list(zip(spans.sentence.tolist(), spans.first.tolist(), spans.last.tolist(), strict=True))
            for spans in (located.seeds, located.moved)
        )
        passed += len(seeds)
        different += len(set(moved))
        for seed, span in zip(seeds, moved, strict=True):
            if span in entities:
                offsets.update(min(abs(there - here), FARTHEST) for here, there in zip(seed[1:], span[1:], strict=True))
    gold = sum(len(document.entities) for document in documents)
    return {
        "offsets": {(f"{far}" if far < FARTHEST else f"{far}+"): offsets[far] for far in range(FARTHEST + 1)},
        "seeds_passed_per_entity": round(passed / gold, 3),
        "spans_per_entity": round(different / gold, 3),
    }


def by_length(recognizer: Recognizer, documents: tuple[anyner.Document, ...]) -> list[dict[str, Any]]:
    gold: Counter[int] = Counter()
    found: Counter[int] = Counter()
    right: Counter[int] = Counter()
    predictions = recognizer.stream([document.with_entities(()) for document in documents])
    for document, predicted in zip(documents, predictions, strict=True):
        ruler = WordRuler(default_words(document))
        wanted = {entity.key for entity in document.entities}
        gold.update(min(ruler.extent(entity).length, LONGEST) for entity in document.entities)
        found.update(min(ruler.extent(entity).length, LONGEST) for entity in predicted.entities)
        right.update(min(ruler.extent(entity).length, LONGEST) for entity in predicted.entities if entity.key in wanted)
    seeds = recognizer.config.head["lengths"]
    return [
        {
            "length": f"{length}" if length < LONGEST else f"{length}+",
            "seed_in_training": length in seeds,
            "gold": gold[length],
            "precision": right[length] / max(found[length], 1),
            "recall": right[length] / max(gold[length], 1),
            "f1": 2 * right[length] / max(found[length] + gold[length], 1),
        }
        for length in range(1, LONGEST + 1)
        if gold[length] or found[length]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    recognizer = anyner.load(arguments.model)
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
    if arguments.output:
        write(measured, arguments.output)


if __name__ == "__main__":
    plainly(main)
