"""The plot of a training: the parts of the loss and the scores on dev by epoch, from metrics.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anyner.view.chart import Axis, Chart, Curve, line_chart, spread, stacked

PICTURE = "training.svg"
_DEV = {"dev_f1": "F1", "dev_precision": "precision", "dev_recall": "recall", "dev_discontinuous_f1": "discontinuous F1"}
_WIDTH, _HEIGHT = 640, 260
_LOGARITHMIC = 30


def training_picture(lines: Iterable[str]) -> str:
    """The SVG file for the lines of metrics.jsonl; the best epoch is marked. Lines that are no records are skipped."""
    records = [record for record in map(_record, lines) if record is not None]
    return stacked([chart for chart in (_losses(records), _dev(records)) if chart is not None])


def _record(line: str) -> Mapping[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and {"epoch", "losses", "best"} <= record.keys() else None


def _losses(records: Sequence[Mapping[str, Any]]) -> Chart:
    names = list(dict.fromkeys(name for record in records for name in record["losses"]))
    curves = [
        Curve(name, [(record["epoch"], record["losses"][name]) for record in records if name in record["losses"]])
        for name in names
    ]
    values = [value for curve in curves for _, value in curve.points]
    positive = all(value > 0 for value in values)
    y = Axis("loss", log=positive and spread(values) > _LOGARITHMIC)
    shown = curves if len(curves) > 1 else [Curve("loss", curve.points) for curve in curves]
    return line_chart("Training loss", shown, Axis("epoch", whole=True), y, width=_WIDTH, height=_HEIGHT)


def _dev(records: Sequence[Mapping[str, Any]]) -> Chart | None:
    curves = []
    for key, name in _DEV.items():
        points = [(record["epoch"], 100 * record[key]) for record in records if record.get(key) is not None]
        if points:
            curves.append(Curve(name, points))
    if not curves:
        return None
    best = next((record["epoch"] for record in reversed(records) if record["best"]), None)
    title = "Strict scores on dev" + ("" if best is None else f" (best epoch: {best})")
    epochs = (records[0]["epoch"], max(records[-1]["epoch"], records[0]["epoch"] + 1))
    x = Axis("epoch", range=epochs, whole=True)
    return line_chart(title, curves, x, Axis("percent"), mark=best, width=_WIDTH, height=_HEIGHT)
