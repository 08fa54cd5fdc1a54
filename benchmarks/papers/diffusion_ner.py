"""DiffusionNER: how a trained model depends on spans, steps and noise, and how it denoises one sentence.

sweep   F1 and sentences a second by denoising steps and by number of spans (Figures 3 and 4), the spread of F1 over seeds of the
        noise, and the swap test: whether spans follow the entity that was noised into them, after little and after much noise
trace   the spans of one sentence after every denoising step, for the picture in docs/diffusion-ner.md

python benchmarks/papers/diffusion_ner.py sweep MODEL CORPUS -o benchmarks/results/diffusion-NAME.json
python benchmarks/papers/diffusion_ner.py trace MODEL 'A sentence.' -o benchmarks/results/refinement-NAME.json
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections import Counter
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

import anyner
from anyner.architectures.diffusion_ner.config import DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.draw import Draw
from anyner.document import Document
from anyner.encoding.batch import batch_of, training_batch
from anyner.encoding.examples import Example
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.layers.contiguous import Entities
from anyner.text.align import to_words

sys.path.append(str(Path(__file__).resolve().parent.parent))
from script import header, parser_of, run, write_result
from speed import with_neighbours

from papers.swap import Swapped, swap

STEPS, SPANS = (1, 2, 5, 10, 20), (10, 20, 30, 60, 120, 180)
SWAP_AFTER = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Amounts of noise in the swap test, as shares of all steps."""
BATCH = 64
Documents = tuple[Document, ...]


def sweep(arguments: Namespace) -> None:
    recognizer = anyner.load(arguments.model, runtime="torch")
    documents = with_neighbours(recognizer, anyner.read(arguments.corpus).documents)
    measured = {
        **header("diffusion"),
        "documents": len(documents),
        "curves": [point(recognizer, documents, spans, steps) for spans in arguments.spans for steps in arguments.steps],
        "seeds": over_seeds(arguments.model, documents, arguments.seeds),
        "swap": swaps(recognizer, documents),
    }
    print(json.dumps({key: measured[key] for key in ("curves", "seeds", "swap")}))
    write_result(measured, arguments.output)


def point(recognizer: Recognizer, documents: Documents, spans: int, steps: int) -> dict[str, Any]:
    """F1 and speed with this many spans and denoising steps."""
    bare = [document.with_entities(()) for document in documents]
    options = {"spans": spans, "steps": steps}
    list(recognizer.stream(bare[:BATCH], options=options))  # warm up
    started = time.perf_counter()
    found = list(recognizer.stream(bare, options=options))
    seconds = time.perf_counter() - started
    f1 = evaluate_documents(documents, found).strict.f1
    return {"spans": spans, "steps": steps, "f1": f1, "sentences_per_second": round(len(documents) / seconds, 1)}


def over_seeds(model: str, documents: Documents, count: int) -> dict[str, Any]:
    """F1 with different noise in prediction."""
    f1 = []
    for seed in range(count):
        recognizer = anyner.load(model, runtime="torch")
        recognizer.runtime.draw = Draw(seed)
        found = list(recognizer.stream([document.with_entities(()) for document in documents]))
        f1.append(evaluate_documents(documents, found).strict.f1)
    return {"f1": f1, "mean": mean(f1), "spread": stdev(f1) if count > 1 else 0.0}


@torch.inference_mode()
def swaps(recognizer: Recognizer, documents: Documents) -> list[dict[str, Any]]:
    """The swap test after several amounts of noise: shares of spans that followed, stayed or did not change."""
    head, device = recognizer.model.eval().head, recognizer.runtime.device
    assert isinstance(head, Head)
    totals = dict.fromkeys((max(0, round(share * len(head.alpha_bar)) - 1) for share in SWAP_AFTER), Swapped())
    whole = [(window, document) for document in documents for window in recognizer.windows([document])[:1]]
    for start in range(0, len(whole), BATCH):
        own = whole[start : start + BATCH]
        examples = [
            Example.of(window, to_words(document.entities, window.starts, window.ends).entities, head.labels, None)
            for window, document in own
        ]
        batch = training_batch(examples, recognizer.vocabulary.frame, recognizer.model.encoder.shapes)
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


@torch.inference_mode()
def trace(arguments: Namespace) -> None:
    recognizer = anyner.load(arguments.model, device="cpu", runtime="torch")
    head, draw = recognizer.model.eval().head, recognizer.runtime.draw
    options = recognizer.decoding({"steps": arguments.steps}).options
    assert isinstance(head, Head) and isinstance(options, DiffusionOptions)
    (window,) = recognizer.windows([Document(arguments.text)])
    states = recognizer.model.encoder(batch_of([window], recognizer.vocabulary.frame, recognizer.model.encoder.shapes))
    steps = []
    for step, first, last, pointed in head.denoise(states, head.denoiser.read(states), options, draw):
        answers = (pointed.left.argmax(2), pointed.right.argmax(2))
        steps.append({"step": step, "spans": span_counts(first, last), "answers": span_counts(*answers)})
    found = recognizer.predict(arguments.text, options={"steps": arguments.steps})
    measured = {
        **header("refinement"),
        "words": window.words,
        "steps": steps,
        "entities": [entity.to_json() for entity in found.entities],
    }
    write_result(measured, arguments.output)
    print(json.dumps(measured["entities"], ensure_ascii=False))


def span_counts(first: torch.Tensor, last: torch.Tensor) -> list[list[int]]:
    """The distinct spans of the one sentence, each with its count."""
    spans = Counter(zip(first[0].tolist(), last[0].tolist(), strict=True))
    return [[*span, count] for span, count in sorted(spans.items())]


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    own = commands.add_parser("sweep", help="F1 and speed by spans, steps and noise; the swap test")
    own.add_argument("model")
    own.add_argument("corpus")
    own.add_argument("--seeds", type=int, default=5, help="number of seeds of the noise")
    own.add_argument("--spans", type=int, nargs="+", default=SPANS)
    own.add_argument("--steps", type=int, nargs="+", default=STEPS)
    own.add_argument("-o", "--output")
    own.set_defaults(work=sweep)
    own = commands.add_parser("trace", help="the spans of one sentence after every denoising step")
    own.add_argument("model")
    own.add_argument("text")
    own.add_argument("--steps", type=int, default=5)
    own.add_argument("-o", "--output", required=True)
    own.set_defaults(work=trace)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
