"""Plots the figures of the pages from benchmarks/results/*.json, as SVG files in docs/figures. Needs `anyner[plots]`.

python benchmarks/plots.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from results import SHAPES, Result, Results, read_results, scored, slice_f1
from script import RESULTS, ROOT, parser_of

FIGURES = ROOT / "docs/figures"
SMALL, ALL_SHAPES = "minilm", "genia_disc"
"""The encoder of the plots over all architectures, and the corpus of the plot by shape."""
INK, ACCENT, PALE = "#1f2937", "#2563eb", "#bfdbfe"


def offsets(result: Result, path: Path) -> None:
    """Figure 3 of Locate and Label: how far the regressor moves boundaries."""
    counts = result["offsets"]
    figure, axes = plt.subplots(figsize=(5.2, 2.6))
    bars = axes.bar(list(counts), list(counts.values()), color=ACCENT, width=0.6)
    axes.bar_label(bars, fmt="{:,.0f}", color=INK, fontsize=8, padding=2)
    axes.set(xlabel="words a boundary was moved by", ylabel="boundaries")
    save(figure, axes, path)


def lengths(result: Result, path: Path) -> None:
    """Table 2 of Locate and Label: F1 by length; lengths without a seed in training are pale."""
    rows = result["lengths"]
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    colours = [ACCENT if row["seed_in_training"] else PALE for row in rows]
    f1 = [100 * row["f1"] for row in rows]
    bars = axes.bar([row["length"] for row in rows], f1, color=colours, edgecolor=ACCENT, width=0.7)
    axes.bar_label(bars, labels=[f"{row['gold']:,}" for row in rows], color=INK, fontsize=7, padding=2)
    axes.set(xlabel="words (numbers: gold entities; pale: no seed had this length in training)", ylabel="strict F1, %")
    axes.set_ylim(0, 105)
    save(figure, axes, path)


def steps_and_spans(result: Result, path: Path) -> None:
    """Figures 3 and 4 of DiffusionNER: F1 and speed by denoising steps, a line for each number of spans."""
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
    save(figure, panels[0], path)


def refinement(result: Result, path: Path) -> None:
    """The noise that a prediction starts from, then the spans after each denoising step; a thick line is many equal spans."""
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
    save(figure, axes, path)


def growth(result: Result, path: Path) -> None:
    """The entities of a sentence, each a line through its words; dashed over words that are not its own."""
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
    save(figure, axes, path)


def f1_by_shape(results: Results, path: Path) -> None:
    """F1 by shape, every architecture with the small encoder, on a corpus that has all shapes."""
    runs = {key[0]: own for key, own in scored(results).items() if key[1:] == (SMALL, ALL_SHAPES)}
    if not runs:
        return
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    width = 0.8 / len(runs)
    for place, (architecture, own) in enumerate(sorted(runs.items())):
        f1 = [[slice_f1(group, name, run) or 0.0 for run in own] for group, name in SHAPES.values()]
        shade = _shade(place, len(runs))
        axes.bar(
            [x + place * width for x in range(len(f1))], [100 * mean(one) for one in f1], width, label=architecture, color=shade
        )
    axes.set_xticks([x + 0.4 - width / 2 for x in range(len(SHAPES))], list(SHAPES))
    axes.set(ylabel="strict F1, %", ylim=(0, 100))
    axes.legend(fontsize=7, frameon=False, ncols=3)
    save(figure, axes, path)


def bulk(result: Result, path: Path) -> None:
    """Rate and memory of one long run of `anyner predict`, by documents done."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 2.6))
    rates = result["documents_a_second_by_tenths"]
    panels[0].bar(range(1, len(rates) + 1), rates, color=ACCENT, width=0.7)
    panels[0].set(xlabel="tenth of the documents", ylabel="documents a second")
    curve = result["curve"]
    panels[1].plot([point["documents"] / 1000 for point in curve], [point["megabytes"] for point in curve], color=ACCENT)
    panels[1].set(xlabel="thousand documents", ylabel="memory, MB", ylim=(0, None))
    panels[1].spines[["top", "right"]].set_visible(False)
    save(figure, panels[0], path)


def _shade(place: int, number: int) -> Any:
    """The colour of an architecture, from dark to light."""
    return mpl.colormaps["viridis"](0.1 + 0.8 * place / max(number - 1, 1))


def save(figure: Any, axes: Any, path: Path) -> None:
    """Writes the figure; the same results give the same bytes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path.relative_to(ROOT))


PLOTS = (
    ("locate_label", "-offsets", offsets),
    ("locate_label", "-lengths", lengths),
    ("diffusion", "", steps_and_spans),
    ("refinement", "", refinement),
    ("growth", "", growth),
    ("bulk", "", bulk),
)
"""The kind of a results file, the suffix of the plot's file name, and the plot."""


def main() -> None:
    parser_of(__doc__).parse_args()
    mpl.rcParams.update({"svg.hashsalt": "anyner", "font.size": 9, "axes.labelsize": 8})
    results = read_results(RESULTS)
    for name, result in results:
        for what, ending, plot in PLOTS:
            if result["what"] == what:
                plot(result, FIGURES / f"{Path(name).stem}{ending}.svg")
    f1_by_shape(results, FIGURES / "f1-by-shape.svg")


if __name__ == "__main__":
    main()
