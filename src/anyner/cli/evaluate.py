"""`anyner evaluate`: the scores of a model on a corpus."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import (
    CallOption,
    DeviceOption,
    FormatOption,
    OverlapOption,
    RuntimeOption,
    ThreadsOption,
    ThresholdOption,
    call_choices,
    load_model,
)
from anyner.cli.corpus import CORPUS_HELP, SYSTEM_HELP, read_corpus, read_predictions
from anyner.cli.output import Progress, check_outputs, say, with_printable_labels, write_out
from anyner.errors import AnynerError, json_text, printable

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus
    from anyner.evaluation.evaluate import Evaluation


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=SYSTEM_HELP)],
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help=CORPUS_HELP)],
    *,
    format: FormatOption = None,  # noqa: A002
    train: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="The training corpus: score seen and unseen entities separately.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all scores as JSON, from 0 to 1.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here instead of stdout.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page with all scores, charts and errors.")
    ] = None,
    errors: Annotated[bool, typer.Option("--errors", help="List every error, one per line; with --json, in the JSON.")] = False,
    overlap: OverlapOption = None,
    threshold: ThresholdOption = None,
    option: CallOption = None,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    runtime: RuntimeOption = "auto",
) -> None:
    """Score a model, or a file of predictions, on a corpus.

    Prints strict F1, then relaxed scores, averages, scores by label and slice, and causes of errors.

    \b
    Examples:
      anyner evaluate runs/genia data/genia/test.jsonl --train data/genia/train.jsonl
      anyner evaluate runs/demo synthetic:contiguous:test --json -o figures.json
      anyner evaluate runs/genia data/genia/test.jsonl --report errors.html
      anyner evaluate predictions.jsonl data/genia/test.jsonl
    """
    read = [corpus, *filter(None, [train]), *([model] if Path(model).is_file() else [])]
    check_outputs(output, report, read)
    choices = call_choices(threshold, option, overlap)
    gold = read_corpus(corpus, format)
    if not gold.documents:
        raise AnynerError(f"{corpus}: has no documents to score on")
    seen = read_corpus(train, split="train") if train else None

    from anyner.api import evaluate as evaluate_model
    from anyner.evaluation.evaluate import evaluate_documents
    from anyner.evaluation.slices import surface_forms

    surfaces = surface_forms(seen.documents) if seen else None
    predicted = read_predictions(model, gold.documents)
    if predicted is None:
        recognizer = load_model(model, device, threads, runtime)
        _print_unknown_labels(gold, recognizer.config.labels)
        counted = Progress(sys.stderr.isatty()).counted
        measured = evaluate_model(recognizer, gold, train_surfaces=surfaces, watched=counted, **choices)
    elif any(choices.values()):
        raise AnynerError(f"{model}: predictions are scored as they are: leave out --threshold, --option and --overlap")
    else:
        measured = evaluate_documents(gold.documents, predicted, surfaces)
    printed = _as_json(measured, errors) if as_json else _as_text(measured, errors)
    write_out(output, lambda file: file.write(printed))
    if report is not None:
        from anyner.view.report import write_report

        write_out(report, lambda file: write_report(measured, file, Path(model).name, f"on {corpus}"))
        say(f"{report}: open it in a browser", err=True)


def _as_json(measured: Evaluation, errors: bool) -> str:
    listed = {"errors": [case.to_json() for case in measured.errors]} if errors else {}
    return json_text(measured.to_json() | listed, indent=2) + "\n"


def _as_text(measured: Evaluation, errors: bool) -> str:
    from anyner.evaluation.report import error_line, render

    lines = [printable(error_line(case)) + "\n" for case in measured.errors] if errors else []
    return "".join([render(with_printable_labels(measured)), "\n" * bool(lines), *lines])


def _print_unknown_labels(gold: Corpus, known: Collection[str]) -> None:
    unknown = Counter(e.label for document in gold for e in document.entities if e.label not in known)
    if unknown:
        named = ", ".join(f"{label} ({count})" for label, count in unknown.most_common())
        say(f"labels that the model does not know count as missed: {named}", err=True)
