"""Start-up: seconds and memory of `anyner predict TEXT` in a new process, both runtimes in turn.

python benchmarks/start.py -o benchmarks/results/start.json
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from script import header, parser_of, run, write_result

from anyner.errors import AnynerError

TEXT = "Angela Merkel met executives of Siemens in Munich on Tuesday."
RUNTIMES = ("onnx", "torch")
HEAVY = ("torch", "transformers")
# Measured by a small process: on Linux, the peak of a process includes the memory of the one that started it.
WATCHED = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@dataclass(frozen=True, slots=True)
class Start:
    seconds: float
    megabytes: float
    """Peak memory of the process."""


def started(model: str, runtime: str) -> Start:
    command = [sys.executable, "-m", "anyner", "predict", TEXT, "-m", model, "--runtime", runtime]
    done = subprocess.run([sys.executable, "-c", WATCHED, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AnynerError(f"anyner predict failed: {done.stderr}")
    seconds, kilobytes = done.stdout.split()
    return Start(float(seconds), int(kilobytes) / 1024)


def imported(model: str) -> list[str]:
    """Heavy packages that prediction on a CPU imports, as `python -X importtime` lists them."""
    command = [sys.executable, "-X", "importtime", "-m", "anyner", "predict", TEXT, "-m", model, "--device", "cpu"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    return [name for name in HEAVY if name in names]


def measured(model: str, rounds: int) -> dict[str, Any]:
    for runtime in RUNTIMES:
        started(model, runtime)  # fills the file cache of the system
    starts = [{runtime: started(model, runtime) for runtime in RUNTIMES} for _ in range(rounds)]
    # the fastest start of each runtime: other load on the machine only adds to it
    fastest = {runtime: min(one[runtime].seconds for one in starts) for runtime in RUNTIMES}
    return {
        "model": model,
        **{f"{runtime}_seconds": round(seconds, 2) for runtime, seconds in fastest.items()},
        **{f"{runtime}_megabytes": round(max(one[runtime].megabytes for one in starts)) for runtime in RUNTIMES},
        "onnx_over_torch": round(fastest["onnx"] / fastest["torch"], 3),
        "seconds_of_each_round": [[round(one[runtime].seconds, 2) for runtime in RUNTIMES] for one in starts],
        "imported": imported(model),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each; the fastest and the largest memory count")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    models = [measured(model, arguments.rounds) for model in ("general-en", "biomed-en")]
    for one in models:
        print(one, flush=True)
    write_result({**header("start"), "rounds": arguments.rounds, "models": models}, arguments.output)


if __name__ == "__main__":
    run(main)
