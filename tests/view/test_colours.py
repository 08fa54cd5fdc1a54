"""Colours are stable per label, legible, and distinguishable with colour blindness."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from anyner.view.colours import PALETTE, colour_of

Array = npt.NDArray[np.float64]
# Machado, Oliveira and Fernandes (2009): linear RGB as seen with each kind of colour blindness.
SEEN = {
    "all colours": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


def linear(colour: str) -> Array:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722])) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def oklab(colour: Array) -> Array:
    lab: Array = TO_LAB @ np.cbrt(TO_CONES @ np.clip(colour, 0, 1))
    return lab


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_any_two_colours_are_distinguishable(seen: str, ground: str) -> None:
    colours = [oklab(SEEN[seen] @ linear(getattr(colour, ground))) for colour in PALETTE]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(colours, 2)) > 0.065


def test_labels_are_legible_on_their_background() -> None:
    for colour in PALETTE:
        assert contrast(colour.light, "#ffffff") >= 4.5
        assert contrast(colour.dark, "#1b1d21") >= 4.5


def test_a_label_has_the_same_colour_in_every_process() -> None:
    labels = ["PER", "場所", "\udcff", ""]
    code = f"from anyner.view.colours import colour_of; print([colour_of(label).number for label in {labels!a}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([colour_of(label).number for label in labels])
    assert colour_of("PER").number == 4  # a change of the hash would change every page


@pytest.mark.parametrize(
    "labels",
    [
        "PER ORG LOC MISC",
        "protein DNA RNA cell_type cell_line",
        "Symptom BodyPart Person Organisation Place Drug",
        "Chemical Disease",
    ],
)
def test_well_known_labels_do_not_share_colours(labels: str) -> None:
    assert len({colour_of(label) for label in labels.split()}) == len(labels.split())
