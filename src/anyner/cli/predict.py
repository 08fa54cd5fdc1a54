"""`anyner predict`: from texts to entities."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TextIO, get_args

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
from anyner.cli.corpus import tell_problems
from anyner.cli.output import Progress, check_writable, is_device, say, write_out
from anyner.errors import AnynerError, json_text

if TYPE_CHECKING:
    from anyner.bulk.parts import Parts
    from anyner.bulk.workers import Done, Task, Work
    from anyner.cli.texts import Files
    from anyner.document import Document
    from anyner.inference.recognizer import Recognizer

OutputFormat = Literal["text", "jsonl", "parquet", "brat", "html", "svg"]
_BY_ENDING = {".txt": "text", ".jsonl": "jsonl", ".parquet": "parquet", ".html": "html", ".htm": "html", ".svg": "svg"}
_WorkersOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="CPU processes, one thread each unless --threads says more.")
]
_DevicesOption = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="A process on each of these devices, as in cuda:0,cuda:1.")
]
_RayOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Predict on a Ray cluster, with --workers actors; local: on one of this machine alone."),
]
_IN_PARTS = ("jsonl", "parquet")
"""Formats of files that are written in parts, so that a run which was stopped can go on."""
_WIDTH_OF_FILES = 100
_FILE_ENDINGS = (".txt", ".jsonl", ".parquet", ".json", ".conll", ".ann", ".spacy", ".parquet", ".tsv", ".xml", ".gz", ".xz")


def predict(
    text: Annotated[str | None, typer.Argument(metavar="TEXT|-", help="One text; - reads it from stdin.")] = None,
    *,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "-i", "--input", metavar="FILE", help="A .txt, .jsonl or .parquet file, a folder of them, or any corpus. Repeatable."
        ),
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
    column: Annotated[str, typer.Option(metavar="NAME", help="The column of texts of a .parquet file.")] = "text",
    overlap: OverlapOption = None,
    threshold: ThresholdOption = None,
    option: CallOption = None,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    runtime: RuntimeOption = "auto",
    batch_tokens: Annotated[
        int | None, typer.Option(min=64, metavar="N", help="Most pieces in a batch, padding included.")
    ] = None,
    workers: _WorkersOption = None,
    devices: _DevicesOption = None,
    ray: _RayOption = None,
) -> None:
    """Find entities in texts.

    \b
    Examples:
      anyner predict "Angela Merkel met executives of Siemens in Munich."
      anyner predict "Normal and malignant B cells express CD23 mRNA." --model biomed-en
      cat notes.txt | anyner predict - --lines --format jsonl > notes.jsonl
      anyner predict -i report.txt -i test.conll --model runs/demo -o found.html
      anyner predict -i reports.jsonl --model runs/demo --format brat -o found/
      anyner predict -i notes/ -i more.parquet -o found.jsonl.gz --workers 8
      anyner predict -i notes.parquet -o found.parquet --ray auto --workers 64

    Files of any size become .jsonl or .parquet; a run that was stopped goes on when it is given again.
    """
    _check_source(text, files or [])
    chosen = _checked_target(format, output, files or [])
    choices = call_choices(threshold, option, overlap)
    if batch_tokens is not None:
        choices["batch_tokens"] = batch_tokens
    parts_of = output if chosen in _IN_PARTS and files and "-" not in files and output and not is_device(output) else None
    processes = _processes(workers, devices, chosen, parts_of, ray)
    if ray is not None:
        files, model, parts_of = [*map(_absolute, files or ())], model and _absolute(model), parts_of and parts_of.resolve()
    recognizer = load_model(model, "cpu" if ray or workers else device, threads or (1 if workers or ray else None), runtime)
    _check_labels(recognizer.config.labels, chosen)

    from anyner.cli.texts import Files, documents_of
    from anyner.inference.streaming import UnknownWordsWarning

    mixed = output is None and sys.stdout.isatty()  # results on the same screen would be torn apart by a counter
    progress = Progress(show=sys.stderr.isatty() and not mixed)
    given = Files(files or (), lines=lines, context=recognizer.config.text.context, column=column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)  # told at the end, in one line of our own
        if parts_of is not None:
            again = partial(load_model, model, threads=threads or (1 if workers or ray else None), runtime=runtime)
            where: _Where = _Here(recognizer, given, processes, again)
            if ray is not None:
                where = _OnRay(ray, given, workers, threads or 1, device or "cpu", again)
            _write_parts(recognizer, given, parts_of, chosen, choices, progress=progress, where=where)
        else:
            documents = recognizer.stream(documents_of(text, given, lines), progress=progress.words, **choices)
            _write(_watched(progress.counted(documents)), chosen, output)
    tell_problems(given.problems)


_Told = Callable[["Done", float], object]
"""Hears what is done so far, and how much of the input that is."""


class _Where(Protocol):
    """Predicts all chunks, and makes the output of their parts."""

    @property
    def gpus(self) -> int:
        """Of a cluster: on them a run is another one than on the runtime of the model that was loaded here."""

    def run(self, parts: Parts, work: Work, told: _Told) -> Done: ...


def _write_parts(
    recognizer: Recognizer,
    files: Files,
    output: Path,
    chosen: str,
    choices: Mapping[str, Any],
    *,
    progress: Progress,
    where: _Where,
) -> None:
    """Predicts files in chunks, on one output."""
    from anyner.bulk.forms import Form, JsonLines, Parquet
    from anyner.bulk.parts import Parts
    from anyner.bulk.run import run_identity
    from anyner.bulk.workers import Work
    from anyner.corpora.formats.arrow import PARQUET

    if chosen == "parquet":
        PARQUET.check_installed()
    packed = output.suffix.lower() if output.suffix.lower() in (".gz", ".xz") else ""
    form: Form = Parquet() if chosen == "parquet" else JsonLines(packed)
    settings = {**choices, "gpus": where.gpus} if where.gpus else choices
    parts = Parts(output, run_identity(recognizer, files.identity, form.name + packed, settings))
    if number := len(parts):
        say(f"{output}: goes on with the unfinished output of an earlier run ({number} parts)", err=True)
    began = time.monotonic()
    try:
        done = where.run(parts, Work(form, choices), lambda so_far, share: progress.share(so_far.documents, share))
    except AnynerError:
        parts.remove_if_empty()  # bad input is mended and read again, and is then another run's
        raise
    progress.wipe()
    _tell_unread(done.documents, done.short, done.unknown, done.coverage)
    seconds = time.monotonic() - began
    say(f"{done.documents:,} documents in {seconds:,.0f} s -> {output}", err=True)


@dataclass(frozen=True, slots=True)
class _Here:
    """By processes on these devices, or by this one."""

    recognizer: Recognizer
    files: Files
    processes: Sequence[str | None]
    again: Callable[[str | None], Recognizer]
    """Loads the model on a device."""
    gpus: int = 0

    def run(self, parts: Parts, work: Work, told: _Told) -> Done:
        from anyner.bulk.run import predict_chunks

        return predict_chunks(
            self.files.chunks(), parts, work.form, partial(self._do, work), lambda so_far: told(so_far, self.files.share)
        )

    def _do(self, work: Work, tasks: Iterable[Task]) -> Iterator[Done]:
        from anyner.bulk.workers import in_processes, in_this_process

        if self.processes:
            return in_processes(self.recognizer, self.again, work, tasks, self.processes)
        return in_this_process(self.recognizer, work, tasks)


@dataclass(frozen=True, slots=True)
class _OnRay:
    address: str
    files: Files
    workers: int | None
    threads: int
    device: str
    again: Callable[[str | None], Recognizer]

    @property
    def gpus(self) -> int:
        return int(self.device != "cpu")

    def run(self, parts: Parts, work: Work, told: _Told) -> Done:
        from anyner.cluster.ray import Actors, connected, predict_files

        actors = Actors(self.workers, self.threads, self.gpus)
        with connected(self.address, actors):
            load = partial(self.again, actors.device)
            done, problems = predict_files(self.files, parts, work, load, actors=actors, told=told)
        self.files.problems += problems
        return done


def _processes(workers: int | None, devices: str | None, chosen: str, output: Path | None, ray: str | None) -> list[str | None]:
    """The devices of the processes that predict, None being a CPU; none for this process."""
    if (workers or devices or ray) and output is None:
        raise AnynerError("--workers, --devices and --ray: give -i FILE and -o OUT.jsonl or OUT.parquet")
    if (workers or ray) and devices:
        raise typer.BadParameter("--devices goes with neither --workers nor --ray")
    if chosen == "parquet" and output is None:
        raise AnynerError("--format parquet: give -i FILE and -o OUT.parquet")
    return [None] * workers if workers else [*devices.split(",")] if devices else []


def _absolute(name: str) -> str:
    """A name that means the same in the processes of a cluster, which have other working folders."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _check_labels(labels: Iterable[str], chosen: str) -> None:
    blank = next((label for label in labels if len(label.split()) > 1), None)
    if chosen == "brat" and blank is not None:
        raise AnynerError(f"brat cannot hold the model's label {blank!r}, for the white space in it: choose another format")


