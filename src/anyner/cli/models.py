"""`anyner models`: what ships inside the package."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from anyner.cli.output import table


def models() -> None:
    """List the models that come with this installation.

    \b
    Example:
      anyner models
    """
    from anyner.storage.bundled import bundled_folder, bundled_names

    folders = [folder for name in bundled_names() if (folder := bundled_folder(name)) is not None]
    if not folders:
        typer.echo("no model is bundled with this installation: train one, or name a folder or hub id with --model", err=True)
        return
    typer.echo(table([("model", "architecture", "labels"), *map(_row, folders)]))


def _row(folder: Path) -> tuple[str, str, str]:
    from anyner.storage.files import CONFIG

    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    return folder.name, config["architecture"], ", ".join(config["labels"])
