"""`anyner convert`: a corpus from one format into another."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.corpus import CORPUS_HELP, read_corpus, tell_problems
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus, Problem

_BY_ENDING = {".jsonl": "jsonl", **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".iobes"), "conll")}


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=CORPUS_HELP)],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, a new folder for brat, or - for stdout.")],
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN. Default: told from its content.")
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="jsonl, jsonl-tokens, conll, brat, spans, w2ner or dai. Default: by ending."),
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Write what the format can hold, and list what is lost.")] = False,
) -> None:
    """Write a corpus in another format. What the format cannot hold is refused, unless --lossy.

    \b
    Examples:
      anyner convert genia.conll genia.jsonl
      anyner convert cadec.jsonl cadec-brat --to brat
      anyner convert synthetic:train flat.conll --lossy
    """
    chosen = target_format or _format_of(target)
    corpus = read_corpus(source, source_format)
    tell_problems(corpus.problems)
    lost = _to_stdout(corpus, chosen, lossy) if target == "-" else _written(corpus, Path(target), chosen, lossy)
    if lost:
        gone = sum(not loss.kept for loss in lost)
        typer.echo(f"{len(lost)} losses ({gone} of them entities or documents that are gone):", err=True)
        for loss in lost:
            typer.echo(f"  {loss.what} ({'changed' if loss.kept else 'gone'})", err=True)


def _format_of(target: str) -> str:
    path = Path(target)
    ending = path.with_suffix("").suffix if path.suffix in (".gz", ".xz") else path.suffix
    if ending.lower() in _BY_ENDING:
        return _BY_ENDING[ending.lower()]
    from anyner.corpora.registry import FORMATS

    raise AnynerError(f"{target}: its name does not say which format: add --to, one of {', '.join(f.name for f in FORMATS)}")


def _written(corpus: Corpus, path: Path, chosen: str, lossy: bool) -> tuple[Problem, ...]:
    from anyner.corpora.writing import write

    return write(corpus, path, chosen, lossy)


def _to_stdout(corpus: Corpus, chosen: str, lossy: bool) -> tuple[Problem, ...]:
    if chosen == "brat":
        raise AnynerError("brat is written to a folder, not to stdout")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdout"
        try:
            lost = _written(corpus, path, chosen, lossy)
        except AnynerError as error:
            raise AnynerError(str(error).replace(str(path), "standard output")) from None
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)
    return lost
