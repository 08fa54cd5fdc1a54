"""The entities that a model finds in one sentence, word by word, for the picture of a page; one JSON file.

python benchmarks/growth.py runs/set-demo 'Severe pain in the neck and the left knee.' -o benchmarks/results/growth-NAME.json
"""

from __future__ import annotations

import argparse

from plainly import plainly

import anyner
from anyner.benchmark.record import header, write
from anyner.text.align import to_words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sentence")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    recognizer = anyner.load(arguments.model)
    found = recognizer.predict(arguments.sentence)
    window = recognizer.windows([found])[0]
    entities = to_words(found.entities, window.starts, window.ends).entities
    grown = [{"label": entity.label, "words": list(entity.word_indices), "score": entity.score} for entity in entities]
    grown.sort(key=lambda entity: (entity["words"], entity["label"]))
    write(
        {**header("growth"), "architecture": recognizer.config.architecture, "words": list(window.words), "entities": grown},
        arguments.output,
    )
    for entity in entities:
        print(entity.label, " ".join(window.words[word] for word in entity.word_indices), f"{entity.score:.2f}")


if __name__ == "__main__":
    plainly(main)
