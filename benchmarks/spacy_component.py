"""The spaCy component and the library: the same entities on synthetic texts, and the rate of `nlp.pipe` over that of `stream`.

Both read the same texts on one core, part by part in turn, and the median of all ratios counts.

OMP_NUM_THREADS=1 python benchmarks/spacy_component.py general-en
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from statistics import median
from typing import Any

import spacy
from script import RESULTS, header, parser_of, run, write_result

from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.integrations.spacy import SpacyComponent

PART = 100
"""Texts that are timed at once; few, because the speed of a busy machine changes within seconds."""


def pipeline(model: str) -> tuple[Any, SpacyComponent]:
    nlp = spacy.blank("en")
    return nlp, nlp.add_pipe("anyner", config={"model": model})


def seconds(work: Iterable[object]) -> float:
    began = time.process_time()
    deque(work, maxlen=0)
    return time.process_time() - began


def compared(model: str, texts: list[str], runs: int) -> dict[str, Any]:
    nlp, component = pipeline(model)
    predicted = component.recognizer.predict(texts)
    found = list(nlp.pipe(texts))
    different = sum(doc._.anyner != document.entities for doc, document in zip(found, predicted, strict=True))
    if different:
        raise AnynerError(f"{different} of {len(texts)} texts have different entities")
    parts = [slice(start, start + PART) for start in range(0, len(texts), PART)] * runs
    times = [(seconds(nlp.pipe(texts[part])), seconds(component.recognizer.stream(texts[part]))) for part in parts]
    ratios = sorted(stream / pipe for pipe, stream in times)
    return {
        "texts": len(texts),
        "entities": sum(len(document.entities) for document in predicted),
        "texts_with_other_entities": different,
        "parts": len(ratios),
        "rate_over_stream": round(median(ratios), 3),
        "quartiles": [round(ratios[len(ratios) * place // 4], 3) for place in (1, 3)],
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=1000, help="synthetic texts")
    parser.add_argument("--runs", type=int, default=3, help="runs over all texts")
    parser.add_argument("-o", "--output", default=str(RESULTS / "spacy.json"))
    arguments = parser.parse_args()
    result = {**header("spacy"), "model": arguments.model, "spacy": spacy.__version__}
    result |= compared(arguments.model, [document.text for document in synthetic(arguments.texts)], arguments.runs)
    print(f"{result['rate_over_stream']} times the rate of stream, with the same entities")
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
