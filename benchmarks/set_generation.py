"""SetGNER beside its rival that writes all entities of a sentence in one sequence, in one run; one JSON file.

F1, overlapped recall, discontinuous mentions, right boundaries and sentences a second of both; F1 and speed over the size of the
beam; and the memory of keys and values for more and more rows a sentence, shared and repeated.

python benchmarks/set_generation.py runs/set runs/sequence CORPUS -o benchmarks/results/set-generation-NAME.json
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import rival
import torch
from record import header, write

import anyner
from anyner.architectures.set_gner.head import Head
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.layers.decoder import Decoder, Rows

BEAMS = (1, 2, 4, 6, 8)
ROWS = (1, 2, 4, 8, 16)
SENTENCES, PIECES = 64, 40
WARM_UP = 64
Documents = tuple[anyner.Document, ...]


def predicted(recognizer: Recognizer, documents: Documents, beam: int | None = None) -> dict[str, Any]:
    options = {"beam": beam} if beam else {}
    bare = [document.with_entities(()) for document in documents]
    list(recognizer.stream(bare[:WARM_UP], options=options))
    began = time.perf_counter()
    found = list(recognizer.stream(bare, options=options))
    seconds = time.perf_counter() - began
    scored = evaluate_documents(documents, found)
    slices = {(one.group, one.name): one for one in scored.slices}
    overlapped, mentions = slices.get(("shape", "overlapped")), slices.get(("discontinuous", "mentions"))
    return {
        "f1": scored.strict.f1,
        "recall": scored.strict.recall,
        "overlapped_recall": overlapped.recall if overlapped else None,
        "discontinuous_f1": mentions.f1 if mentions else None,
        "right_boundary": scored.right_boundary.to_json(),
        "sentences_per_second": round(len(documents) / seconds, 1),
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
    parser.add_argument("model")
    parser.add_argument("sequence", help=f"a model of the architecture that {rival.__name__} registers")
    parser.add_argument("corpus")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    documents = anyner.read(arguments.corpus).documents
    ours, theirs = anyner.load(arguments.model), anyner.load(arguments.sequence)
    head = ours.model.eval().head
    assert isinstance(head, Head), f"{arguments.model} is not a set_gner model"
    measured = {
        **header("set_generation"),
        "documents": len(documents),
        "models": {"set_gner": predicted(ours, documents), "sequence": predicted(theirs, documents)},
        "beams": [{"beam": beam, **predicted(ours, documents, beam)} for beam in BEAMS],
        "memory": memory(head.forwards.generator.decoder, ours.proposer.device),
    }
    write(measured, arguments.output)
    print(json.dumps(measured["models"], indent=1))


if __name__ == "__main__":
    main()
