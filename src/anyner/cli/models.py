"""`anyner models`: what ships inside the package."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from anyner.cli.output import table


def models() -> None:
    """List the models that come with this installation.

    Use them with --model NAME, or as an encoder with bundled:NAME; `anyner info NAME` shows details.

    \b
    Examples:
      anyner models
      anyner info general-en
    """
    from anyner.storage.bundled import bundled_folder, bundled_names

    folders = [folder for name in bundled_names() if (folder := bundled_folder(name)) is not None]
    if not folders:
        typer.echo("no bundled models in this installation: train one, or use --model with a folder or hub id", err=True)
        return
    typer.echo(table([("model", "size", "architecture", "shapes", "labels"), *map(_row, folders)]))


def _row(folder: Path) -> tuple[str, ...]:
    from anyner.architectures.registry import config_class
    from anyner.architectures.settings import visible_shapes
    from anyner.storage.files import CONFIG

    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    shapes = visible_shapes(config_class(config["architecture"]).of(config["head"], CONFIG), config["overlap"])
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    return folder.name, f"{size / 1e6:.0f} MB", config["architecture"], ", ".join(shapes), ", ".join(config["labels"])
