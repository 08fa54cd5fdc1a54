"""An evaluation, or two side by side, as one HTML file that needs no network: figures, charts, and every error to browse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TextIO

from anyner.document import Document, Entity, unchecked_entity
from anyner.evaluation.bootstrap import Interval
from anyner.evaluation.compare import Outcome, PairedEvaluation
from anyner.evaluation.curves import OTHER, Bin, calibration_error, label_confusion, reliability, threshold_curve
from anyner.evaluation.errors import Cause
from anyner.evaluation.evaluate import Evaluation
from anyner.evaluation.match import Pair
from anyner.evaluation.report import (
    HEADINGS,
    SLICE_HEADINGS,
    count,
    named,
    percent,
    score_row,
    slice_row,
    slice_title,
    summary_rows,
)
from anyner.evaluation.scores import NOTHING
from anyner.evaluation.slices import Slice
from anyner.fragments import Fragment, Fragments
from anyner.view.chart import Axis, Chart, Curve, bar_chart, line_chart
from anyner.view.drawing import on_lines, visible
from anyner.view.html import Legend, Segment, environment, layout, plain

_CONTEXT, _LONGEST = 80, 1200
"""Most characters shown on either side of an error, and in all."""
Key = tuple[str, Fragments]
_MOST_CONFUSED = 24
MEANINGS = {
    Cause.TYPE: "fragments right, label wrong",
    Cause.SPLIT: "one gold entity predicted as several",
    Cause.MERGED: "several gold entities predicted as one",
    Cause.FRAGMENT_LOST: "some fragments of a discontinuous entity are missing",
    Cause.BOUNDARY: "label right, fragments overlap but differ",
    Cause.BOUNDARY_AND_TYPE: "fragments overlap but differ, label wrong",
    Cause.MISSED: "gold entity without a prediction",
    Cause.SPURIOUS: "prediction without a gold entity",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; the first column has names, or labels if `labels` is set."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    labels: bool = False


@dataclass(frozen=True, slots=True)
class Heat:
    """A confusion matrix: how often the label of a row was predicted as the label of a column."""

    labels: Sequence[str]
    counts: dict[tuple[str, str], int]
    left_out: int
    """Number of labels that are rarer than all shown."""

    def share(self, row: str, column: str) -> float:
        return self.counts.get((row, column), 0) / (sum(self.counts.get((row, one), 0) for one in self.labels) or 1)


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows."""

    title: str
    subtitle: str
    headline: Sequence[tuple[str, str]]
    kinds: Sequence[tuple[str, int, str]]
    """Kinds of cases: name, count, meaning."""
    cases: Sequence[dict[str, Any]]
    legend: Legend
    sides: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    heat: Heat | None = None

    @property
    def data(self) -> dict[str, Any]:
        """What the script of the page reads."""
        return {"sides": self.sides, "labels": [visible(label) for label in self.legend], "cases": self.cases}


def write_report(evaluation: Evaluation, file: TextIO, title: str = "Evaluation", subtitle: str = "") -> None:
    """The page of one evaluation."""
    strict, legend = evaluation.strict, Legend()
    charts, notes = _charts(evaluation)
    cases = list(_error_cases(evaluation, legend))
    headline = [
        (percent(strict.f1), f"strict micro F1, 95 % interval {_interval(evaluation.interval)}"),
        (percent(strict.precision), f"precision: {count(strict.correct)} of {strict.predicted:,} predictions correct"),
        (percent(strict.recall), f"recall: {count(strict.correct)} of {strict.gold:,} gold entities found"),
        (f"{len(cases):,}", f"errors in {evaluation.documents:,} documents"),
    ]
    if evaluation.unjudged:
        notes.append(f"{evaluation.unjudged:,} predictions are not scored: their document does not annotate their label.")
    _write(
        Page(
            title,
            subtitle,
            headline,
            [(cause.value, number, MEANINGS[cause]) for cause, number in evaluation.causes.items() if number],
            cases,
            legend,
            ("gold", "predicted"),
            _tables(evaluation),
            charts,
            notes,
            _heat(evaluation),
        ),
        file,
    )


