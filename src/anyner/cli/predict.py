"""`anyner predict`: from texts to entities."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO, get_args

import typer

from anyner.cli.choices import (
    CallOption,
    DeviceOption,
    OverlapOption,
    RuntimeOption,
    ThreadsOption,
    ThresholdOption,
    call_choices,
    load_model,
)
from anyner.cli.output import Progress, check_writable, format_of, is_device, json_text, say, write_out
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document

OutputFormat = Literal["text", "jsonl", "brat", "html", "svg"]
_BY_ENDING = {".txt": "text", ".jsonl": "jsonl", ".html": "html", ".htm": "html", ".svg": "svg"}
_WIDTH_OF_FILES = 100
_FILE_ENDINGS = (".txt", ".jsonl", ".json", ".conll", ".ann", ".spacy", ".parquet", ".tsv", ".xml", ".gz", ".xz")


def predict(
    text: Annotated[str | None, typer.Argument(metavar="TEXT|-", help="One text; - reads it from stdin.")] = None,
    *,
    files: Annotated[
        list[str] | None,
        typer.Option("-i", "--input", metavar="FILE", help="A .txt file, a folder of them, or any corpus. Repeatable."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="MODEL", help="A folder, bundled name or hub id. Default: general-en.")
    ] = None,
    format: Annotated[  # noqa: A002
        OutputFormat | None, typer.Option(help="Default: by the ending of OUT, else text (a drawing).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="A file, compressed if it ends in .gz or .xz; for brat a new folder."),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every line of stdin or of a .txt file is a document.")] = False,
    overlap: OverlapOption = None,
    threshold: ThresholdOption = None,
    option: CallOption = None,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    runtime: RuntimeOption = "auto",
    batch_tokens: Annotated[
        int | None, typer.Option(min=64, metavar="N", help="Most pieces in a batch, padding included.")
    ] = None,
) -> None:
    """Find entities in texts.

    \b
    Examples:
      anyner predict "Angela Merkel met executives of Siemens in Munich."
      anyner predict "Normal and malignant B cells express CD23 mRNA." --model biomed-en
      cat notes.txt | anyner predict - --lines --format jsonl > notes.jsonl
      anyner predict -i report.txt -i test.conll --model runs/demo -o found.html
      anyner predict -i reports.jsonl --model runs/demo --format brat -o found/
    """
    _check_source(text, files or [])
    chosen = _checked_target(format, output)
    choices = call_choices(threshold, option, overlap)
    recognizer = load_model(model, device, threads, runtime)
    blank = next((label for label in recognizer.config.labels if len(label.split()) > 1), None)
    if chosen == "brat" and blank is not None:
        raise AnynerError(f"brat cannot hold the model's label {blank!r}, for the white space in it: choose another format")

    from anyner.cli.texts import documents_of
    from anyner.inference.streaming import UnknownWordsWarning

    mixed = output is None and sys.stdout.isatty()  # results on the same screen would be torn apart by a counter
    progress = Progress(show=sys.stderr.isatty() and not mixed)
    documents = recognizer.stream(
        documents_of(text, files or (), lines, recognizer.config.text.context),
        batch_tokens=batch_tokens,
        progress=progress.words,
        **choices,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)  # told at the end, in one line of our own
        _write(_watched(progress.counted(documents)), chosen, output)


def _check_source(text: str | None, files: list[str]) -> None:
    if (text is None) == (not files):
        raise typer.BadParameter("give one TEXT, - for stdin, or -i FILE (once for each file)")
    if text is not None and _names_a_file(text):
        raise AnynerError(f"{text} names a file: give -i {text} to read it, or - and the name on stdin if it is the text")
    if files.count("-") > 1:
        raise typer.BadParameter("stdin can be read only once")


def _names_a_file(text: str) -> bool:
    """Whether a path was given without -i: its letters would be read as a text, which nobody wants."""
    if len(text.split()) != 1:
        return False
    # Unlike Path.is_file this also answers for names that are too long to be one.
    return os.path.isfile(text) or text.lower().endswith(_FILE_ENDINGS)  # noqa: PTH113


def _checked_target(chosen: str | None, output: Path | None) -> str:
    """The format to write, once it is clear that it can be written there."""
    if chosen == "brat":
        if output is None:
            raise AnynerError("--format brat writes a folder: name it with -o FOLDER")
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise AnynerError(f"{output}: brat is written to a new or empty folder, and this is not one")
    elif output is not None:
        check_writable(output)
        if chosen is None and (output.suffix.lower() in _BY_ENDING or not is_device(output)):
            return format_of(output, _BY_ENDING, "--format", get_args(OutputFormat))
    return chosen or "text"


def _watched(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents. Whoever does not look at their fields hears at the end how many were not read well."""
    from anyner.inference.streaming import mostly_unknown

    number, short, unknown, least = 0, 0, 0, 1.0
    for document in documents:
        number += 1
        short += document.coverage < 1
        least = min(least, document.coverage)
        unknown += mostly_unknown(document)
        yield document
    if short:
        say(f"{short} documents have words too long to be read whole (coverage {100 * least:.2f} % at least)", err=True)
    if unknown:
        say(
            f"{unknown} of {number} documents: most words are not in the model's vocabulary, so their entities are missed; "
            "use a model for their language",
            err=True,
        )


def _write(documents: Iterable[Document], chosen: str, output: Path | None) -> None:
    from anyner.corpora.writing import write
    from anyner.view.html import write as write_html
    from anyner.view.svg import render as picture

    if chosen == "brat" and output is not None:
        write(documents, output, "brat")
        return
    writers: dict[str, Callable[[Iterable[Document], TextIO], object]] = {
        "text": _draw,
        "jsonl": _write_jsonl,
        "html": write_html,
        "svg": lambda documents, file: file.write(picture(documents)),
    }
    live = output is None or is_device(output)
    write_out(output, lambda file: writers[chosen](_flushed(documents, file) if live else documents, file))


def _flushed(documents: Iterable[Document], file: TextIO) -> Iterator[Document]:
    """The documents; what was written of one is on its way before the next is waited for."""
    for document in documents:
        yield document
        file.flush()


def _write_jsonl(documents: Iterable[Document], file: TextIO) -> None:
    for document in documents:
        file.write(json_text(document.to_json()) + "\n")


def _draw(documents: Iterable[Document], file: TextIO) -> None:
    import shutil

    from anyner.view.terminal import SMALLEST_WIDTH, draw

    terminal = file.isatty()
    width = max(SMALLEST_WIDTH, shutil.get_terminal_size().columns) if terminal else _WIDTH_OF_FILES
    for number, document in enumerate(documents):
        file.write("\n" * bool(number) + draw(document, width, colour=terminal and "NO_COLOR" not in os.environ) + "\n")
