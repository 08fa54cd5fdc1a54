"""Memory and time of the examples of a large training corpus, held in memory and in a file.

python benchmarks/large_corpus.py -o benchmarks/results/large-corpus.json

Each of the two has a process of its own: synthetic sentences become examples, and an epoch of batches is drawn. Memory is what
cannot be reclaimed (`RssAnon` of Linux), unlike the pages of a mapped file.
"""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from script import header, parser_of, run, write_result

from anyner.training.auto import completed
from anyner.training.config import Recipe
from anyner.training.data.example_file import ExampleFile
from anyner.training.data.passages import Passages, epoch_batches
from anyner.training.data.splits import Corpora, split_data
from anyner.training.run import build

_READ = 300
"""Batches to read."""


def _bytes() -> int:
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return 1024 * int(found[1])


def measured(sentences: int, path: str | None) -> dict[str, float]:
    """Figures with the examples in the file at `path`, or in memory."""
    given = {
        "data": {"synthetic": {"sentences": sentences}, "augmentation": 0.0},
        "architecture": "biaffine",
        "encoder": {"source": "from_scratch", "scratch_width": 16},
    }
    corpora = Corpora.read(Recipe.of(given, "recipe").data)
    recipe = completed(Recipe.of(given, "recipe"), corpora)
    data = split_data(corpora, recipe.data, recipe.text)
    before, began = _bytes(), time.process_time()
    keep = None if path is None else lambda _, examples: ExampleFile.write(examples, Path(path), "all")
    recognizer, examples, _ = build(recipe, data, keep)
    built, after = time.process_time() - began, _bytes()
    passages = Passages(examples, recognizer.budget, 0)
    batches = epoch_batches(passages, 0, recipe.training, 0)
    planned, began = _bytes(), time.process_time()
    read = [len(passages.example(passage).window.words) for batch in batches[:_READ] for passage in batch]
    return {
        "building_seconds": round(built, 1),
        "example_bytes_a_sentence": round((after - before) / sentences),
        "plan_bytes_a_sentence": round((planned - after) / sentences),
        "reading_microseconds_a_word": round(1e6 * (time.process_time() - began) / sum(read), 3),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    result: dict[str, Any] = {"sentences": arguments.sentences}
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / "examples.arrow"
        for name, held in (("in_memory", None), ("in_a_file", str(path))):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                result[name] = apart.submit(measured, arguments.sentences, held).result()
        result["file_bytes_a_sentence"] = round(path.stat().st_size / arguments.sentences)
    print(json.dumps(result, indent=1))
    write_result({**header("large corpus"), **result}, arguments.output)


if __name__ == "__main__":
    run(main)