def write_comparison(
    paired: PairedEvaluation, file: TextIO, names: tuple[str, str], title: str = "Comparison", subtitle: str = ""
) -> None:
    """The page of two systems on the same documents."""
    a, b, test, legend = paired.a, paired.b, paired.test, Legend()
    cases = list(_difference_cases(paired, legend))
    headline = [
        (percent(a.strict.f1), f"A: strict micro F1, 95 % interval {_interval(a.interval)}"),
        (percent(b.strict.f1), f"B: strict micro F1, 95 % interval {_interval(b.interval)}"),
        (
            f"{100 * test.difference:+.2f}",
            f"A minus B, 95 % interval {_interval(test.interval)}; paired bootstrap p = {test.p_value:.3f}",
        ),
        (f"{len(cases):,}", f"differences; both found {paired.both_found:,} gold entities, both missed {paired.both_missed:,}"),
    ]
    kinds = [(outcome.value, number, "") for outcome, number in paired.outcomes.items() if number]
    tables = [_paired_labels(paired), _paired_slices(paired)]
    notes = [f"A: {names[0]}", f"B: {names[1]}"]
    _write(Page(title, subtitle, headline, kinds, cases, legend, ("gold", "A", "B"), tables, (), notes), file)


def _write(page: Page, file: TextIO) -> None:
    for chunk in environment().get_template("report.html").generate(page=page):
        file.write(chunk)


# Errors with the text around them


@dataclass(frozen=True, slots=True)
class _Case:
    document: int
    kind: str
    entities: tuple[Entity, ...]
    summary: str
    """One line."""


def _error_cases(evaluation: Evaluation, legend: Legend) -> Iterator[dict[str, Any]]:
    cases = [
        _Case(case.document, case.cause.value, case.gold + case.predicted, " → ".join(map(_summary, (case.gold, case.predicted))))
        for case in evaluation.errors
    ]
    return _browsable(cases, [evaluation.pairs], legend)


def _difference_cases(paired: PairedEvaluation, legend: Legend) -> Iterator[dict[str, Any]]:
    cases = [_Case(one.document, one.outcome.value, (one.entity,), _summary((one.entity,))) for one in paired.differences]
    return _browsable(cases, [paired.a.pairs, paired.b.pairs], legend)


def _summary(entities: Sequence[Entity]) -> str:
    return named(entities, positions=False)


def _browsable(cases: Iterable[_Case], systems: Sequence[Sequence[Pair]], legend: Legend) -> Iterator[dict[str, Any]]:
    """Every case as the page's script reads it: kind, labels, position, and a drawing for each side."""
    for number, group in groupby(cases, key=lambda case: case.document):
        own, pair = list(group), systems[0][number]
        text = pair.document.text
        windows = [_window(text, case.entities) for case in own]
        sides = [pair.gold, *(system[number].predicted for system in systems)]
        shown = [[tuple(one) for one in on_lines(windows, side)] for side in sides]
        excerpts: dict[Fragment, list[_Excerpt]] = {}  # neighbouring errors often have the same window
        for place, (case, window) in enumerate(zip(own, windows, strict=True)):
            if window not in excerpts:
                excerpts = {
                    window: [
                        _Excerpt(text, window, [side[one] for one in at[place]], legend)
                        for side, at in zip(sides, shown, strict=True)
                    ]
                }
            stressed = {_inside(entity, *window) for entity in case.entities}
            yield {
                "kind": case.kind,
                "labels": sorted({visible(entity.label) for entity in case.entities}),
                "id": visible(pair.document.id) or f"document {number + 1}",
                "at": min(entity.start for entity in case.entities),
                "said": visible(case.summary),
                "sides": [excerpt.drawn(stressed) for excerpt in excerpts[window]],
            }


def _window(text: str, entities: Sequence[Entity]) -> tuple[int, int]:
    """The stretch of text around some entities: a few words on either side, within their lines."""
    first, last = min(entity.start for entity in entities), max(entity.end for entity in entities)
    last = min(last, first + _LONGEST - 2 * _CONTEXT)
    start = max(text.rfind("\n", 0, first) + 1, first - _CONTEXT)
    line_end = text.find("\n", last)
    end = min(line_end if line_end >= 0 else len(text), last + _CONTEXT)
    if start > 0 and text[start - 1] != "\n" and (blank := text.find(" ", start, first)) >= 0:
        start = blank + 1
    if end < len(text) and text[end] != "\n" and (blank := text.rfind(" ", last, end)) >= 0:
        end = blank
    return start, max(end, start)


def _inside(entity: Entity, start: int, end: int) -> Key:
    """Label and fragments of the visible part of an entity, relative to `start`."""
    fragments = tuple(
        (max(one, start) - start, min(other, end) - start) for one, other in entity.fragments if one < end and other > start
    )
    return entity.label, fragments


