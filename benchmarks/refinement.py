"""How a trained diffusion_ner model refines spans on one sentence, step by step: for the picture in docs/diffusion-ner.md.

python benchmarks/refinement.py MODEL 'A sentence.' -o benchmarks/results/refinement-NAME.json
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

import torch
from plainly import plainly

import anyner
from anyner.architectures.diffusion_ner.config import DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.benchmark.record import header, write
from anyner.document import Document
from anyner.encoding.batch import batch_of
from anyner.inference.recognizer import Choice


def counted(first: torch.Tensor, last: torch.Tensor) -> list[list[int]]:
    """Each different span of the one sentence, with how many are that one."""
    spans = Counter(zip(first[0].tolist(), last[0].tolist(), strict=True))
    return [[*span, count] for span, count in sorted(spans.items())]


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    recognizer = anyner.load(arguments.model, device="cpu")
    head, draw = recognizer.model.eval().head, recognizer.proposer.draw
    options = recognizer.decoding(Choice(options={"steps": arguments.steps})).options
    assert isinstance(head, Head) and isinstance(options, DiffusionOptions)
    (window,) = recognizer.windows([Document(arguments.text)])
    states = recognizer.model.encoder(batch_of([window], recognizer.vocabulary.frame, (), recognizer.model.encoder.features))
    steps = []
    for step in head.denoise(states, head.denoiser.read(states), options, draw):
        answers = (step.pointed.left.argmax(2), step.pointed.right.argmax(2))
        steps.append({"step": step.step, "spans": counted(step.first, step.last), "answers": counted(*answers)})
    found = recognizer.predict(arguments.text, options={"steps": arguments.steps})
    measured = {
        **header("refinement"),
        "words": window.words,
        "steps": steps,
        "entities": [entity.to_json() for entity in found.entities],
    }
    write(measured, arguments.output)
    print(json.dumps(measured["entities"], ensure_ascii=False))


if __name__ == "__main__":
    plainly(main)
