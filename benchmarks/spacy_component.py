"""The spaCy component beside the library: the same entities on synthetic texts, and the rate of `nlp.pipe` over that of `stream`.

Both read the same texts on one core, part by part in turn, and the median of all ratios counts. With corpora, F1 with spaCy's
tokens as words, and with the model's own words, instead.

OMP_NUM_THREADS=1 python benchmarks/spacy_component.py general-en
OMP_NUM_THREADS=1 python benchmarks/spacy_component.py general-en --corpus DATA/wikigold/test.jsonl.xz -o spacy-words.json
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from script import RESULTS, header, parser_of, run, write_result

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.integrations.spacy import SpacyComponent, document_of

PART = 100
"""Texts that are timed at once: the speed of a machine with other work changes within seconds."""


def pipeline(model: str, words: str) -> tuple[Any, SpacyComponent]:
    nlp = spacy.blank("en")
    return nlp, nlp.add_pipe("anyner", config={"model": model, "words": words})


def seconds(work: Iterable[object]) -> float:
    began = time.process_time()
    deque(work, maxlen=0)
    return time.process_time() - began


def compared(model: str, texts: list[str], runs: int) -> dict[str, Any]:
    nlp, component = pipeline(model, "tokens")
    given = [document_of(nlp.make_doc(text)) for text in texts]
    predicted = component.recognizer.predict(given)
    found = list(nlp.pipe(texts))
    different = sum(doc._.anyner != document.entities for doc, document in zip(found, predicted, strict=True))
    if different:
        raise AnynerError(f"{different} of {len(texts)} texts have other entities")
    parts = [slice(start, start + PART) for start in range(0, len(texts), PART)] * runs
    times = [(seconds(nlp.pipe(texts[part])), seconds(component.recognizer.stream(given[part]))) for part in parts]
    ratios = sorted(stream / pipe for pipe, stream in times)
    return {
        "texts": len(texts),
        "entities": sum(len(document.entities) for document in predicted),
        "texts_with_other_entities": different,
        "parts": len(ratios),
        "rate_over_stream": round(median(ratios), 3),
        "quartiles": [round(ratios[len(ratios) * place // 4], 3) for place in (1, 3)],
    }


def scored(model: str, corpus: Path) -> dict[str, Any]:
    gold = [replace(document, words=None) for document in anyner.read(corpus).documents]
    scores: dict[str, Any] = {"corpus": corpus.parent.name, "documents": len(gold)}
    for words in ("tokens", "model"):
        docs = pipeline(model, words)[0].pipe(document.text for document in gold)
        found = [document.with_entities(doc._.anyner) for document, doc in zip(gold, docs, strict=True)]
        scores[f"f1_{words}"] = round(evaluate_documents(gold, found).strict.f1, 4)
    return scores


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=1000, help="synthetic texts")
    parser.add_argument("--runs", type=int, default=3, help="over all texts")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="a corpus to score on; repeatable")
    parser.add_argument("-o", "--output", default=str(RESULTS / "spacy.json"))
    arguments = parser.parse_args()
    result = {**header("spacy"), "model": arguments.model, "spacy": spacy.__version__}
    if arguments.corpus:
        result["corpora"] = [scored(arguments.model, corpus) for corpus in arguments.corpus]
        print(*result["corpora"], sep="\n")
    else:
        result |= compared(arguments.model, [document.text for document in synthetic(arguments.texts)], arguments.runs)
        print(f"{result['rate_over_stream']} of the rate of stream, the same entities")
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
