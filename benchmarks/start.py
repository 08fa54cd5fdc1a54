"""From the command to the entities: seconds and memory of `anyner predict TEXT` in a new process, both runtimes in turn.

python benchmarks/start.py -o benchmarks/results/start.json
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from script import header, parser_of, run, write_result

from anyner.errors import AnynerError

TEXT = "Angela Merkel met executives of Siemens in Munich on Tuesday."
RUNTIMES = ("onnx", "torch")
HEAVY = ("torch", "transformers")


@dataclass(frozen=True, slots=True)
class Start:
    seconds: float
    megabytes: float
    """Peak of the process."""


def started(model: str, runtime: str) -> Start:
    command = [sys.executable, "-m", "anyner", "predict", TEXT, "-m", model, "--runtime", runtime]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise AnynerError(f"anyner predict failed: {process.stderr.read().decode() if process.stderr else ''}")
    return Start(seconds, used.ru_maxrss / 1024)


def imported(model: str) -> list[str]:
    """Heavy packages that prediction on a CPU imports, as `python -X importtime` lists them."""
    command = [sys.executable, "-X", "importtime", "-m", "anyner", "predict", TEXT, "-m", model, "--device", "cpu"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    return [name for name in HEAVY if name in names]


def measured(model: str, rounds: int) -> dict[str, Any]:
    for runtime in RUNTIMES:
        started(model, runtime)  # files are in the system's cache from now on
    starts = [{runtime: started(model, runtime) for runtime in RUNTIMES} for _ in range(rounds)]
    seconds = {f"{runtime}_seconds": round(median(one[runtime].seconds for one in starts), 2) for runtime in RUNTIMES}
    megabytes = {f"{runtime}_megabytes": round(max(one[runtime].megabytes for one in starts)) for runtime in RUNTIMES}
    ratio = median(one["onnx"].seconds / one["torch"].seconds for one in starts)
    return {"model": model, **seconds, **megabytes, "onnx_over_torch": round(ratio, 3), "imported": imported(model)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="the median counts, of memory the most")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    models = [measured(model, arguments.rounds) for model in ("general-en", "biomed-en")]
    for one in models:
        print(one, flush=True)
    write_result({**header("start"), "rounds": arguments.rounds, "models": models}, arguments.output)


if __name__ == "__main__":
    run(main)
