"""F1 of a model on whole documents of raw text and on single sentences, and entities that cross sentence ends.

python benchmarks/documents.py runs/mine data/conll03 -o documents-mine.json

Neighbouring sentences of one `doc` are joined by a blank, a line break or an empty line: three at a time, ten at a time, and all
of them. Sentences without a `doc` are joined in the order of the file, up to twenty. The model gets the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from script import header, parser_of, run, write_result

import anyner
from anyner.corpora.joining import joined, source_documents
from anyner.document import Document
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer

SEPARATORS = {"blank": " ", "line break": "\n", "empty line": "\n\n"}
SIZES: dict[str, int | None] = {"three sentences": 3, "ten sentences": 10, "whole documents": None}
_WITHOUT_DOC = 20


def crossing(run: Sequence[Document], separator: str, found: Document) -> tuple[int, int]:
    """Counts of predicted entities that cross a sentence end, and of those that the corpus itself cuts there: gold has an entity
    that ends there and one of the same label that starts there, such as "Ken" and "Green" in two table rows."""
    ends = list(accumulate(len(one.text) + len(separator) for one in run[:-1]))
    across = [(entity, place) for entity in found.entities for place, end in enumerate(ends) if entity.start < end < entity.end]
    return len({entity for entity, _ in across}), len({entity for entity, place in across if _cut_there(run, place)})


def _cut_there(run: Sequence[Document], place: int) -> bool:
    before, after = run[place], run[place + 1]
    ending = {entity.label for entity in before.entities if entity.end == len(before.text)}
    return bool(ending & {entity.label for entity in after.entities if entity.start == 0})


def in_runs(documents: Sequence[Document], size: int | None) -> Iterator[list[Document]]:
    for sentences in source_documents(documents, _WITHOUT_DOC):
        step = size or len(sentences)
        yield from (sentences[start : start + step] for start in range(0, len(sentences), step))


def row(recognizer: Recognizer, runs: Sequence[Sequence[Document]], separator: str) -> dict[str, Any]:
    gold = [joined(run, separator) for run in runs]
    bare = [Document(one.text, words=one.words) for one in gold]
    found = list(recognizer.stream(bare))
    score = evaluate_documents(gold, found, None).strict
    across = [crossing(run, separator, one) for run, one in zip(runs, found, strict=True)]
    return {
        **{key: getattr(score, key) for key in ("precision", "recall", "f1")},
        "texts": len(gold),
        "crossing": sum(every for every, _ in across),
        "cut_names": sum(cut for _, cut in across),
    }


def rows(recognizer: Recognizer, documents: Sequence[Document], sizes: Sequence[str] = tuple(SIZES)) -> Iterator[dict[str, Any]]:
    yield {"read": "sentence by sentence", "joined_by": None, **row(recognizer, [[one] for one in documents], " ")}
    for read in sizes:
        runs = list(in_runs(documents, SIZES[read]))
        for name, separator in SEPARATORS.items():
            yield {"read": read, "joined_by": name, **row(recognizer, runs, separator)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", help="folder of a trained model, or the name of a bundled one")
    parser.add_argument("corpus", help="folder with a test file, or a file")
    parser.add_argument("--part", default="test", help="part of the corpus: dev for choices, test for results")
    parser.add_argument("--labels", help="A,B: the only labels annotated in the corpus")
    parser.add_argument("--device", default=None)
    parser.add_argument("-o", "--output", required=True, help="results file; a bare name goes to benchmarks/results")
    arguments = parser.parse_args()
    began_with = header("documents")
    place = Path(arguments.corpus)
    path = next(iter(sorted(place.glob(f"{arguments.part}.*")))) if place.is_dir() else place
    labels = frozenset(arguments.labels.split(",")) if arguments.labels else None
    documents = [replace(one, labels=labels) for one in anyner.read(str(path)).documents]
    recognizer = anyner.load(arguments.model, device=arguments.device)
    model = {
        "model": Path(arguments.model).name,
        "architecture": recognizer.config.architecture,
        "corpus": place.name,
        "part": arguments.part,
        "sentences": len(documents),
        "rows": list(rows(recognizer, documents)),
    }
    write_result({**began_with, "models": [model]}, arguments.output)


if __name__ == "__main__":
    run(main)
