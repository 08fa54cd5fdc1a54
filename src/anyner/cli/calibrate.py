"""`anyner calibrate`: calibrated scores, and thresholds for a target precision or recall."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import DeviceOption, FormatOption
from anyner.cli.corpus import CORPUS_HELP, read_corpus
from anyner.cli.output import check_writable, say, table, write_out
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.evaluation.scores import Score
    from anyner.inference.calibrate import Calibrated


_FEW = 200
"""With fewer predictions, the calibration map mostly fits noise."""


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder; with -o, also a bundled name or hub id.")],
    dev: Annotated[str, typer.Argument(metavar="DEV", help=f"Gold documents that the model was not trained on. {CORPUS_HELP}")],
    *,
    precision: Annotated[
        float | None, typer.Option(metavar="P", help="Target precision, e.g. 0.9: choose the thresholds with the best recall.")
    ] = None,
    recall: Annotated[
        float | None, typer.Option(metavar="R", help="Target recall: choose the thresholds with the best precision.")
    ] = None,
    scores_only: Annotated[
        bool, typer.Option("--scores-only", help="Do not choose thresholds: the model finds the same entities as before.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a reliability diagram, before and after calibration (SVG).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Calibrate a copy and leave the model unchanged.")
    ] = None,
    format: FormatOption = None,  # noqa: A002
    device: DeviceOption = None,
) -> None:
    """Calibrate scores to probabilities and choose thresholds for F1, precision or recall.

    Both are stored in the model's config.json and replace an earlier calibration. Without --precision or --recall, the
    thresholds are chosen for F1.

    \b
    Examples:
      anyner calibrate runs/genia data/genia/dev.jsonl --precision 0.9
      anyner calibrate general-en my-dev.jsonl -o models/mine --report reliability.svg
    """
    if report is not None:
        check_writable(report, [dev])
        if report.suffix.lower() != ".svg":
            raise AnynerError(f"{report}: the reliability diagram is an SVG file: its name must end in .svg")
    gold = read_corpus(dev, format, split="dev")
    if not any(document.entities for document in gold):
        raise AnynerError(f"{dev}: has no entities to calibrate on")

    from anyner.api import calibrate as calibrate_model

    found = calibrate_model(
        model, gold, precision=precision, recall=recall, thresholds=not scores_only, output=output, device=device
    )
    _print(found)
    if found.entities < _FEW:
        say(f"{found.entities} entities are few: calibration needs about {_FEW}, right and wrong ones", err=True)
    if found.unreached:
        say(_unreached(found), err=True)
    if report is not None:
        from anyner.view.report import reliability_chart

        chart = reliability_chart({"before": found.before, "after": found.after})
        write_out(report, lambda file: file.write(chart.svg()))
        say(f"{report}: the reliability diagram", err=True)


def _print(found: Calibrated) -> None:
    calibration = found.calibration
    bias = f", bias {calibration.bias:+.3f}" if calibration.bias else ""
    say(f"temperature {calibration.temperature:.3f}{bias}, fitted on {found.entities:,} entities")
    say(f"expected calibration error {found.error_before:.3f} before, {found.error_after:.3f} after")
    least = {label: f"{value:.2f}" for label, value in calibration.thresholds.items()}
    otherwise = "unknown label" if least else "as before"
    rows = [_row(label, least.get(label, otherwise), score) for label, score in found.labels.items()]
    typer.echo("\n" + table([("label", "threshold", "P", "R", "F1", "gold"), *rows, _row("all labels", "", found.strict)]))


def _row(label: str, threshold: str, score: Score) -> tuple[str | int, ...]:
    ratios = (f"{100 * ratio:.1f}" for ratio in (score.precision, score.recall, score.f1))
    return (label, threshold, *ratios, score.gold)


def _unreached(found: Calibrated) -> str:
    goal = found.goal
    other = "recall" if goal.figure == "precision" else "precision"
    reached = [
        f"{label} {goal.lower_bound(point.score):.2f} (at {other} {getattr(point.score, other):.2f})"
        for label, point in found.unreached.items()
    ]
    return f"{goal.figure} {goal.target:g} is not reached; lower confidence bounds at the best thresholds: {', '.join(reached)}"
