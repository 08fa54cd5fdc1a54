"""`anyner evaluate`: a model measured on a corpus."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import CallOption, DeviceOption, FormatOption, OverlapOption, ThresholdOption, call_choices, load_model
from anyner.cli.corpus import CORPUS_HELP, read_corpus
from anyner.cli.output import Progress, check_writable, json_text, say, write_out
from anyner.errors import AnynerError, printable

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus
    from anyner.evaluation.evaluate import Evaluation


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, bundled name or hub id.")],
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help=CORPUS_HELP)],
    *,
    format: FormatOption = None,  # noqa: A002
    train: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="The training corpus: entities seen in it get their own score.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All scores as JSON, from 0 to 1.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here instead of stdout.")] = None,
    overlap: OverlapOption = None,
    threshold: ThresholdOption = None,
    option: CallOption = None,
    device: DeviceOption = None,
) -> None:
    """Score a model on a corpus.

    Strict F1 first, then softer scores, averages, labels, slices and causes of errors.

    \b
    Examples:
      anyner evaluate runs/genia data/genia/test.jsonl --train data/genia/train.jsonl
      anyner evaluate runs/demo synthetic:contiguous:test --json -o figures.json
    """
    if output is not None:
        check_writable(output)
    choices = call_choices(threshold, option, overlap)
    gold = read_corpus(corpus, format)
    if not gold.documents:
        raise AnynerError(f"{corpus}: holds no document to score on")
    seen = read_corpus(train, split="train") if train else None

    from anyner.api import evaluate as evaluate_model
    from anyner.evaluation.report import render
    from anyner.evaluation.slices import surface_forms

    recognizer = load_model(model, device)
    _tell_unknown_labels(gold, recognizer.config.labels)
    measured = evaluate_model(
        recognizer,
        gold,
        train_surfaces=surface_forms(seen.documents) if seen else None,
        watched=Progress(sys.stderr.isatty()).counted,
        **choices,
    )
    report = json_text(measured.to_json(), indent=2) + "\n" if as_json else render(_with_printable_labels(measured))
    write_out(output, lambda file: file.write(report))


def _with_printable_labels(measured: Evaluation) -> Evaluation:
    return replace(measured, labels={printable(label): score for label, score in measured.labels.items()})


def _tell_unknown_labels(gold: Corpus, known: Collection[str]) -> None:
    unknown = Counter(e.label for document in gold for e in document.entities if e.label not in known)
    if unknown:
        named = ", ".join(f"{label} ({count})" for label, count in unknown.most_common())
        say(f"labels that the model does not know count as missed: {named}", err=True)
