"""What a trained diffusion_ner model does with more spans, more steps, other noise and swapped spans.

curves   strict F1 and sentences a second over steps, for several numbers of spans (Figure 3), and over spans (Figure 4)
seeds    the spread of F1 over seeds of the noise in prediction
swap     whether spans follow the entity that was noised into them, after little and after much noise

python benchmarks/diffusion.py MODEL CORPUS -o benchmarks/results/diffusion-NAME.json
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import mean, stdev
from typing import Any

import torch
from plainly import plainly

import anyner
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.diffusion_ner.swap import Swapped, swap
from anyner.architectures.draw import Draw
from anyner.benchmark.record import header, write
from anyner.benchmark.speed import with_neighbours
from anyner.encoding.batch import training_batch
from anyner.encoding.gold import Example
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.layers.contiguous import Entities
from anyner.text.align import to_words

STEPS, SPANS = (1, 2, 5, 10, 20), (10, 20, 30, 60, 120, 180)
SWAP_AFTER = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of all steps of noise."""
BATCH = 64
Documents = tuple[anyner.Document, ...]


def point(recognizer: Recognizer, documents: Documents, spans: int, steps: int) -> dict[str, Any]:
    bare = [document.with_entities(()) for document in documents]
    options = {"spans": spans, "steps": steps}
    list(recognizer.stream(bare[:BATCH], options=options))
    began = time.perf_counter()
    found = list(recognizer.stream(bare, options=options))
    seconds = time.perf_counter() - began
    f1 = evaluate_documents(documents, found).strict.f1
    return {"spans": spans, "steps": steps, "f1": f1, "sentences_per_second": round(len(documents) / seconds, 1)}


def over_seeds(model: str, documents: Documents, count: int) -> dict[str, Any]:
    """F1 with other noise: the seed of prediction is the model's, set anew."""
    f1 = []
    for seed in range(count):
        recognizer = anyner.load(model)
        recognizer.proposer.draw = Draw(seed)
        found = list(recognizer.stream([document.with_entities(()) for document in documents]))
        f1.append(evaluate_documents(documents, found).strict.f1)
    return {"f1": f1, "mean": mean(f1), "spread": stdev(f1) if count > 1 else 0.0}


@torch.inference_mode()
def swaps(recognizer: Recognizer, documents: Documents) -> list[dict[str, Any]]:
    head, device = recognizer.model.eval().head, recognizer.proposer.device
    assert isinstance(head, Head)
    totals = dict.fromkeys((max(0, round(share * len(head.schedule)) - 1) for share in SWAP_AFTER), Swapped())
    whole = [(window, document) for document in documents for window in recognizer.windows([document])[:1]]
    for begin in range(0, len(whole), BATCH):
        own = whole[begin : begin + BATCH]
        examples = [
            Example.of(window, to_words(document.entities, window.starts, window.ends).entities, head.labels, None)
            for window, document in own
        ]
        batch = training_batch(examples, recognizer.vocabulary.frame, (), recognizer.model.encoder.features)
        assert batch.gold is not None
        gold = Entities.of(batch.gold.host).rows(len(own))
        states = recognizer.model.encoder(batch.to(device))
        for step in totals:
            totals[step] = totals[step] + swap(head, states, gold, step, Draw(0))
    return [
        {"step": step, "spans": one.spans}
        | {name: getattr(one, name) / max(one.spans, 1) for name in ("followed", "stayed", "unchanged")}
        for step, one in totals.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--spans", type=int, nargs="+", default=SPANS)
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    recognizer = anyner.load(arguments.model)
    documents = with_neighbours(recognizer, anyner.read(arguments.corpus).documents)
    measured = {
        **header("diffusion"),
        "documents": len(documents),
        "curves": [point(recognizer, documents, spans, steps) for spans in arguments.spans for steps in arguments.steps],
        "seeds": over_seeds(arguments.model, documents, arguments.seeds),
        "swap": swaps(recognizer, documents),
    }
    print(json.dumps({key: measured[key] for key in ("curves", "seeds", "swap")}))
    if arguments.output:
        write(measured, arguments.output)


if __name__ == "__main__":
    plainly(main)
