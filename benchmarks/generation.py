"""Generative models beside their rival that writes all entities of a sentence in one sequence, in one run; one JSON file.

F1, overlapped recall, discontinuous mentions, right boundaries of each; sentences a second on all sentences, on short ones and on
long ones with many entities; for a set_gner model F1 and speed over the size of the beam, and the memory of keys and values for
more and more rows a sentence, shared and repeated.

python benchmarks/generation.py runs/sequence runs/set runs/nag CORPUS -o benchmarks/results/generation-NAME.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

import rival
import torch
from plainly import plainly

import anyner
from anyner.architectures.set_gner.head import Head
from anyner.benchmark.record import header, write
from anyner.benchmark.speed import in_rounds, with_neighbours
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.layers.decoder import Decoder
from anyner.layers.rows import Rows

BEAMS = (1, 2, 4, 6, 8)
ROWS = (1, 2, 4, 8, 16)
SENTENCES, PIECES = 64, 40
SHORT, LONG, MANY = 20, 30, 5
"""A sentence of at most 20 words is short; long and rich is one of at least 30 words and 5 entities."""
REPEATS = 3
Documents = tuple[anyner.Document, ...]


def timed(recognizer: Recognizer, documents: Documents, options: Mapping[str, Any]) -> tuple[list[anyner.Document], float]:
    """What is found, and sentences a second in the fastest of several runs."""
    bare = [document.with_entities(()) for document in documents]
    found: list[anyner.Document] = []

    def work() -> None:
        found[:] = recognizer.stream(bare, options=options)

    (seconds,) = in_rounds([work], REPEATS)
    return found, round(len(documents) / seconds, 1)


def predicted(recognizer: Recognizer, documents: Documents, options: Mapping[str, Any]) -> dict[str, Any]:
    found, rate = timed(recognizer, documents, options)
    scored = evaluate_documents(documents, found)
    slices = {(one.group, one.name): one for one in scored.slices}
    overlapped, mentions = slices.get(("shape", "overlapped")), slices.get(("discontinuous", "mentions"))
    return {
        "f1": scored.strict.f1,
        "recall": scored.strict.recall,
        "overlapped_recall": overlapped.recall if overlapped else None,
        "discontinuous_f1": mentions.f1 if mentions else None,
        "right_boundary": scored.right_boundary.to_json(),
        "sentences_per_second": rate,
    }


def groups(documents: Documents) -> dict[str, Documents]:
    def words(document: anyner.Document) -> int:
        return len(document.words or document.text.split())

    return {
        "short": tuple(document for document in documents if words(document) <= SHORT),
        "long": tuple(document for document in documents if words(document) >= LONG and len(document.entities) >= MANY),
    }


@torch.inference_mode()
def memory(decoder: Decoder, device: torch.device) -> list[dict[str, Any]]:
    """Bytes of keys and values for so many rows a sentence: one set a sentence, and one a row as in the authors' code."""
    states = torch.randn(SENTENCES, PIECES, decoder.shape.memory_width, device=device)
    measured = []
    for count in ROWS:
        rows = Rows.of_counts([count] * SENTENCES, device)
        held = {}
        for name, own in (("shared", states), ("repeated", states.index_select(0, rows.sentence))):
            kept = decoder.remember(own, None)
            held[f"{name}_bytes"] = sum(part.numel() * part.element_size() for layer in kept.layers for part in layer)
        measured.append({"rows_a_sentence": count, **held})
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help=f"the first of the architecture that {rival.__name__} registers")
    parser.add_argument("corpus")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    documents = anyner.read(arguments.corpus).documents
    measured: dict[str, Any] = {
        **header("generation"),
        "documents": len(documents),
        "sentences_of": {name: len(own) for name, own in groups(documents).items()},
        "models": {},
    }
    for folder in arguments.models:
        recognizer = anyner.load(folder)
        read = with_neighbours(recognizer, documents)
        head = recognizer.model.eval().head
        measured["models"][recognizer.config.architecture] = {
            **predicted(recognizer, read, {}),
            "sentences_per_second_of": {name: timed(recognizer, own, {})[1] for name, own in groups(read).items() if own},
        }
        if isinstance(head, Head):
            measured["beams"] = [{"beam": beam, **predicted(recognizer, read, {"beam": beam})} for beam in BEAMS]
            measured["memory"] = memory(head.forwards.generator.decoder, recognizer.proposer.device)
        write(measured, arguments.output)
    print(json.dumps(measured["models"], indent=1))


if __name__ == "__main__":
    plainly(main)
