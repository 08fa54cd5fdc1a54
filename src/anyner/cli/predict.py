"""`anyner predict`: find entities in texts."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, get_args

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
from anyner.cli.corpus import print_problems
from anyner.cli.output import Progress, check_writable, is_device, say, write_out
from anyner.errors import AnynerError, json_text

if TYPE_CHECKING:
    from anyner.bulk.chunks import Done
    from anyner.bulk.parts import Parts
    from anyner.bulk.workers import Task, Work
    from anyner.cli.texts import Files
    from anyner.cluster.ray import OnProgress
    from anyner.document import Document
    from anyner.inference.recognizer import Recognizer

OutputFormat = Literal["text", "jsonl", "parquet", "brat", "html", "svg"]
_BY_ENDING = {".txt": "text", ".jsonl": "jsonl", ".parquet": "parquet", ".html": "html", ".htm": "html", ".svg": "svg"}
_WorkersOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Number of CPU processes, with one thread each unless --threads is given.")
]
_DevicesOption = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Run one process on each of these devices, e.g. cuda:0,cuda:1.")
]
_RayOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Predict on a Ray cluster with --workers actors; local starts one on this machine."),
]
_IN_PARTS = ("jsonl", "parquet")
"""Formats that are written in parts, so that an interrupted run can be resumed."""
_WIDTH_OF_FILES = 100
_FILE_ENDINGS = (".txt", ".jsonl", ".parquet", ".json", ".conll", ".ann", ".spacy", ".tsv", ".xml", ".gz", ".xz")


def predict(
    text: Annotated[str | None, typer.Argument(metavar="TEXT|-", help="One text, or - to read it from stdin.")] = None,
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
        OutputFormat | None, typer.Option(help="Output format. Default: by the ending of OUT, else text (a drawing).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="A file, compressed if it ends in .gz or .xz; for brat a new folder."),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Read every line of stdin or of a .txt file as a document.")] = False,
    column: Annotated[str, typer.Option(metavar="NAME", help="The text column of a .parquet file.")] = "text",
    overlap: OverlapOption = None,
    threshold: ThresholdOption = None,
    option: CallOption = None,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    runtime: RuntimeOption = "auto",
    batch_tokens: Annotated[
        int | None, typer.Option(min=64, metavar="N", help="Maximum number of pieces in a batch, including padding.")
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

    Files of any size can be written to .jsonl or .parquet; repeat an interrupted command to continue.
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
    threads = threads or (1 if workers or ray else None)
    recognizer = load_model(model, "cpu" if ray or workers else device, threads, runtime)
    _check_labels(recognizer.config.labels, chosen)

    from anyner.cli.texts import Files, documents_of
    from anyner.inference.streaming import UnknownWordsWarning

    mixed = output is None and sys.stdout.isatty()  # a counter would garble results on the same screen
    progress = Progress(show=sys.stderr.isatty() and not mixed)
    given = Files(files or (), lines=lines, context=recognizer.config.text.context, column=column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)  # reported in one line at the end
        if parts_of is not None:
            load = partial(load_model, model, threads=threads, runtime=runtime)
            gpus = int(ray is not None and (device or "cpu") != "cpu")
            run = partial(_run_here, recognizer=recognizer, files=given, processes=processes, load=load)
            if ray is not None:
                run = partial(_run_on_ray, address=ray, files=given, actors=(workers, threads or 1, gpus), load=load)
            _write_parts(recognizer, given, parts_of, chosen, choices, gpus=gpus, progress=progress, run=run)
        else:
            documents = recognizer.stream(documents_of(text, given), progress=progress.words, **choices)
            _write(_watched(progress.counted(documents)), chosen, output)
    print_problems(given.problems)


def _write_parts(
    recognizer: Recognizer,
    files: Files,
    output: Path,
    chosen: str,
    choices: Mapping[str, Any],
    *,
    gpus: int,
    progress: Progress,
    run: Callable[[Parts, Work, OnProgress], Done],
) -> None:
    """Lets `run` predict the files in chunks, and writes one output.

    `gpus`: those of a Ray actor. They identify a run, as the model loaded here may have another runtime.
    """
    from anyner.bulk.forms import Form, JsonLines, Parquet
    from anyner.bulk.parts import Parts
    from anyner.bulk.run import run_identity
    from anyner.bulk.workers import Work
    from anyner.corpora.formats.arrow import PARQUET

    if chosen == "parquet":
        PARQUET.check_installed()
        files.check_same_columns()
    packed = output.suffix.lower() if output.suffix.lower() in (".gz", ".xz") else ""
    form: Form = Parquet() if chosen == "parquet" else JsonLines(packed)
    settings = {**choices, "gpus": gpus} if gpus else choices
    parts = Parts(output, run_identity(recognizer, files.identity, form.name + packed, settings))
    if number := len(parts):
        say(f"{output}: resuming an unfinished run ({number} parts are done)", err=True)
    began = time.monotonic()
    try:
        done = run(parts, Work(form, choices), lambda so_far, share: progress.share(so_far.documents, share))
    except AnynerError:
        parts.remove_if_empty()  # corrected input is another run
        raise
    progress.wipe()
    _print_unread(done)
    seconds = time.monotonic() - began
    say(f"{done.documents:,} documents in {seconds:,.0f} s -> {output}", err=True)


def _run_here(
    parts: Parts,
    work: Work,
    on_progress: OnProgress,
    *,
    recognizer: Recognizer,
    files: Files,
    processes: Sequence[str | None],
    load: Callable[[str | None], Recognizer],
) -> Done:
    """Predicts in one process for each device, or in this process; `load` loads the model on a device."""
    from anyner.bulk.run import predict_chunks
    from anyner.bulk.workers import in_processes, in_this_process

    def do(tasks: Iterable[Task]) -> Iterator[Done]:
        if processes:
            return in_processes(recognizer, load, work, tasks, processes)
        return in_this_process(recognizer, work, tasks)

    return predict_chunks(files.chunks(), parts, work.form, do, lambda so_far: on_progress(so_far, files.share))


def _run_on_ray(
    parts: Parts,
    work: Work,
    on_progress: OnProgress,
    *,
    address: str,
    files: Files,
    actors: tuple[int | None, int, int],
    load: Callable[[str | None], Recognizer],
) -> Done:
    """`actors`: their number, and the threads and GPUs of each."""
    from anyner.cluster.ray import Actors, connected, predict_files

    pool = Actors(*actors)
    with connected(address, pool):
        loading = partial(load, pool.device)
        done, problems = predict_files(files, parts, work, loading, actors=pool, on_progress=on_progress)
    files.problems += problems
    return done


def _processes(workers: int | None, devices: str | None, chosen: str, output: Path | None, ray: str | None) -> list[str | None]:
    """The device of each worker process, None for a CPU; empty to predict in this process."""
    if (workers or devices or ray) and output is None:
        raise AnynerError("--workers, --devices and --ray need -i FILE and -o OUT.jsonl or OUT.parquet")
    if (workers or ray) and devices:
        raise typer.BadParameter("--devices cannot be combined with --workers or --ray")
    if chosen == "parquet" and output is None:
        raise AnynerError("--format parquet needs -i FILE and -o OUT.parquet")
    return [None] * workers if workers else [*devices.split(",")] if devices else []


def _absolute(name: str) -> str:
    """The absolute path of an existing file: processes of a cluster have other working directories."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _check_labels(labels: Iterable[str], chosen: str) -> None:
    blank = next((label for label in labels if len(label.split()) > 1), None)
    if chosen == "brat" and blank is not None:
        raise AnynerError(f"brat cannot hold the model's label {blank!r}, which contains white space: choose another format")


