"""SetGNER and NAG-NER against a rival that generates all entities of a sentence in one sequence; the entities of one sentence.

compare    F1, overlapped recall, discontinuous F1 and right boundaries of each model; sentences a second on all sentences, on
           short ones and on long ones with many entities; for a set_gner model also F1 and speed by beam size
sentence   the entities of one sentence, word by word, for the picture in docs/set-gner.md

python benchmarks/papers/set_gner.py compare runs/sequence runs/set runs/nag CORPUS -o benchmarks/results/generation-NAME.json
python benchmarks/papers/set_gner.py sentence runs/set-demo 'Severe pain in the neck.' -o benchmarks/results/growth-NAME.json
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyner
from anyner.architectures.set_gner.head import Head
from anyner.document import Document
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.text.align import to_words

sys.path.append(str(Path(__file__).resolve().parent.parent))
import rival
from script import header, parser_of, run, write_result
from speed import in_rounds, with_neighbours

BEAMS = (1, 2, 4, 6, 8)
SHORT, LONG, MANY = 20, 30, 5
"""A short sentence has at most 20 words; a long one at least 30 words and 5 entities."""
REPEATS = 3
Documents = tuple[Document, ...]


def compare(arguments: Namespace) -> None:
    documents = anyner.read(arguments.corpus).documents
    measured: dict[str, Any] = {
        **header("generation"),
        "documents": len(documents),
        "sentences_of": {name: len(own) for name, own in length_groups(documents).items()},
        "models": {},
    }
    for folder in arguments.models:
        recognizer = anyner.load(folder, runtime="torch")
        read = with_neighbours(recognizer, documents)
        head = recognizer.model.eval().head
        measured["models"][recognizer.config.architecture] = {
            **scores_and_speed(recognizer, read, {}),
            "sentences_per_second_of": {name: timed(recognizer, own, {})[1] for name, own in length_groups(read).items() if own},
        }
        if isinstance(head, Head):
            measured["beams"] = [{"beam": beam, **scores_and_speed(recognizer, read, {"beam": beam})} for beam in BEAMS]
        write_result(measured, arguments.output)
    print(json.dumps(measured["models"], indent=1))


def timed(recognizer: Recognizer, documents: Documents, options: Mapping[str, Any]) -> tuple[list[Document], float]:
    """Predictions, and sentences a second in the fastest of several runs."""
    bare = [document.with_entities(()) for document in documents]
    found: list[Document] = []

    def work() -> None:
        found[:] = recognizer.stream(bare, options=options)

    (seconds,) = in_rounds([work], REPEATS)
    return found, round(len(documents) / seconds, 1)


def scores_and_speed(recognizer: Recognizer, documents: Documents, options: Mapping[str, Any]) -> dict[str, Any]:
    found, rate = timed(recognizer, documents, options)
    scored = evaluate_documents(documents, found)
    slices = {(one.group, one.name): one for one in scored.slices}
    overlapped, mentions = slices.get(("shape", "overlapped")), slices.get(("discontinuous", "mentions"))
    return {
        "f1": scored.strict.f1,
        "recall": scored.strict.recall,
        "overlapped_recall": overlapped.recall if overlapped else None,
        "discontinuous_f1": mentions.f1 if mentions else None,
        "right_boundary": scored.right_boundary.to_json(),
        "sentences_per_second": rate,
    }


def length_groups(documents: Documents) -> dict[str, Documents]:
    def words(document: Document) -> int:
        return len(document.words or document.text.split())

    return {
        "short": tuple(document for document in documents if words(document) <= SHORT),
        "long": tuple(document for document in documents if words(document) >= LONG and len(document.entities) >= MANY),
    }


def sentence(arguments: Namespace) -> None:
    recognizer = anyner.load(arguments.model, runtime="torch")
    found = recognizer.predict(arguments.text)
    window = recognizer.windows([found])[0]
    entities = to_words(found.entities, window.starts, window.ends).entities
    listed = [{"label": entity.label, "words": list(entity.word_indices), "score": entity.score} for entity in entities]
    listed.sort(key=lambda entity: (entity["words"], entity["label"]))
    architecture = recognizer.config.architecture
    result = {**header("growth"), "architecture": architecture, "words": list(window.words), "entities": listed}
    write_result(result, arguments.output)
    for entity in entities:
        print(entity.label, " ".join(window.words[word] for word in entity.word_indices), f"{entity.score:.2f}")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    own = commands.add_parser("compare", help="compare models with the rival")
    own.add_argument("models", nargs="+", help=f"model folders; the first has the architecture that {rival.__name__} registers")
    own.add_argument("corpus")
    own.add_argument("-o", "--output", required=True)
    own.set_defaults(work=compare)
    own = commands.add_parser("sentence", help="the entities of one sentence, word by word")
    own.add_argument("model")
    own.add_argument("text")
    own.add_argument("-o", "--output", required=True)
    own.set_defaults(work=sentence)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
