"""How much memory one long document needs beyond its text and its entities (src/anyner/benchmark/memory.py); one JSON file a run.

python benchmarks/memory.py MODEL -o benchmarks/results/memory-NAME.json
"""

from __future__ import annotations

import argparse
import json

from plainly import plainly

from anyner.benchmark.memory import memory
from anyner.benchmark.record import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    result = memory(arguments.model, arguments.words, arguments.batch_tokens)
    print(json.dumps(result, indent=1))
    if arguments.output:
        write(result, arguments.output)


if __name__ == "__main__":
    plainly(main)
