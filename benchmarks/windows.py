"""How far predictions depend on the window size: the same long documents, read in windows of several sizes.

python benchmarks/windows.py general-en data/conll03 -o windows-general-en.json

Sentences of one `doc` are joined by line breaks; in a second run, all documents are joined into one long text. Predictions are
compared with those of the largest window and with gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from documents import in_runs
from script import header, parser_of, run, write_result

import anyner
from anyner.corpora.joining import joined
from anyner.document import Document
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer

SIZES = (512, 384, 256, 128, 64)


def with_window(recognizer: Recognizer, pieces: int) -> Recognizer:
    text = recognizer.config.text.updated({"window": pieces}, "text")
    config: ModelConfig = recognizer.config.model_copy(update={"text": text})
    return Recognizer(recognizer.runtime, recognizer.vocabulary, config)


def rows(recognizer: Recognizer, gold: Sequence[Document]) -> list[dict[str, Any]]:
    bare = [Document(one.text) for one in gold]
    found: list[dict[str, Any]] = []
    largest: list[Document] = []
    for size in SIZES:
        answers = list(with_window(recognizer, size).stream(bare))
        largest = largest or answers
        agreed = evaluate_documents(largest, answers, None).strict
        found.append(
            {
                "window": size,
                "f1": evaluate_documents(gold, answers, None).strict.f1,
                "entities": agreed.predicted,
                "only_here": agreed.predicted - agreed.correct,
                "only_with_the_largest": agreed.gold - agreed.correct,
            }
        )
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", help="folder of a trained model, or the name of a bundled one")
    parser.add_argument("corpus", help="folder with a test file")
    parser.add_argument("--device", default=None)
    parser.add_argument("-o", "--output", required=True, help="results file; a bare name goes to benchmarks/results")
    arguments = parser.parse_args()
    began_with = header("windows")
    documents = anyner.read(str(next(iter(sorted(Path(arguments.corpus).glob("test.*")))))).documents
    whole = [joined(run, "\n") for run in in_runs(documents, None)]
    recognizer = anyner.load(arguments.model, device=arguments.device)
    result = {
        **began_with,
        "model": Path(arguments.model).name,
        "corpus": Path(arguments.corpus).name,
        "documents": rows(recognizer, whole),
        "one_text": rows(recognizer, [joined(whole, "\n\n")]),
    }
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
