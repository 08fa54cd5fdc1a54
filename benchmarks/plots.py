"""Draws the figures of the pages from benchmarks/results/*.json, as SVG files in docs/figures. Needs `anyner[plots]`.

python benchmarks/plots.py
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/figures"
INK, ACCENT, PALE = "#1f2937", "#2563eb", "#bfdbfe"


def offsets(result: dict[str, Any], path: Path) -> None:
    """Figure 3 of Locate and Label: how far boundaries were moved."""
    counts = result["offsets"]
    figure, axes = plt.subplots(figsize=(5.2, 2.6))
    bars = axes.bar(list(counts), list(counts.values()), color=ACCENT, width=0.6)
    axes.bar_label(bars, fmt="{:,.0f}", color=INK, fontsize=8, padding=2)
    axes.set(xlabel="words a boundary was moved by", ylabel="boundaries")
    finished(figure, axes, path)


def lengths(result: dict[str, Any], path: Path) -> None:
    """Table 2 of Locate and Label: F1 by length, lengths that no seed had in training set apart."""
    rows = result["lengths"]
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    colours = [ACCENT if row["seed_in_training"] else PALE for row in rows]
    f1 = [100 * row["f1"] for row in rows]
    bars = axes.bar([row["length"] for row in rows], f1, color=colours, edgecolor=ACCENT, width=0.7)
    axes.bar_label(bars, labels=[f"{row['gold']:,}" for row in rows], color=INK, fontsize=7, padding=2)
    axes.set(xlabel="words (numbers: gold entities; pale: no seed had this length in training)", ylabel="strict F1, %")
    axes.set_ylim(0, 105)
    finished(figure, axes, path)


def steps_and_spans(result: dict[str, Any], path: Path) -> None:
    """Figures 3 and 4 of DiffusionNER: F1 and speed over denoising steps, one line for each number of spans."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 2.9))
    every = sorted({point["spans"] for point in result["curves"]})
    for place, spans in enumerate(every):
        own = [point for point in result["curves"] if point["spans"] == spans]
        steps = [point["steps"] for point in own]
        shade = mpl.colormaps["viridis"](0.9 - 0.8 * place / max(len(every) - 1, 1))
        panels[0].plot(steps, [100 * point["f1"] for point in own], "o-", color=shade, markersize=3, label=f"{spans} spans")
        panels[1].plot(steps, [point["sentences_per_second"] for point in own], "o-", color=shade, markersize=3)
    panels[0].set(xlabel="denoising steps", ylabel="strict F1, %")
    panels[1].set(xlabel="denoising steps", ylabel="sentences a second", ylim=(0, None))
    panels[0].legend(fontsize=7, frameon=False)
    panels[1].spines[["top", "right"]].set_visible(False)
    finished(figure, panels[0], path)


def convergence(result: dict[str, Any], path: Path) -> None:
    """Development F1 after every epoch, one line for each variant."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for place, row in enumerate(result["variants"]):
        shade = mpl.colormaps["viridis"](0.9 - 0.8 * place / max(len(result["variants"]) - 1, 1))
        epochs = range(1, len(row["dev_f1"]) + 1)
        axes.plot(epochs, [100 * f1 for f1 in row["dev_f1"]], "o-", color=shade, markersize=3, label=row["name"])
    axes.set(xlabel="epoch", ylabel="development F1, %", ylim=(0, 100))
    axes.legend(fontsize=7, frameon=False)
    finished(figure, axes, path)


def refinement(result: dict[str, Any], path: Path) -> None:
    """The noise a prediction starts from, and below it the answers of each denoising step; thick: many spans are alike."""
    words, steps = result["words"], result["steps"]
    rows = [("noise", steps[0]["spans"])]
    rows += [(f"answers of step {number}", step["answers"]) for number, step in enumerate(steps, 1)]
    figure, axes = plt.subplots(figsize=(7.6, 5.0))
    for row, (_, spans) in enumerate(rows):
        for place, (first, last, count) in enumerate(spans):
            height = -row - 0.85 * (place + 0.5) / len(spans)
            ends, thickness = [first - 0.35, max(first, last) + 0.35], 0.5 + 0.35 * count
            axes.plot(ends, [height] * 2, color=ACCENT if row else "#9ca3af", linewidth=thickness, solid_capstyle="butt")
        axes.axhline(-row - 0.93, color="#e5e7eb", linewidth=0.8)
    axes.set_xticks(range(len(words)), words, rotation=35, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks([-row - 0.45 for row in range(len(rows))], [name for name, _ in rows])
    axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-len(rows), 0.1))
    axes.spines[["bottom", "left"]].set_visible(False)
    finished(figure, axes, path)


def growth(result: dict[str, Any], path: Path) -> None:
    """The entities of a sentence, each a line through its words; dashed where it passes over words that are not its own."""
    words, entities = result["words"], result["entities"]
    figure, axes = plt.subplots(figsize=(7.6, 0.7 + 0.34 * len(entities)))
    for row, entity in enumerate(entities):
        own = entity["words"]
        for one, following in pairwise(own):
            near = following == one + 1
            axes.plot(
                [one, following],
                [-row] * 2,
                color=ACCENT if near else PALE,
                linewidth=2.2,
                linestyle="-" if near else (0, (2, 1.4)),
            )
        axes.plot(own[:1], [-row], "o", color=ACCENT, markersize=8)
        axes.plot(own[1:], [-row] * len(own[1:]), "o", color=ACCENT, markersize=4.5, markerfacecolor="white")
    axes.set_xticks(range(len(words)), words, rotation=35, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks([-row for row in range(len(entities))], [entity["label"] for entity in entities])
    axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-len(entities) + 0.4, 0.6))
    axes.spines[["bottom", "left"]].set_visible(False)
    finished(figure, axes, path)


def finished(figure: Any, axes: Any, path: Path) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path.relative_to(ROOT))


DRAWN = (
    ("locate_label", "-offsets", offsets),
    ("locate_label", "-lengths", lengths),
    ("diffusion", "", steps_and_spans),
    ("variants", "", convergence),
    ("refinement", "", refinement),
    ("growth", "", growth),
)


def main() -> None:
    mpl.rcParams.update({"svg.hashsalt": "anyner", "font.size": 9, "axes.labelsize": 8})
    for file in sorted((ROOT / "benchmarks/results").glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        for what, ending, draw in DRAWN:
            if result["what"] == what:
                draw(result, FIGURES / f"{file.stem}{ending}.svg")


if __name__ == "__main__":
    main()
