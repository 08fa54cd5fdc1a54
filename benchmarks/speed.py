"""How fast a model predicts: device ratio, end-to-end rate and ratio (src/anyner/benchmark/speed.py); one JSON file a run.

python benchmarks/speed.py MODEL CORPUS -o benchmarks/results/speed-NAME.json
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module

from plainly import plainly

import anyner
from anyner.benchmark.record import corpus_name, write
from anyner.benchmark.speed import Entrant, speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--batch-tokens", type=int, help="as prediction chooses unless given")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-o", "--output")
    parser.add_argument("--plugin", action="append", default=[], help="a module to import first, which registers an architecture")
    arguments = parser.parse_args()
    for plugin in arguments.plugin:
        import_module(plugin)
    documents = anyner.read(arguments.corpus).documents
    entrant = Entrant(anyner.load(arguments.model), documents, corpus_name(arguments.corpus), arguments.batch_tokens)
    measured = speed(entrant, arguments.repeats)
    print(json.dumps(measured, indent=1))
    if arguments.output:
        write(measured, arguments.output)


if __name__ == "__main__":
    plainly(main)
