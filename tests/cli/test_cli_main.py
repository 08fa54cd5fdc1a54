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

LOADED = """
import sys
from anyner.cli.main import run

for line in sys.argv[1:]:
    sys.argv = ["anyner", *line.split()]
    try:
        run()
    except SystemExit:
        print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_what_needs_no_model_loads_nothing_heavy() -> None:
    """The commands run one after the other in one process, so what one of them loads stays loaded."""
    lines = ("--help", "--version", "predict --help", "models", "inspect synthetic:dev")
    done = subprocess.run([sys.executable, "-c", LOADED, *lines], capture_output=True, text=True, check=True)
    loaded = [set(line.split()) for line in done.stdout.splitlines() if "typer" in line.split()]
    assert len(loaded) == len(lines)
    assert "pydantic" not in loaded[0] and "pydantic" in loaded[-1]
    assert not loaded[-1] & {"torch", "transformers", "accelerate"}
    assert not loaded[-2] & {"scipy", "numpy", "rich"}


def processor_seconds(command: list[str]) -> float:
    """CPU time, which hardly depends on the load of the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_starts_fast() -> None:
    """Within twice what importing typer takes, measured in turn and each at its best."""
    if os.getloadavg()[0] > 1.8 * (os.cpu_count() or 1):
        pytest.skip(f"the machine is busy: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    typer, help_page = inf, inf
    for _ in range(20):
        typer = min(typer, processor_seconds([sys.executable, "-c", "import typer.main"]))
        help_page = min(help_page, processor_seconds([sys.executable, "-m", "anyner", "--help"]))
        if help_page < 1.8 * typer:
            break
    assert help_page < 2 * typer


def test_the_installed_script_has_the_same_commands() -> None:
    script = Path(sys.executable).with_name("anyner")
    page = subprocess.run([str(script), "--help"], capture_output=True, text=True, check=True).stdout
    assert page.split() == anyner_command("--help").out.split()
    assert all(f"\n  {command} " in page for command in COMMANDS)


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


def test_a_misspelt_command_names_the_closest() -> None:
    answer = anyner_command("predct", "Anna")
    assert answer.code == 2 and "No such command 'predct'; did you mean 'predict'?" in answer.err


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
