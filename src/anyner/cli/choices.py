"""Options shared by several commands, and what they stand for: models, `name=value`, the live table of a training run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.cli.output import say
from anyner.errors import AnynerError
from anyner.inference import RuntimeName
from anyner.overlap import POLICIES, Policy

if TYPE_CHECKING:
    from anyner.inference.recognizer import Recognizer
    from anyner.training.progress import TerminalListener

OverlapOption = Annotated[
    Policy | None,
    typer.Option(
        metavar="POLICY",
        help=f"Which overlapping entities to keep: {', '.join(POLICIES)}. Default: as trained.",
    ),
]
ThresholdOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Override a tuned threshold of the model. Repeatable.")
]
CallOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Set an option of the model's architecture. Repeatable.")
]
DeviceOption = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="cpu, cuda, cuda:1 or mps. Default: a GPU if available.")
]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Number of CPU threads. Default: OMP_NUM_THREADS, else at most 4.")
]
RuntimeOption = Annotated[
    RuntimeName,
    typer.Option(help="What runs the model; auto: onnx on a CPU if the model has an ONNX graph, else torch."),
]
FormatOption = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="Format of the corpus. Default: detected from its content.")
]
ChangesOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key, e.g. training.epochs=5. Repeatable.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def call_choices(threshold: list[str] | None, option: list[str] | None, overlap: Policy | None) -> dict[str, Any]:
    """Keyword arguments of `stream` and `evaluate`."""
    thresholds = _pairs("--threshold", threshold, float, "a number")
    return {"thresholds": thresholds, "options": _pairs("--option", option, _yaml, "valid YAML"), "overlap": overlap}


def _yaml(text: str) -> Any:
    from yaml import YAMLError, safe_load

    try:
        return safe_load(text)
    except YAMLError as error:
        raise ValueError(str(error)) from None


def _pairs(option: str, given: list[str] | None, parsed: Callable[[str], Any], kind: str) -> dict[str, Any]:
    """`name=value` as a mapping."""
    pairs: dict[str, Any] = {}
    for one in given or ():
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or not name:
            raise AnynerError(f"{option} {one!r}: expected name=value")
        try:
            pairs[name] = parsed(value)
        except ValueError:
            raise AnynerError(f"{option} {one!r}: {value!r} is not {kind}") from None
    return pairs


def load_model(name: str | None, device: str | None, threads: int | None = None, runtime: RuntimeName = "auto") -> Recognizer:
    """Loads the model of that name, by default the bundled general-en."""
    from anyner.storage.bundled import bundled_folder
    from anyner.storage.load import load

    source = name or bundled_folder("general-en")  # by its folder: the working directory may have one named general-en
    if source is None:
        raise AnynerError("no bundled models in this installation: use --model with a folder or hub id")
    return load(source, device, threads=threads, runtime=runtime)


@contextmanager
def listening(
    quiet: bool, note: str | None = None, how_to_continue: str = "repeat the command to continue"
) -> Iterator[TerminalListener | None]:
    """A listener that prints a note, then the live table of a training run; none with --quiet.

    An interrupted command ends with a line that says how to continue.
    """
    from anyner.training.processes import Interrupted
    from anyner.training.progress import TerminalListener

    try:
        with nullcontext() if quiet else TerminalListener(note) as listener:
            yield listener
    except Interrupted as stopped:
        say(f"anyner: stopped; {how_to_continue}", err=True)
        raise typer.Exit(stopped.exit_code) from None
