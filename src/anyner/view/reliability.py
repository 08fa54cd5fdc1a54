"""The reliability plot: how often predictions are right, over what their scores say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyner.evaluation.curves import Bin, calibration_error
from anyner.view.chart import Axis, Chart, Curve, line_chart


def reliability_chart(curves: Mapping[str, Sequence[Bin]]) -> Chart:
    """One curve or several, by name; on the dashed line a score is the probability of being right."""
    errors = " → ".join(f"{calibration_error(bins):.3f}" for bins in curves.values())
    drawn = [Curve(name, [(one.mean_score, one.precision) for one in bins]) for name, bins in curves.items()]
    x, y = Axis("mean score", (0.0, 1.0)), Axis("precision", (0.0, 1.0))
    return line_chart(f"Reliability (calibration error {errors})", drawn, x, y, diagonal=True)
