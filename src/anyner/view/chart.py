"""Small charts as SVG: curves and bars, written directly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, inf, isfinite, log10

from anyner.view.drawing import advance, visible
from anyner.view.svg import framed

Range = tuple[float, float]
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 16, 56, 40
_WIDTH, _HEIGHT = 440, 270
COLOURS = (5, 9, 3, 6, 1, 7, 4, 8, 2, 0)
"""Palette colours in the order in which curves take them, the most distinct first."""
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MOST_MARKS = 40
_MOST_DECADES = 1e9


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axis:
    title: str
    range: Range | None = None
    """Default: fitted to the values."""
    log: bool = False
    whole: bool = False
    """Tick marks at whole numbers only."""
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """The SVG elements of one chart, and its size."""

    title: str
    body: str
    width: int = _WIDTH
    height: int = _HEIGHT

    def svg(self) -> str:
        return stacked([self])


def stacked(charts: Sequence[Chart]) -> str:
    """An SVG file of charts, one below the other."""
    parts, y = [], 0
    for chart in charts:
        parts.append(f'<g transform="translate(0 {y})">\n{chart.body}\n</g>')
        y += chart.height
    return framed("\n".join(parts), max(chart.width for chart in charts), y, "; ".join(chart.title for chart in charts))


def line_chart(
    title: str,
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    *,
    mark: float | None = None,
    diagonal: bool = False,
    width: int = _WIDTH,
    height: int = _HEIGHT,
) -> Chart:
    """Curves over one pair of axes; `mark` highlights a value on x, `diagonal` draws the line y = x."""
    points = [point for curve in curves for point in curve.points]
    across = _Scale(x, [one for one, _ in points], _LEFT, width - _RIGHT)
    up = _Scale(y, [other for _, other in points], height - _BOTTOM, _TOP)
    parts = [*_frame(title, across, up, width, height)]
    if diagonal:
        low, high = max(across.low, up.low), min(across.high, up.high)
        ends = f'x1="{across(low):.1f}" y1="{up(low):.1f}" x2="{across(high):.1f}" y2="{up(high):.1f}"'
        parts.append(f'<line class="guide" {ends} stroke-width="1" stroke-dasharray="4"/>')
    if mark is not None:
        place = f"{across(mark):.1f}"
        parts.append(f'<line class="grid" x1="{place}" x2="{place}" y1="{_TOP}" y2="{height - _BOTTOM}" stroke-width="6"/>')
    legend_x = float(_LEFT)
    for number, curve in enumerate(curves):
        colour, dash = COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]
        path = " ".join(f"{across(one):.1f},{up(other):.1f}" for one, other in curve.points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline class="c{colour} curve" points="{path}" stroke-width="2" stroke-linejoin="round"{dashed}/>')
        if len(curve.points) <= _MOST_MARKS:
            parts += [
                f'<circle class="c{colour}" cx="{across(one):.1f}" cy="{up(other):.1f}" r="2.5"><title>'
                f"{escape(visible(curve.name))}: {one:g}, {other:.4g}</title></circle>"
                for one, other in curve.points
            ]
        if len(curves) > 1:
            name = _shortened(curve.name)
            ends = f'x1="{legend_x:.0f}" x2="{legend_x + 18:.0f}" y1="40" y2="40"'
            parts.append(f'<line class="c{colour}" {ends} stroke-width="2"{dashed}/>')
            parts.append(_text(name, legend_x + 22, 44, 11, kind="ink", anchor="start"))
            legend_x += 36 + sum(map(advance, name)) * 11 / 1000
    return Chart(title, "\n".join(parts), width, height)


def bar_chart(
    title: str, bars: Sequence[tuple[str, float, str]], x_title: str, width: int = _WIDTH, height: int = _HEIGHT
) -> Chart:
    """Bars from 0 to 100 percent, each given by its name, its ratio and a small note under the name."""
    up = _Scale(Axis("", (0.0, 100.0)), [], height - _BOTTOM - 12, _TOP - 10)
    across = _Scale(Axis(x_title, (0.0, float(max(len(bars), 1))), marked=False), [], _LEFT, width - _RIGHT)
    parts = [*_frame(title, across, up, width, height)]
    for number, (name, ratio, note) in enumerate(bars):
        left, right, top = across(number + 0.15), across(number + 0.85), up(100 * ratio)
        middle, base = (left + right) / 2, up(0)
        parts += [
            f'<rect class="c{COLOURS[0]} tag" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{base - top:.1f}">'
            f"<title>{escape(visible(name))}: {100 * ratio:.2f} %, {escape(note)}</title></rect>",
            _text(f"{100 * ratio:.0f}", middle, top - 4, 10, kind="ink"),
            _text(name, middle, base + 13, 11, kind="ink"),
            _text(note, middle, base + 25, 9),
        ]
    return Chart(title, "\n".join(parts), width, height)


class _Scale:
    """Maps values to pixels; has a few round tick marks."""

    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float) -> None:
        finite = [value for value in values if isfinite(value) and (value > 0 or not axis.log)]
        self.axis, self._start, self._end = axis, start, end
        low, high = axis.range or (min(finite, default=float(axis.log)), max(finite, default=1.0))
        if axis.log:
            low = max(low, high / _MOST_DECADES)
            low, high = 10 ** floor(log10(low) + 1e-9), 10 ** ceil(log10(high) - 1e-9)
        elif axis.range is None and not axis.whole:
            room = (high - low) * 0.05
            low, high = (0.0 if 0 <= low < (high - low) else low - room), high + room
        self.low, self.high = low, high if high > low else (10 * low if axis.log else low + 1)

    def __call__(self, value: float) -> float:
        if self.axis.log:
            share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + min(max(share, 0.0), 1.0) * (self._end - self._start)

    def marks(self) -> list[float]:
        if not self.axis.marked:
            return []
        if self.axis.log:
            steps = range(round(log10(self.low)), round(log10(self.high)) + 1)
            return [10.0**step for step in steps][:: max(1, len(steps) // 6)]
        wish = (self.high - self.low) / 5
        power = 10.0 ** floor(log10(wish)) if wish > 0 else 1.0
        step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= wish - 1e-12)
        if self.axis.whole:
            step = max(1.0, float(ceil(step)))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def _text(text: str, x: float, y: float, size: int, *, kind: str = "dim", anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(visible(text))}</text>'


def _frame(title: str, across: _Scale, up: _Scale, width: int, height: int) -> list[str]:
    """The title, and the grid lines, tick labels and titles of both axes."""
    parts = [f'<g font-weight="600">{_text(title, _LEFT, 22, 14, kind="ink", anchor="start")}</g>']
    base = up(up.low)
    for mark in up.marks():
        y = up(mark)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(f"{mark:g}", _LEFT - 6, y + 3.5, 10, anchor="end"))
    parts += [_text(f"{mark:g}", across(mark), base + 15, 10) for mark in across.marks()]
    parts.append(_text(across.axis.title, (_LEFT + width - _RIGHT) / 2, height - 8, 11))
    if up.axis.title:
        middle = (base + up(up.high)) / 2
        parts.append(f'<g transform="translate(12 {middle:.0f}) rotate(-90)">{_text(up.axis.title, 0, 0, 11)}</g>')
    return parts


def _shortened(name: str) -> str:
    shown = " ".join(visible(name).split())
    return shown if len(shown) <= 24 else shown[:23] + "…"


def spread(values: Sequence[float]) -> float:
    """The largest over the smallest positive value: above about 30, a logarithmic axis is easier to read."""
    positive = [value for value in values if value > 0 and isfinite(value)]
    return max(positive) / min(positive) if positive else (inf if values else 1.0)
