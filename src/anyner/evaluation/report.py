"""An evaluation as plain aligned text: for a terminal, a log or a file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap

from anyner.document import Entity
from anyner.evaluation.compare import Difference, PairedEvaluation
from anyner.evaluation.errors import ErrorCase
from anyner.evaluation.evaluate import Evaluation
from anyner.evaluation.scores import NOTHING, Average, Score
from anyner.evaluation.slices import Slice

HEADINGS = ("", "P", "R", "F1", "correct", "predicted", "gold")
SLICE_HEADINGS = ("slice", "P", "R", "F1", "right", "predicted", "found", "gold")
_LONGEST_TEXT = 120
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
        _table([HEADINGS, *summary_rows(evaluation)]),
        _table([("label", *HEADINGS[1:]), *starmap(score_row, evaluation.labels.items())]),
        _table([SLICE_HEADINGS, *map(slice_row, evaluation.slices)]),
        _table([("error", "cases"), *((cause.value, count(cases)) for cause, cases in evaluation.causes.items())]),
    ]
    return "\n\n".join(blocks) + "\n"


def _headline(evaluation: Evaluation) -> str:
    strict, interval = evaluation.strict, evaluation.interval
    lines = [
        f"strict micro F1 {percent(strict.f1)} (95 % interval {percent(interval.low)} to {percent(interval.high)}); "
        f"documents: {evaluation.documents:,}; gold entities: {strict.gold:,}"
    ]
    if evaluation.unjudged:
        lines.append(f"predictions not scored, as their document does not annotate their label: {evaluation.unjudged:,}")
    return "\n".join(lines)


def summary_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    scenarios, ends = evaluation.scenarios, evaluation.right_boundary
    return [
        score_row("strict (micro)", scenarios.strict),
        average_row("strict, macro", evaluation.macro),
        average_row("strict, weighted", evaluation.weighted),
        score_row("boundary (exact)", scenarios.exact),
        score_row("type (ent_type)", scenarios.ent_type),
        score_row("partial", scenarios.partial),
        score_row("lenient_ends", evaluation.lenient_ends),
        ("right boundary: accuracy", percent(ends.accuracy), "", "", count(ends.both_right), count(ends.left_right), ""),
        ("right boundary: recall", "", percent(ends.recall), "", count(ends.ends_found), "", count(ends.gold_ends)),
    ]


def score_row(name: str, score: Score) -> tuple[str, ...]:
    return (name, *ratios(score), count(score.correct), count(score.predicted), count(score.gold))


def average_row(name: str, average: Average) -> tuple[str, ...]:
    return (name, *ratios(average), "", "", "")


def slice_row(part: Slice) -> tuple[str, ...]:
    return (slice_title(part), *ratios(part), *map(count, (part.right, part.predicted, part.found, part.gold)))


def slice_title(part: Slice) -> str:
    return _SLICE_TITLES[part.group].format(part.name)


def error_line(case: ErrorCase) -> str:
    """One error in one line: cause, document, gold and predicted entities with their characters."""
    name = case.id or f"document {case.document + 1}"
    return f"{case.cause.value:<14} {name}: {named(case.gold)} -> {named(case.predicted)}"


def difference_line(difference: Difference) -> str:
    """One difference of two systems in one line."""
    name = difference.id or f"document {difference.document + 1}"
    return f"{difference.outcome.value:<28} {name}: {named((difference.entity,))}"


def named(entities: Sequence[Entity], positions: bool = True) -> str:
    """Label, characters, score (if it has one) and text of each entity."""
    return ", ".join(_described(entity, positions) for entity in entities) or "nothing"


def _described(entity: Entity, positions: bool) -> str:
    parts = [entity.label]
    if positions:
        parts.append(",".join(f"{start}-{end}" for start, end in entity.fragments))
    if entity.score is not None:
        parts.append(f"{entity.score:.2f}")
    text = " ".join(entity.text[:_LONGEST_TEXT].split()) + "…" * (len(entity.text) > _LONGEST_TEXT)
    return " ".join([*parts, f'"{text}"'])


def render_comparison(paired: PairedEvaluation, names: tuple[str, str]) -> str:
    """Two systems side by side: scores, the paired test, what only one of them gets right, labels."""
    test = paired.test
    systems = [("", "P", "R", "F1", "95 % interval")]
    for letter, side in (("A", paired.a), ("B", paired.b)):
        systems.append((letter, *ratios(side.strict), f"{percent(side.interval.low)} to {percent(side.interval.high)}"))
    first = (
        f"A: {names[0]}\nB: {names[1]}\n"
        f"strict micro F1 of A minus B: {100 * test.difference:+.2f} (95 % interval {100 * test.interval.low:+.2f} to "
        f"{100 * test.interval.high:+.2f}; paired bootstrap p = {test.p_value:.3f}); documents: {paired.a.documents:,}"
    )
    counts = [("both found", paired.both_found), *paired.outcomes.items(), ("both missed", paired.both_missed)]
    labels: list[tuple[str, ...]] = [("label", "F1 of A", "F1 of B", "A - B", "gold")]
    for label in sorted(paired.a.labels.keys() | paired.b.labels.keys()):
        one, other = (side.labels.get(label, NOTHING) for side in (paired.a, paired.b))
        labels.append((label, percent(one.f1), percent(other.f1), f"{100 * (one.f1 - other.f1):+.2f}", count(one.gold)))
    entities = [("entities", "number"), *((str(name), count(number)) for name, number in counts)]
    return "\n\n".join([first, _table(systems), _table(entities), _table(labels)]) + "\n"


def ratios(measured: Score | Average | Slice) -> tuple[str, str, str]:
    return percent(measured.precision), percent(measured.recall), percent(measured.f1)


def percent(ratio: float) -> str:
    return f"{100 * ratio:.2f}"


def count(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in aligned columns, the first one left-aligned and the others right-aligned, with a rule under the headings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
