"""`anyner predict`: from texts to entities."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from anyner.cli.choices import (
    BatchTokensOption,
    CallOption,
    DeviceOption,
    OverlapOption,
    ThresholdOption,
    load_model,
    read_options,
    read_thresholds,
)
from anyner.cli.output import Progress, check_writable, is_device, json_text, say, write_out
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document

_WIDTH_OF_FILES = 100
_FILE_ENDINGS = (".txt", ".jsonl", ".json", ".conll", ".ann", ".gz", ".xz")
_PACKED = (".gz", ".xz")


class OutputFormat(StrEnum):
    TEXT = "text"
    JSONL = "jsonl"
    BRAT = "brat"
    HTML = "html"


_BY_ENDING = {
    ".txt": OutputFormat.TEXT,
    ".jsonl": OutputFormat.JSONL,
    ".html": OutputFormat.HTML,
    ".htm": OutputFormat.HTML,
}


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
    batch_tokens: BatchTokensOption = None,
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
    chosen = format or _format_of(output)
    _check_target(chosen, output)
    thresholds, options = read_thresholds(threshold), read_options(option)
    from anyner.cli.texts import documents_as_they_come

    recognizer = load_model(model, device)
    blank = next((label for label in recognizer.config.labels if len(label.split()) > 1), None)
    if chosen is OutputFormat.BRAT and blank is not None:
        raise AnynerError(f"brat cannot hold the model's label {blank!r}, for the white space in it: choose another format")
    mixed = output is None and sys.stdout.isatty()  # results on the same screen would be torn apart by a counter
    progress = Progress(show=sys.stderr.isatty() and not mixed)
    documents = recognizer.stream(
        documents_as_they_come(text, files or (), lines, recognizer.config.text.context),
        options=options,
        thresholds=thresholds,
        overlap=overlap,
        batch_tokens=batch_tokens,
        progress=progress.words,
    )
    unread = _Unread()
    with _without_warnings():
        _write(unread.watched(progress.counted(documents)), chosen, output)
    unread.tell()


def _check_source(text: str | None, files: list[str]) -> None:
    if (text is None) == (not files):
        raise typer.BadParameter("give one TEXT, - for stdin, or -i FILE (once for each file)")
    if text is not None and _names_a_file(text):
        raise AnynerError(f"{text} names a file: give -i {text} to read it, or - and the name on stdin if it is the text")
    if files.count("-") > 1:
        raise typer.BadParameter("stdin can be read only once")


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Unknown words are told at the end, in one line of our own."""
    from anyner.inference.streaming import UnknownWordsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)
        yield


def _names_a_file(text: str) -> bool:
    """Whether a path was given without -i: its letters would be read as a text, which nobody wants."""
    if len(text.split()) != 1:
        return False
    # Unlike Path.is_file this also answers for names that are too long to be one.
    return os.path.isfile(text) or text.lower().endswith(_FILE_ENDINGS)  # noqa: PTH113


def _format_of(output: Path | None) -> OutputFormat:
    if output is None:
        return OutputFormat.TEXT
    check_writable(output)
    plain = output.with_suffix("") if output.suffix.lower() in _PACKED else output
    if plain.suffix.lower() not in _BY_ENDING and not is_device(output):
        raise AnynerError(f"{output}: its name does not say which format: add --format, one of {', '.join(OutputFormat)}")
    return _BY_ENDING.get(plain.suffix.lower(), OutputFormat.TEXT)


class _Unread:
    """Counts documents that were not read well: whoever does not look at their fields should hear of it too."""

    def __init__(self) -> None:
        self._all = self._short = self._unknown = 0
        self._least = 1.0

    def watched(self, documents: Iterable[Document]) -> Iterator[Document]:
        from anyner.inference.streaming import mostly_unknown

        for document in documents:
            self._all += 1
            self._short += document.coverage < 1
            self._least = min(self._least, document.coverage)
            self._unknown += mostly_unknown(document)
            yield document

    def tell(self) -> None:
        if self._short:
            least = f"{100 * self._least:.2f} %"
            say(f"{self._short} documents have words too long to be read whole (coverage {least} at least)", err=True)
        if self._unknown:
            say(
                f"{self._unknown} of {self._all} documents: most words are not in the model's vocabulary, so their entities are "
                "missed; use a model for their language",
                err=True,
            )


def _check_target(chosen: OutputFormat, output: Path | None) -> None:
    if chosen is not OutputFormat.BRAT:
        if output is not None:
            check_writable(output)
    elif output is None:
        raise AnynerError("--format brat writes a folder: name it with -o FOLDER")
    elif output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise AnynerError(f"{output}: brat is written to a new or empty folder, and this is not one")


def _write(documents: Iterable[Document], chosen: OutputFormat, output: Path | None) -> None:
    if chosen is OutputFormat.BRAT and output is not None:
        from anyner.corpora.writing import write

        write(documents, output, "brat")
        return
    writers: dict[OutputFormat, Callable[[Iterable[Document], TextIO], None]] = {
        OutputFormat.TEXT: _draw,
        OutputFormat.JSONL: _write_jsonl,
        OutputFormat.HTML: _write_html,
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


def _write_html(documents: Iterable[Document], file: TextIO) -> None:
    from anyner.view.html import write

    write(documents, file)


def _draw(documents: Iterable[Document], file: TextIO) -> None:
    import shutil

    from anyner.view.terminal import SMALLEST_WIDTH, draw

    terminal = file.isatty()
    width = max(SMALLEST_WIDTH, shutil.get_terminal_size().columns) if terminal else _WIDTH_OF_FILES
    for number, document in enumerate(documents):
        file.write("\n" * bool(number) + draw(document, width, colour=terminal and "NO_COLOR" not in os.environ) + "\n")
