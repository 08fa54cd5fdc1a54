"""Latency of bundled models on one CPU core: one sentence, compared with the encoder alone, and loading in a new process.

OMP_NUM_THREADS=1 python benchmarks/latency.py general-en biomed-en
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
import yaml
from script import RESULTS, ROOT, header, parser_of, run, write_result

import anyner
from anyner.encoding.batch import batch_of
from anyner.inference.recognizer import Recognizer

LOADING = """
import importlib, sys, time
import anyner
for name in sys.argv[2:]:
    importlib.import_module(name)
began = time.perf_counter()
anyner.load(sys.argv[1], device="cpu", runtime="torch")
seconds = time.perf_counter() - began
print(seconds, *(name for name, module in sys.modules.items() if getattr(module, "__spec__", None)))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, each the fastest of several runs."""

    encoder: float
    entities: float


def sentence_cost(model: Recognizer, text: str, repeats: int) -> Cost:
    """Times the two in turn, so that a busy machine slows down both."""
    encode = _bare_encoder(model, text)
    times = [(_seconds(encode), _seconds(partial(model.predict, text))) for _ in range(repeats)]
    return Cost(min(one for one, _ in times), min(one for _, one in times))


def _bare_encoder(model: Recognizer, text: str) -> Callable[[], object]:
    """The pretrained encoder on a batch that is already tokenized."""
    windows = model.windows([anyner.Document(text)])
    batch = batch_of(windows, model.vocabulary.frame, model.model.encoder.shapes)
    return torch.inference_mode()(partial(model.model.eval().encoder.encode, batch))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def load_seconds(name: str, runs: int) -> float:
    """Load time in a new process that has already imported all modules; a first process finds out which."""
    imported: list[str] = []
    seconds = []
    for _ in range(1 + runs):
        done = subprocess.run([sys.executable, "-c", LOADING, name, *imported], capture_output=True, text=True, check=True)
        own, *imported = done.stdout.split()
        seconds.append(float(own))
    return min(seconds[1:])


def measured(name: str, repeats: int, runs: int) -> dict[str, Any]:
    card = yaml.safe_load((ROOT / "benchmarks/bundled" / f"{name}.yaml").read_text(encoding="utf-8"))
    texts = [one["text"] for one in card["sentences"]]
    model = anyner.load(name, device="cpu", precision="float32", runtime="torch")
    costs = [[sentence_cost(model, text, repeats) for text in texts] for _ in range(runs)]
    ratios = [sum(one.entities for one in run) / sum(one.encoder for one in run) for run in costs]
    by_sentence = [median(one.entities / one.encoder for one in runs_of_one) for runs_of_one in zip(*costs, strict=True)]
    return {
        "name": name,
        "sentences": len(texts),
        "threads": torch.get_num_threads(),
        "milliseconds": round(1000 * min(sum(one.entities for one in run) for run in costs) / len(texts), 2),
        "ratio": round(median(ratios), 3),
        "ratio_of_each_run": [round(one, 3) for one in ratios],
        "by_sentence": [{"ratio": round(one, 3), "text": text} for one, text in sorted(zip(by_sentence, texts, strict=True))],
        "load_seconds": round(load_seconds(name, runs), 2),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("models", nargs="+", help="bundled models, timed on the sentences of their cards")
    parser.add_argument("--repeats", type=int, default=20, help="runs of each sentence; the fastest counts")
    parser.add_argument("--runs", type=int, default=5, help="runs of all sentences; the median ratio counts")
    parser.add_argument("-o", "--output", default=str(RESULTS / "one-sentence.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = {
        **header("one sentence"),
        "models": [measured(name, arguments.repeats, arguments.runs) for name in arguments.models],
    }
    for one in result["models"]:
        summary = f"{one['milliseconds']} ms a sentence, {one['ratio']} times its encoder, loads in {one['load_seconds']} s"
        print(f"{one['name']}: {summary}")
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