def _check_source(text: str | None, files: list[str]) -> None:
    if (text is None) == (not files):
        raise typer.BadParameter("give one TEXT, - for stdin, or -i FILE (once for each file)")
    if text is not None and _names_a_file(text):
        what = "folder" if Path(text).is_dir() else "file"
        raise AnynerError(f"{text} names a {what}: give -i {text} to read it, or - and the text on stdin if it is one")
    if files.count("-") > 1:
        raise typer.BadParameter("stdin can be read only once")


def _names_a_file(text: str) -> bool:
    """Whether a path was given without -i, which would be read as a text."""
    if len(text.split()) != 1:
        return False
    # Unlike Path.exists, this does not fail on names that are too long.
    return os.path.exists(text) or text.lower().endswith(_FILE_ENDINGS)  # noqa: PTH110


def _checked_target(chosen: str | None, output: Path | None, files: list[str]) -> str:
    """The output format, after a check that it can be written there."""
    if chosen == "brat":
        if output is None:
            raise AnynerError("--format brat writes a folder: name it with -o FOLDER")
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise AnynerError(f"{output}: brat needs a new or empty folder to write to")
    elif output is not None:
        check_writable(output, files)
        if chosen is None and (output.suffix.lower() in _BY_ENDING or not is_device(output)):
            from anyner.corpora.textfiles import format_of

            return format_of(output, _BY_ENDING, "--format", get_args(OutputFormat))
    return chosen or "text"


def _watched(documents: Iterable[Document]) -> Iterator[Document]:
    """Yields the documents, then prints how many could not be read well."""
    from anyner.bulk.chunks import Done

    done = Done(0)
    for document in documents:
        done += Done.of(document)
        yield document
    _print_unread(done)


def _print_unread(done: Done) -> None:
    if done.short:
        least = f"coverage {100 * done.coverage:.2f} % at least"
        say(f"{done.short} documents have words too long to be read whole ({least})", err=True)
    if done.unknown:
        say(
            f"{done.unknown} of {done.documents} documents: most words are not in the model's vocabulary, "
            "so their entities are missed; use a model for their language",
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
    """Yields the documents, and flushes what was written of one before waiting for the next."""
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
