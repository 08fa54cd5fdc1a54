"""Options that several commands share, and the reading of `name=value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.inference.recognizer import Recognizer
    from anyner.text.words import SplitterName


def _checked_overlap(value: str | None) -> str | None:
    from anyner.overlap import POLICIES

    if value is not None and value not in POLICIES:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(POLICIES)}")
    return value


OverlapOption = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        callback=_checked_overlap,
        help="Which overlapping entities to keep: all, nested, flat or longest. Default: as trained.",
    ),
]
ThresholdOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A threshold of the model, instead of the tuned one. Repeatable.")
]
CallOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the model's architecture. Repeatable.")
]
DeviceOption = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="cpu, cuda, cuda:1, mps. Default: a GPU when there is one.")
]
BatchTokensOption = Annotated[int | None, typer.Option(min=64, metavar="N", help="Most pieces in a batch, padding included.")]
FormatOption = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="Format of the corpus. Default: detected from its content.")
]


def read_thresholds(given: Sequence[str] | None) -> dict[str, float]:
    """`name=number` as a mapping."""
    thresholds: dict[str, float] = {}
    for one in given or ():
        name, value = _parted(one, "--threshold")
        try:
            thresholds[name] = float(value)
        except ValueError:
            raise AnynerError(f"--threshold {one!r}: {value!r} is not a number") from None
    return thresholds


def read_options(given: Sequence[str] | None) -> dict[str, Any]:
    """`key=value` as a mapping; values are read as YAML."""
    import yaml

    options: dict[str, Any] = {}
    for one in given or ():
        key, value = _parted(one, "--option")
        try:
            options[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise AnynerError(f"--option {one!r}: the value is not valid YAML") from None
    return options


def load_model(name: str | None, device: str | None) -> Recognizer:
    """The model of that name, else the bundled general one."""
    from anyner.storage.bundled import bundled_folder

    source = name or bundled_folder("general-en")  # its folder: one of the same name may lie here
    if source is None:
        raise AnynerError("no bundled models in this installation: use --model with a folder or hub id")
    from anyner.storage.load import load

    return load(source, device)


def _parted(given: str, option: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name.strip():
        raise AnynerError(f"{option} {given!r}: write name=value")
    return name.strip(), value.strip()


def checked_splitter(name: str) -> SplitterName:
    from typing import get_args

    from anyner.text.words import SplitterName

    known: tuple[SplitterName, ...] = get_args(SplitterName)
    for one in known:
        if one == name:
            return one
    raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}", param_hint="--splitter")
