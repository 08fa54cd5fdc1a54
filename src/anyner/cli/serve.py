"""`anyner serve`: models over HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.choices import DeviceOption, RuntimeOption, ThreadsOption
from anyner.cli.corpus import print_problems
from anyner.cli.output import say
from anyner.errors import AnynerError

_LOCAL = ("localhost", "127.0.0.1", "::1")


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]MODEL", help="A folder, bundled name or hub id, and the name that clients use. Default: all bundled."
        ),
    ] = None,
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is reachable from other machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8000,
    key: Annotated[
        str | None,
        typer.Option(envvar="ANYNER_KEY", help="Key that clients must send; better set in ANYNER_KEY."),
    ] = None,
    batch_wait: Annotated[
        float, typer.Option(min=0, max=1000, metavar="MS", help="Milliseconds a text waits for others to share its batch.")
    ] = 0.0,
    annotate: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Texts to annotate on the page; corrections are saved in its annotations.jsonl."),
    ] = None,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    runtime: RuntimeOption = "auto",
) -> None:
    """Serve models over HTTP.

    On Ctrl-C or SIGTERM, accepted requests are finished first. docs/serve.md describes the API.

    \b
    Examples:
      anyner serve
      anyner serve general-en --port 9000
      anyner serve biomed-en --annotate notes/
      anyner serve demo=runs/demo biomed-en --host 0.0.0.0
    """
    from anyner.serve.annotate import AnnotationFolder
    from anyner.serve.server import listener_on
    from anyner.serve.server import serve as run_server
    from anyner.serve.settings import ServeSettings
    from anyner.storage.load import load

    folders = _folders(models or [])
    annotation = None if annotate is None else AnnotationFolder(annotate)
    if annotation is not None:
        print_problems(annotation.problems)
    local = host in _LOCAL
    settings = ServeSettings.of({"key": key, "hosts": _LOCAL if local else (), "batch_wait": batch_wait / 1000}, "serve")
    listener = listener_on(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    if not local and key is None:
        say("note: anybody who can reach this machine can use the server; set ANYNER_KEY to require a key", err=True)
    sources = {name: partial(load, folder, device, threads=threads, runtime=runtime) for name, folder in folders.items()}
    ready = f"serving {', '.join(folders)} on {address} (Ctrl-C stops)"
    run_server(sources, settings, listener, lambda: say(ready, err=True), annotation)


def _folders(given: list[str]) -> dict[str, Path]:
    """The folder of each model, by the name that clients use."""
    from anyner.storage.bundled import bundled_names
    from anyner.storage.load import find, read_config

    chosen = given or sorted(bundled_names(), key=lambda name: name != "general-en")
    if not chosen:
        raise AnynerError("no bundled models in this installation: name a folder or hub id")
    folders: dict[str, Path] = {}
    for one in chosen:
        name, _, source = one.partition("=") if "=" in one else (Path(one).name, "", one)
        if not name or name in folders:
            raise AnynerError(
                f"{one}: two models are called {name!r}; write NAME={source}" if name else f"{one}: write NAME=MODEL"
            )
        folders[name] = find(source)
        read_config(folders[name])  # an invalid model is reported before the server starts
    return folders
