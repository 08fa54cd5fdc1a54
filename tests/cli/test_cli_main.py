import os
import resource
import signal
import subprocess
import sys
from importlib import import_module
from math import inf
from pathlib import Path

import pytest
from command_line import anyner_command

import anyner
from anyner.cli.main import COMMANDS
from anyner.errors import AnynerError

NO_TORCH = (
    "import sys; from anyner.cli.main import run\ntry: run()\nfinally: print(sorted({m.split('.')[0] for m in sys.modules}))"
)


def loaded_after(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", NO_TORCH, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", ["--help", "--version", "predict --help", "models"])
def test_what_needs_no_model_loads_nothing_heavy(arguments: str) -> None:
    loaded = loaded_after(*arguments.split())
    assert "'typer'" in loaded
    for heavy in ("torch", "transformers", "accelerate", "scipy", "numpy", "rich"):
        assert f"'{heavy}'" not in loaded
    if arguments == "--help":
        assert "'pydantic'" not in loaded


def test_inspecting_a_corpus_loads_no_torch() -> None:
    loaded = loaded_after("inspect", "synthetic:dev")
    assert "'pydantic'" in loaded and "'torch'" not in loaded and "'transformers'" not in loaded


def processor_seconds(command: list[str]) -> float:
    """Unlike the clock it minds little what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_starts_fast() -> None:
    """Taken side by side and at their best; on a machine with far more to do than it has cores a ratio says nothing."""
    if os.getloadavg()[0] > 1.8 * (os.cpu_count() or 1):
        pytest.skip(f"the machine is busy: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    nothing, help_page = inf, inf
    for _ in range(20):
        nothing = min(nothing, processor_seconds([sys.executable, "-c", "pass"]))
        help_page = min(help_page, processor_seconds([sys.executable, "-m", "anyner", "--help"]))
        if help_page < min(0.25, 8 * nothing):
            break
    assert help_page < 0.5
    assert help_page < 10 * nothing


def test_both_doors_lead_to_the_same_commands() -> None:
    script = Path(sys.executable).with_name("anyner")
    pages = [
        subprocess.run([*door, "--help"], capture_output=True, text=True, check=True).stdout
        for door in ([sys.executable, "-m", "anyner"], [str(script)])
    ]
    assert pages[0] == pages[1]
    assert all(f"\n  {command} " in pages[0] for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    page = anyner_command(command, "--help")
    assert page.code == 0
    assert f"      anyner {command}" in page.out or f"    anyner {command}" in page.out


@pytest.mark.parametrize(("command", "summary"), COMMANDS.items())
def test_the_list_says_what_the_commands_own_page_says(command: str, summary: str) -> None:
    function = getattr(import_module(f"anyner.cli.{command.replace('-', '_')}"), command.replace("-", "_"))
    assert (function.__doc__ or "").split(". ")[0].splitlines()[0].rstrip(".") == summary.rstrip(".")


def test_version() -> None:
    assert anyner_command("--version").out == f"anyner {anyner.__version__}\n"


USAGE_ERRORS = (
    "nonsense",
    "predict",
    "predict text -i file",
    "predict text --overlap none",
    "predict text --format pdf",
    "evaluate model",
    "train",
    "train recipe.yaml --data folder",
    "inspect corpus --splitter none",
)


@pytest.mark.parametrize("arguments", USAGE_ERRORS)
def test_usage_errors_exit_with_2(arguments: str) -> None:
    answer = anyner_command(*arguments.split())
    assert answer.code == 2
    assert answer.out == "" and "Traceback" not in answer.err


def raising(error: BaseException) -> object:
    def read(*_: object) -> object:
        raise error

    return read


def test_a_message_of_several_lines_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.inspect.read_parts", raising(AnynerError("one\ntwo")))
    anyner_command("inspect", "x").assert_one_line("anyner: one\\ntwo\n")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.inspect.read_parts", raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        anyner_command("inspect", "x")


def test_control_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.inspect.read_parts", raising(KeyboardInterrupt()))
    answer = anyner_command("inspect", "x")
    assert (answer.code, answer.err) == (130, "anyner: stopped\n")


def test_an_unreadable_file_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.inspect.read_parts", raising(PermissionError(13, "Permission denied", "secret.jsonl")))
    anyner_command("inspect", "x").assert_one_line("secret.jsonl: Permission denied")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of another kind")
def test_a_closed_pipe_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "anyner", "convert", "synthetic:train", "-", "--to", "jsonl"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_is_utf_8_whatever_the_locale() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "anyner", "convert", "-", "-", "--from", "jsonl", "--to", "jsonl"]
    line = '{"text": "雪 😀", "entities": []}\n'.encode()
    done = subprocess.run(command, input=line, capture_output=True, env=environment, check=True)
    assert "雪 😀" in done.stdout.decode()
