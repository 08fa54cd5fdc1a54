"""An evaluation as plain aligned text: for a terminal, a log or a file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap

from anyner.evaluation.evaluate import Evaluation
from anyner.evaluation.scores import Average, Score
from anyner.evaluation.slices import Slice

_HEADINGS = ("", "P", "R", "F1", "correct", "predicted", "gold")
_SLICE_TITLES = {
    "length": "length {} words",
    "fragments": "fragments {}",
    "gap": "gap {} words",
    "depth": "nesting depth {}",
    "shape": "{}",
    "discontinuous": "discontinuous {}",
    "surface": "{} in training",
}


def render(evaluation: Evaluation) -> str:
    """The readable report: headline, scenarios and averages, labels, slices, causes of errors. Ratios in percent."""
    blocks = [
        _headline(evaluation),
        _table([_HEADINGS, *_summary_rows(evaluation)]),
        _table([("label", *_HEADINGS[1:]), *starmap(_score_row, evaluation.labels.items())]),
        _table([("slice", "P", "R", "F1", "right", "predicted", "found", "gold"), *map(_slice_row, evaluation.slices)]),
        _table([("error", "cases"), *((cause.value, str(count)) for cause, count in evaluation.causes.items())]),
    ]
    return "\n\n".join(blocks) + "\n"


def _headline(evaluation: Evaluation) -> str:
    strict, interval = evaluation.strict, evaluation.interval
    lines = [
        f"strict micro F1 {_percent(strict.f1)} (95 % interval {_percent(interval.low)} to {_percent(interval.high)}); "
        f"documents: {evaluation.documents}; gold entities: {strict.gold}"
    ]
    if evaluation.unjudged:
        lines.append(f"predictions not scored, as their document does not annotate their label: {evaluation.unjudged}")
    return "\n".join(lines)


def _summary_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    scenarios, ends = evaluation.scenarios, evaluation.right_boundary
    return [
        _score_row("strict (micro)", scenarios.strict),
        ("strict, macro", *_ratios(evaluation.macro), "", "", ""),
        ("strict, weighted", *_ratios(evaluation.weighted), "", "", ""),
        _score_row("boundary (exact)", scenarios.exact),
        _score_row("type (ent_type)", scenarios.ent_type),
        _score_row("partial", scenarios.partial),
        _score_row("lenient_ends", evaluation.lenient_ends),
        ("right boundary: accuracy", _percent(ends.accuracy), "", "", str(ends.both_right), str(ends.left_right), ""),
        ("right boundary: recall", "", _percent(ends.recall), "", str(ends.ends_found), "", str(ends.gold_ends)),
    ]


def _score_row(name: str, score: Score) -> tuple[str, ...]:
    return (name, *_ratios(score), f"{score.correct:.1f}".removesuffix(".0"), str(score.predicted), str(score.gold))


def _slice_row(part: Slice) -> tuple[str, ...]:
    counts = (str(part.right), str(part.predicted), str(part.found), str(part.gold))
    return (_SLICE_TITLES[part.group].format(part.name), *_ratios(part), *counts)


def _ratios(measured: Score | Average | Slice) -> tuple[str, str, str]:
    return _percent(measured.precision), _percent(measured.recall), _percent(measured.f1)


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with aligned columns, the first to the left and the others to the right, and a rule under the headings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
