"""Charts are valid SVG, stay inside their frame and escape what they show; the plot of a training shows every epoch."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.view.chart import Axis, Curve, bar_chart, line_chart
from anyner.view.training import training_picture

SVG = "{http://www.w3.org/2000/svg}"
FINITE = st.floats(-1e9, 1e9)


@given(curves=st.lists(st.lists(st.tuples(FINITE, FINITE), max_size=5), max_size=4), whole=st.booleans(), log=st.booleans())
def test_curves_stay_inside_the_frame(curves: list[list[tuple[float, float]]], whole: bool, log: bool) -> None:
    log = log and all(y > 0 for points in curves for _, y in points)
    named = [Curve(f"<{number}>\x1b", points) for number, points in enumerate(curves)]
    source = line_chart("<T>", named, Axis("x", whole=whole), Axis("y", log=log), mark=0.5, diagonal=True).svg()
    root = ElementTree.fromstring(source)
    lines = root.findall(f".//{SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [len(points) for points in curves]
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 40 <= x <= 440 and 50 <= y <= 240


def test_bars() -> None:
    root = ElementTree.fromstring(bar_chart("F1", [("1", 1.0, "3 gold"), ("<2>", 0.25, "")], "length").svg())
    heights = [float(bar.attrib["height"]) for bar in root.findall(f".//{SVG}g/{SVG}rect")]
    assert heights[0] == pytest.approx(4 * heights[1], abs=0.2)
    ElementTree.fromstring(bar_chart("none", [], "length").svg())


def record(epoch: int, f1: float | None, best: bool = False) -> str:
    scores = dict.fromkeys(("dev_precision", "dev_recall", "dev_f1"), f1)
    return json.dumps(
        {"epoch": epoch, "losses": {"a": 1 / epoch, "<b>": 100.0}, **scores, "dev_discontinuous_f1": None, "best": best}
    )


def test_a_training() -> None:
    root = ElementTree.fromstring(training_picture([record(1, 0.2, True), record(2, None), record(3, 0.6, True), record(4, 0.5)]))
    sizes = [len(line.attrib["points"].split()) for line in root.findall(f".//{SVG}polyline")]
    assert sizes == [4, 4, 3, 3, 3]
    texts = [text.text for text in root.findall(f".//{SVG}text")]
    assert "Strict scores on dev (best epoch: 3)" in texts and "<b>" in texts


@pytest.mark.parametrize("lines", [[], ["half a li", "3\n"], [record(1, None)], [record(1, 0.0)]])
def test_a_training_with_few_or_invalid_records(lines: list[str]) -> None:
    assert ElementTree.fromstring(training_picture(lines)).tag == f"{SVG}svg"
