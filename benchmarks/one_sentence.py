"""What one sentence costs on one CPU core, from text to entities, over the model's bare encoder; and how long loading takes.

OMP_NUM_THREADS=1 python benchmarks/one_sentence.py general-en biomed-en
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import yaml

import anyner
from anyner.benchmark.record import header, write
from anyner.encoding.batch import batch_of
from anyner.inference.recognizer import Recognizer

HERE = Path(__file__).resolve().parent
LOADING = """
import importlib, sys, time
import anyner
for name in sys.argv[2:]:
    importlib.import_module(name)
began = time.perf_counter()
anyner.load(sys.argv[1], device="cpu")
seconds = time.perf_counter() - began
print(seconds, *(name for name, module in sys.modules.items() if getattr(module, "__spec__", None)))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    encoder: float
    entities: float
    """Seconds, each the fastest of several."""


def sentence_cost(model: Recognizer, text: str, repeats: int) -> Cost:
    """Both are timed in turn: a busy machine slows down both."""
    encode = _bare_encoder(model, text)
    times = [(_seconds(encode), _seconds(partial(model.predict, text))) for _ in range(repeats)]
    return Cost(min(one for one, _ in times), min(one for _, one in times))


def _bare_encoder(model: Recognizer, text: str) -> Callable[[], object]:
    """The pretrained encoder on the pieces of a text that are already cut."""
    windows = model.windows([anyner.Document(text)])
    batch = batch_of(windows, model.vocabulary.frame, model.proposer.prompt, model.model.encoder.features)
    return torch.inference_mode()(partial(model.model.eval().encoder.encode, batch))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def load_seconds(name: str, runs: int) -> float:
    """In a new process, when all modules that loading needs are imported already; a first process tells which these are."""
    imported: list[str] = []
    seconds = []
    for _ in range(1 + runs):
        done = subprocess.run([sys.executable, "-c", LOADING, name, *imported], capture_output=True, text=True, check=True)
        own, *imported = done.stdout.split()
        seconds.append(float(own))
    return min(seconds[1:])


def measured(name: str, repeats: int, runs: int) -> dict[str, Any]:
    texts = [one["text"] for one in yaml.safe_load((HERE / "bundled" / f"{name}.yaml").read_text(encoding="utf-8"))["sentences"]]
    model = anyner.load(name, device="cpu", precision="float32")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="bundled models, whose sentences written by hand are read")
    parser.add_argument("--repeats", type=int, default=20, help="of each sentence, of which the fastest counts")
    parser.add_argument("--runs", type=int, default=5, help="the ratio is the median of so many runs")
    parser.add_argument("-o", "--output", default=str(HERE / "results/one-sentence.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = {
        **header("one sentence"),
        "models": [measured(name, arguments.repeats, arguments.runs) for name in arguments.models],
    }
    for one in result["models"]:
        told = f"{one['milliseconds']} ms a sentence, {one['ratio']} times its encoder, loads in {one['load_seconds']} s"
        print(f"{one['name']}: {told}")
    write(result, arguments.output)


if __name__ == "__main__":
    main()
