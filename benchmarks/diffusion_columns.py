"""What the tables about steps, spans and noise of diffusion_ner show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from rows import Kind, Result, each, every, percent


def _spans(result: Result) -> Iterable[Result]:
    """F1 of one number of spans over the steps."""
    if result["what"] != "diffusion":
        return []
    points = result["curves"]
    own = {spans: [point for point in points if point["spans"] == spans] for spans in sorted({p["spans"] for p in points})}
    return [
        {
            "spans": spans,
            "f1": {point["steps"]: point["f1"] for point in of_these},
            "seconds": {point["steps"]: 1 / point["sentences_per_second"] for point in of_these},
        }
        for spans, of_these in own.items()
    ]


def _steps(steps: int, row: Result) -> str:
    return percent(row["f1"].get(steps))


def _rate(steps: int, row: Result) -> str:
    return f"{1 / row['seconds'][steps]:,.0f}" if steps in row["seconds"] else ""


def _step_more(row: Result) -> str:
    """What a step more costs, on the mean from the fewest steps to the most, as a share of the whole with the fewest."""
    few, many = min(row["seconds"]), max(row["seconds"])
    return percent((row["seconds"][many] - row["seconds"][few]) / (many - few) / row["seconds"][few]) if many > few else ""


DIFFUSION: Mapping[str, Kind] = {
    "denoising": Kind(
        _spans,
        {
            "spans": lambda row: str(row["spans"]),
            **{f"{steps} steps" if steps > 1 else "1 step": partial(_steps, steps) for steps in (1, 2, 5, 10, 20)},
        },
    ),
    "steps": Kind(
        _spans,
        {
            "spans": lambda row: str(row["spans"]),
            **{
                f"{steps} steps, sentences/s" if steps > 1 else "1 step, sentences/s": partial(_rate, steps)
                for steps in (1, 5, 10)
            },
            "a step more, %": _step_more,
        },
    ),
    "noise": Kind(
        every("diffusion"),
        {
            "seeds of noise": lambda r: str(len(r["seeds"]["f1"])),
            "mean F1": lambda r: percent(r["seeds"]["mean"]),
            "spread": lambda r: percent(r["seeds"]["spread"]),
        },
    ),
    "swap": Kind(
        each("diffusion", "swap"),
        {
            "noise, steps": lambda row: str(row["step"] + 1),
            "followed, %": lambda row: percent(row["followed"]),
            "stayed, %": lambda row: percent(row["stayed"]),
            "unchanged, %": lambda row: percent(row["unchanged"]),
        },
    ),
}
