"""Splits a training corpus in two, for choices that dev is not fit for: whole documents go to one side.

Sentences of one `doc` stay together; a corpus without `doc` is cut into blocks of 50 neighbouring documents.

python benchmarks/holdout.py DATA/train.jsonl TRAIN.jsonl DEV.jsonl --share 0.125
"""

from __future__ import annotations

import argparse
import random

from plainly import plainly

import anyner

BLOCK = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--share", type=float, default=0.125)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    documents = anyner.read(arguments.corpus).documents
    home = [document.doc or f"block-{place // BLOCK:06}" for place, document in enumerate(documents)]
    homes = sorted(set(home))
    random.Random(arguments.seed).shuffle(homes)
    held_out = set(homes[: int(len(homes) * arguments.share)])
    for path, wanted in ((arguments.train, False), (arguments.dev, True)):
        chosen = [document for document, own in zip(documents, home, strict=True) if (own in held_out) == wanted]
        anyner.write(chosen, path, "jsonl-tokens")
        print(f"{path}: {len(chosen):,} documents")


if __name__ == "__main__":
    plainly(main)