def _check_source(text: str | None, files: list[str]) -> None:
    if (text is None) == (not files):
        raise typer.BadParameter("give one TEXT, - for stdin, or -i FILE (once for each file)")
    if text is not None and _names_a_file(text):
        what = "folder" if Path(text).is_dir() else "file"
        raise AnynerError(f"{text} names a {what}: give -i {text} to read it, or - and the name on stdin if it is the text")
    if files.count("-") > 1:
        raise typer.BadParameter("stdin can be read only once")


def _names_a_file(text: str) -> bool:
    """Whether a path was given without -i: its letters would be read as a text, which nobody wants."""
    if len(text.split()) != 1:
        return False
    # Unlike Path.is_file this also answers for names that are too long to be one.
    return os.path.exists(text) or text.lower().endswith(_FILE_ENDINGS)  # noqa: PTH110


def _checked_target(chosen: str | None, output: Path | None, files: list[str]) -> str:
    """The format to write, once it is clear that it can be written there."""
    if chosen == "brat":
        if output is None:
            raise AnynerError("--format brat writes a folder: name it with -o FOLDER")
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise AnynerError(f"{output}: brat is written to a new or empty folder, and this is not one")
    elif output is not None:
        check_writable(output, files)
        if chosen is None and (output.suffix.lower() in _BY_ENDING or not is_device(output)):
            from anyner.corpora.textfiles import format_of

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
    _tell_unread(number, short, unknown, least)


def _tell_unread(number: int, short: int, unknown: int, least: float) -> None:
    if short:
        say(f"{short} documents have words too long to be read whole (coverage {100 * least:.2f} % at least)", err=True)
    if unknown:
        say(
            f"{unknown} of {number} documents: most words are not in the model's vocabulary, so their entities are missed; "
            "use a model for their language",
            err=True,
        )


def _write(documents: Iterable[Document], chosen: str, output: Path | None) -> None:
    if chosen == "brat" and output is not None:
        from anyner.corpora.writing import write

        write(documents, output, "brat")
        return
    writers: dict[str, Callable[[Iterable[Document], TextIO], object]] = {
        "text": _draw,
        "jsonl": _write_jsonl,
        "html": _write_html,
        "svg": _write_svg,
    }
    live = output is None or is_device(output)
    write_out(output, lambda file: writers[chosen](_flushed(documents, file) if live else documents, file))


def _write_html(documents: Iterable[Document], file: TextIO) -> None:
    from anyner.view.html import write

    write(documents, file)


def _write_svg(documents: Iterable[Document], file: TextIO) -> None:
    from anyner.view.svg import render

    file.write(render(documents))


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
