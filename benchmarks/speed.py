"""Prediction speed of a model: device ratio, end-to-end rate and ratio, as src/anyner/benchmark/speed.py defines them.

python benchmarks/speed.py MODEL CORPUS -o benchmarks/results/speed-NAME.json
"""

from __future__ import annotations

import json

from script import add_plugins, import_plugins, parser_of, run, write_result

import anyner
from anyner.benchmark.record import corpus_name
from anyner.benchmark.speed import Entrant, speed


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--batch-tokens", type=int, help="default: as prediction chooses")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each timing; the fastest counts")
    parser.add_argument("-o", "--output")
    add_plugins(parser)
    arguments = parser.parse_args()
    import_plugins(arguments.plugin)
    documents = anyner.read(arguments.corpus).documents
    entrant = Entrant(anyner.load(arguments.model), documents, corpus_name(arguments.corpus), arguments.batch_tokens)
    measured = speed(entrant, arguments.repeats)
    print(json.dumps(measured, indent=1))
    write_result(measured, arguments.output)


if __name__ == "__main__":
    run(main)
