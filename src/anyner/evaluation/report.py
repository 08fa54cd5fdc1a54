"""An evaluation as plain aligned text: for a terminal, a log or a file."""

from __future__ import annotations

from collections.abc import Sequence

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
        _table([("label", *_HEADINGS[1:]), *(_score_row(label.label, label.score) for label in evaluation.labels)]),
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
        _average_row("strict, macro", evaluation.macro),
        _average_row("strict, weighted", evaluation.weighted),
        _score_row("boundary (exact)", scenarios.exact),
        _score_row("type (ent_type)", scenarios.ent_type),
        _score_row("partial", scenarios.partial),
        _score_row("lenient_ends", evaluation.lenient_ends),
        ("right boundary: accuracy", _percent(ends.accuracy), "", "", str(ends.both_right), str(ends.left_right), ""),
        ("right boundary: recall", "", _percent(ends.recall), "", str(ends.ends_found), "", str(ends.gold_ends)),
    ]


def _score_row(name: str, score: Score) -> tuple[str, ...]:
    ratios = (_percent(score.precision), _percent(score.recall), _percent(score.f1))
    return (
        name,
        *ratios,
        f"{score.correct:.1f}".removesuffix(".0"),
        str(score.predicted),
        str(score.gold),
    )


def _average_row(name: str, average: Average) -> tuple[str, ...]:
    return (name, _percent(average.precision), _percent(average.recall), _percent(average.f1), "", "", "")


def _slice_row(part: Slice) -> tuple[str, ...]:
    ratios = (_percent(part.precision), _percent(part.recall), _percent(part.f1))
    counts = (str(part.right), str(part.predicted), str(part.found), str(part.gold))
    return (_SLICE_TITLES[part.group].format(part.name), *ratios, *counts)


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with aligned columns, the first to the left and the others to the right, and a rule under the headings."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
