"""Memory that one long document needs beyond its text and its entities, as src/anyner/benchmark/memory.py measures it.

python benchmarks/memory.py MODEL -o benchmarks/results/memory-NAME.json
"""

from __future__ import annotations

import json

from script import parser_of, run, write_result

from anyner.benchmark.memory import memory


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[250_000, 1_000_000], help="lengths of the documents")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    result = memory(arguments.model, arguments.words, arguments.batch_tokens)
    print(json.dumps(result, indent=1))
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
