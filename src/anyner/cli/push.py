"""`anyner push`: a model folder to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.output import say
from anyner.errors import AnynerError


def push(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The model folder.")],
    name: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository; created if it does not exist.")],
    *,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public. Default: private.")] = False,
    license: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="ID", help="Licence of the model, as the hub names it: apache-2.0, mit, other …")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(metavar="CODE", help="Language of the texts it reads, e.g. en. Repeatable.")
    ] = None,
) -> None:
    """Upload a model to the Hugging Face Hub.

    Uploads only the model files, its card, metrics and recipe, in one commit. Log in first with `hf auth login`, or set
    HF_TOKEN. `anyner.load("owner/name")` then loads it.

    \b
    Examples:
      anyner push runs/mine me/my-model --license apache-2.0 --language en
    """
    from anyner.storage.hub import push as push_model
    from anyner.storage.load import is_model_folder, read_config

    if not is_model_folder(folder):
        raise AnynerError(f"{folder} is not a model folder")
    added = {"license": license, "language": language}
    known = {key: value for key, value in added.items() if value}
    say(push_model(folder, read_config(folder), name, added=known, private=not public))