class _Excerpt:
    """The drawing of a window, with … where its line goes on."""

    def __init__(self, text: str, window: Fragment, entities: Iterable[Entity], legend: Legend) -> None:
        start, end = window
        seen = [(_inside(entity, start, end), entity.score) for entity in entities]
        kept = [unchecked_entity(label, fragments, score) for (label, fragments), score in seen if fragments]
        document = Document(text[start:end]).with_entities(kept)
        self._keys = [entity.key for entity in document.entities]
        self._lines = layout(document, legend)
        if start > 0 and text[start - 1] != "\n":
            self._lines[0].insert(0, Segment("… " if text[start - 1].isspace() else "…", [], []))
        if text[end : end + 1].strip("\n"):
            self._lines[-1].append(Segment(" …" if text[end].isspace() else "…", [], []))

    def drawn(self, stressed: set[Key]) -> list[Any]:
        """As the page's script reads it; entities that the case is not about are faint."""
        return plain(self._lines, {number for number, key in enumerate(self._keys) if key in stressed})


# Figures


def _charts(evaluation: Evaluation) -> tuple[list[Chart], list[str]]:
    charts, notes = [], []
    if curve := threshold_curve(evaluation.pairs):
        parts = {"precision": "precision", "recall": "recall", "F1": "f1"}
        curves = [
            Curve(name, [(one.threshold, 100 * getattr(one.score, key)) for one in curve if one.score.predicted])
            for name, key in parts.items()
        ]
        x = Axis("score threshold", (curve[0].threshold if len(curve) > 1 else 0.0, 1.0))
        charts.append(line_chart("Precision and recall over thresholds", curves, x, Axis("percent", (0.0, 100.0))))
        charts.append(reliability_chart({"precision": reliability(evaluation.pairs)}))
    elif evaluation.strict.predicted:
        notes.append("The predictions have no scores: no curves over thresholds and no reliability plot.")
    for group, title, what in (
        ("length", "F1 by length", "words of the entity"),
        ("depth", "F1 by nesting depth", "entities around it"),
    ):
        parts_of = [part for part in evaluation.slices if part.group == group and part.gold]
        charts.append(bar_chart(title, [(part.name, part.f1, f"{part.gold:,} gold") for part in parts_of], what))
    return charts, notes


def reliability_chart(curves: Mapping[str, Sequence[Bin]]) -> Chart:
    """Precision by score, a curve for each name; on the dashed line the two are equal."""
    errors = " → ".join(f"{calibration_error(bins):.3f}" for bins in curves.values())
    drawn = [Curve(name, [(one.mean_score, one.precision) for one in bins]) for name, bins in curves.items()]
    x, y = Axis("mean score", (0.0, 1.0)), Axis("precision", (0.0, 1.0))
    return line_chart(f"Reliability (calibration error {errors})", drawn, x, y, diagonal=True)


def _heat(evaluation: Evaluation) -> Heat | None:
    counts = label_confusion(evaluation.labels, evaluation.errors)
    if len(evaluation.labels) < 2:
        return None
    frequent = Counter({label: score.gold + score.predicted for label, score in evaluation.labels.items()})
    labels = sorted(label for label, _ in frequent.most_common(_MOST_CONFUSED))
    return Heat([*labels, OTHER], counts, len(frequent) - len(labels))


def _tables(evaluation: Evaluation) -> list[Table]:
    labels = [score_row(label, score) for label, score in evaluation.labels.items()]
    return [
        Table("Labels", ("label", *HEADINGS[1:]), labels, labels=True),
        Table("Softer scores and averages", HEADINGS, summary_rows(evaluation)),
        Table("Slices", SLICE_HEADINGS, [slice_row(part) for part in evaluation.slices]),
    ]


def _paired_labels(paired: PairedEvaluation) -> Table:
    only = Counter((one.entity.label, one.outcome) for one in paired.differences)
    rows = []
    for label in sorted(paired.a.labels.keys() | paired.b.labels.keys()):
        one, other = paired.a.labels.get(label, NOTHING), paired.b.labels.get(label, NOTHING)
        counts = (f"{only[label, outcome]:,}" for outcome in Outcome)
        rows.append((label, percent(one.f1), percent(other.f1), f"{100 * (one.f1 - other.f1):+.2f}", f"{one.gold:,}", *counts))
    headings = (
        "label",
        "F1 of A",
        "F1 of B",
        "A minus B",
        "gold",
        "only A found",
        "only B found",
        "only A wrong",
        "only B wrong",
    )
    return Table("Labels", headings, rows, labels=True)


def _paired_slices(paired: PairedEvaluation) -> Table:
    sides = [{(part.group, part.name): part for part in side.slices} for side in (paired.a, paired.b)]
    rows = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        one, other = (side.get(key, Slice(*key, 0, 0, 0, 0)) for side in sides)
        gold = max(one.gold, other.gold)
        rows.append((slice_title(one), percent(one.f1), percent(other.f1), f"{100 * (one.f1 - other.f1):+.2f}", f"{gold:,}"))
    return Table("Slices", ("slice", "F1 of A", "F1 of B", "A minus B", "gold"), rows)


def _interval(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"
