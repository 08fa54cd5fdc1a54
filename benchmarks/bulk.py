"""Memory and rate of a long bulk prediction over time, and whether a run that is killed and resumed writes the same bytes.

python benchmarks/bulk.py -o benchmarks/results/bulk.json

A tiny model trained on the synthetic corpus reads short texts with `anyner predict`, in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import psutil
from script import header, parser_of, run, write_result

import anyner
from anyner.bulk.chunks import MOST_DOCUMENTS
from anyner.corpora.synthetic import synthetic

RECIPE = {
    "data": {"synthetic": {"contiguous": True, "sentences": 200}},
    "architecture": "biaffine",
    "encoder": {"source": "from_scratch", "scratch_width": 32, "pooling": "first", "lstm_layers": 0},
    "training": {"epochs": 6, "encoder_lr": 5e-3, "head_lr": 5e-3},
}
LONGEST = 60
"""Maximum characters per text."""
KILLS = 3
TENTHS, POINTS = 10, 200
"""Parts of the run that rates are measured for, and maximum points of the curve."""
EVERY = 0.25
"""Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    documents: int
    megabytes: float
    """Memory of the process and its workers; shared memory counts once."""
    work: float
    """Time since the start, in units of a fixed piece of work: the machine's own speed changes by half within minutes."""


def write_texts(path: Path, number: int) -> None:
    sentences = [document.text[:LONGEST] for document in synthetic(2000, contiguous=True).documents]
    drawn = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": str(place), "text": drawn.choice(sentences)}) + "\n" for place in range(number))


def command(model: Path, texts: Path, output: Path, workers: int) -> list[str]:
    made = [sys.executable, "-m", "anyner", "predict", "-m", str(model), "-i", str(texts), "-o", str(output)]
    return [*made, "--workers", str(workers)] if workers > 1 else made


def samples(process: subprocess.Popen[bytes], output: Path) -> Iterator[Sample]:
    """Samples the process until it ends. Every part but the last holds a full chunk."""
    parts, began, one = output.with_name(output.name + ".parts"), time.monotonic(), psutil.Process(process.pid)
    before, work = began, 0.0
    while process.poll() is None:
        work, before = work + (time.monotonic() - before) / _seconds_of_work(), time.monotonic()
        try:
            done = sum(1 for path in parts.iterdir() if path.name.isdecimal()) if parts.is_dir() else 0
            own = sum(each.memory_full_info().pss for each in (one, *one.children(recursive=True)))
            yield Sample(before - began, done * MOST_DOCUMENTS, own / 1e6, work)
        except (psutil.NoSuchProcess, FileNotFoundError):
            pass  # the process is ending, or the parts are being joined
        time.sleep(EVERY)


def _seconds_of_work() -> float:
    """CPU time of a fixed piece of work, a few milliseconds."""
    began = time.process_time()
    hashlib.blake2b(bytes(2**21)).digest()
    return time.process_time() - began


def watched(made: Sequence[str], output: Path) -> list[Sample]:
    with subprocess.Popen(made, stderr=subprocess.DEVNULL) as process:
        seen = list(samples(process, output))
    if process.returncode:
        raise SystemExit(f"{' '.join(made)} ended with {process.returncode}")
    return seen


def killed(made: Sequence[str], output: Path, number: int) -> list[int]:
    """Runs the command to its end after killing it at random moments; returns the documents done at each kill."""
    drawn, at = random.Random(1), list[int]()
    for share in sorted(drawn.uniform(0.05, 0.95) for _ in range(KILLS)):
        with subprocess.Popen(made, stderr=subprocess.DEVNULL) as process:
            for sample in samples(process, output):
                if sample.documents >= share * number:
                    time.sleep(drawn.uniform(0, 0.5))  # in the middle of a chunk
                    for child in psutil.Process(process.pid).children(recursive=True):
                        child.kill()
                    process.kill()
                    at.append(sample.documents)
                    break
    subprocess.run(made, stderr=subprocess.DEVNULL, check=True)
    return at


def rates(seen: Sequence[Sample], number: int, clock: Literal["seconds", "work"] = "seconds") -> list[float]:
    """Documents per second, or per piece of work, in each tenth of them."""
    ends = [next(sample for sample in seen if sample.documents >= number * tenth / TENTHS) for tenth in range(1, TENTHS)]
    ends = [replace(seen[0], documents=0), *ends, max(seen, key=lambda sample: sample.documents)]
    times = [getattr(end, clock) for end in ends]
    return [
        round((end.documents - begin.documents) / (stop - start), 3)
        for (begin, end), (start, stop) in zip(pairwise(ends), pairwise(times), strict=True)
    ]


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measured(folder: Path, model: Path, few: int, many: int, workers: int) -> dict[str, Any]:
    texts = {number: folder / f"{number}.jsonl" for number in (few, many)}
    for number, path in texts.items():
        write_texts(path, number)
    small = watched(command(model, texts[few], folder / "few.jsonl", workers), folder / "few.jsonl")
    large = watched(command(model, texts[many], folder / "many.jsonl", workers), folder / "many.jsonl")
    kills = killed(command(model, texts[many], folder / "killed.jsonl", workers), folder / "killed.jsonl", many)
    peaks = [max(sample.megabytes for sample in seen) for seen in (small, large)]
    tenths, by_work = rates(large, many), rates(large, many, "work")
    return {
        "workers": workers,
        "documents": [few, many],
        "peak_megabytes": [round(peak, 1) for peak in peaks],
        "memory_ratio": round(peaks[1] / peaks[0], 3),
        "documents_a_second": round(many / large[-1].seconds, 1),
        "documents_a_second_by_tenths": [round(rate, 1) for rate in tenths],
        "last_tenth_to_second": round(tenths[-1] / tenths[1], 3),
        "documents_a_piece_of_work_by_tenths": by_work,
        "last_tenth_to_second_by_work": round(by_work[-1] / by_work[1], 3),
        "killed_after_documents": kills,
        "same_bytes_after_kills": digest(folder / "many.jsonl") == digest(folder / "killed.jsonl"),
        "files_left": sorted(path.name for path in folder.iterdir() if path.name.startswith(("many", "killed"))),
        "curve": [
            {"seconds": round(sample.seconds, 1), "documents": sample.documents, "megabytes": round(sample.megabytes, 1)}
            for sample in large[:: max(1, len(large) // POINTS)]
        ],
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = anyner.train(RECIPE, folder / "model").folder
        result = measured(folder, model, arguments.few, arguments.many, arguments.workers)
    print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
    write_result({**header("bulk"), **result}, arguments.output)


if __name__ == "__main__":
    run(main)
