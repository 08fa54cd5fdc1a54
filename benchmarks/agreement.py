"""How far predictions depend on the batch size and on the precision.

python benchmarks/agreement.py MODEL CORPUS -o benchmarks/results/agreement-NAME.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from script import header, parser_of, run, write_result

import anyner
from anyner.inference.config import Precision

_SMALL, _LARGE = 256, 16_384


def predicted(model: str, precision: Precision, documents: Sequence[anyner.Document], tokens: int) -> list[anyner.Document]:
    return list(anyner.load(model, precision=precision).stream(documents, batch_tokens=tokens))


def difference(one: Sequence[anyner.Document], other: Sequence[anyner.Document]) -> dict[str, float]:
    """Entities that only one run found, their share of all, and the largest score difference of the others."""
    only, every, largest = 0, 0, 0.0
    for first, second in zip(one, other, strict=True):
        ours, theirs = ({entity.key: entity.score or 0.0 for entity in document.entities} for document in (first, second))
        only += len(ours.keys() ^ theirs.keys())
        every += len(ours.keys() | theirs.keys())
        largest = max([largest, *(abs(ours[key] - theirs[key]) for key in ours.keys() & theirs.keys())])
    return {"entities": every, "found_by_one": only, "share": only / max(1, every), "largest_score_difference": largest}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    documents = anyner.read(arguments.corpus).documents
    model = arguments.model
    exact, exact_small = (predicted(model, "float32", documents, tokens) for tokens in (_LARGE, _SMALL))
    fast, fast_small = (predicted(model, "bfloat16", documents, tokens) for tokens in (_LARGE, _SMALL))
    measured = {
        **header("agreement"),
        "documents": len(documents),
        "batch_tokens": [_LARGE, _SMALL],
        "float32_between_batches": difference(exact, exact_small),
        "bfloat16_between_batches": difference(fast, fast_small),
        "bfloat16_against_float32": difference(fast, exact),
    }
    print(json.dumps(measured, indent=1))
    write_result(measured, arguments.output)


if __name__ == "__main__":
    run(main)
