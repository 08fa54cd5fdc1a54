"""The tables of the papers' analyses: diffusion_ner, locate_label, and set_gner compared with its rival."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from results import Result, Table, one_row, percent, row_list


def mebibytes(size: float) -> str:
    return f"{size / 2**20:,.1f}"


def _curves(result: Result) -> Iterable[Result]:
    """A row for each number of spans: F1 and seconds a sentence, by the number of denoising steps."""
    if result["what"] != "diffusion":
        return []
    points = result["curves"]
    by_spans = {spans: [point for point in points if point["spans"] == spans] for spans in sorted({p["spans"] for p in points})}
    return [
        {
            "spans": spans,
            "f1": {point["steps"]: point["f1"] for point in curve},
            "seconds": {point["steps"]: 1 / point["sentences_per_second"] for point in curve},
        }
        for spans, curve in by_spans.items()
    ]


def _f1_at(steps: int, row: Result) -> str:
    return percent(row["f1"].get(steps))


def _rate_at(steps: int, row: Result) -> str:
    return f"{1 / row['seconds'][steps]:,.0f}" if steps in row["seconds"] else ""


def _extra_step(row: Result) -> str:
    """Mean cost of one more step, as a share of the time with the fewest steps."""
    few, many = min(row["seconds"]), max(row["seconds"])
    return percent((row["seconds"][many] - row["seconds"][few]) / (many - few) / row["seconds"][few]) if many > few else ""


def _step_count(steps: int) -> str:
    return f"{steps} steps" if steps > 1 else "1 step"


def _length_f1(name: str, group: Result) -> str:
    f1 = group["f1"][name]
    return percent(f1["mean"]) + (f" ± {percent(f1['spread'])}" if group["seeds"] > 1 else "")


def _found(name: str, group: Result) -> str:
    """The share of the gold entities that was found, mean of the seeds."""
    recall = group["f1"][name]["recall"]
    return percent(sum(recall) / len(recall), 1)


def _p_value(group: Result) -> str:
    p = group["f1"]["10+"].get("p")
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _models(result: Result) -> Iterable[Result]:
    """The models of one comparison, each together with the first one, which is the rival."""
    if result["what"] != "generation":
        return []
    rival = next(iter(result["models"].values()))
    return [{"architecture": name, "rival": rival, **model} for name, model in result["models"].items()]


def _speed_up(group: str, model: Result) -> str:
    """Sentences a second, and how many times the rival's speed that is."""
    own, rival = (
        {"all": one["sentences_per_second"], **one["sentences_per_second_of"]}.get(group) for one in (model, model["rival"])
    )
    return f"{own:,.0f} ({own / rival:.1f} x)" if own and rival else ""


DIFFUSION_NER: Mapping[str, Table] = {
    "denoising": Table(
        _curves,
        {
            "spans": lambda row: str(row["spans"]),
            **{_step_count(steps): partial(_f1_at, steps) for steps in (1, 2, 5, 10, 20)},
        },
    ),
    "steps": Table(
        _curves,
        {
            "spans": lambda row: str(row["spans"]),
            **{f"{_step_count(steps)}, sentences/s": partial(_rate_at, steps) for steps in (1, 5, 10)},
            "a step more, %": _extra_step,
        },
    ),
    "noise": Table(
        one_row("diffusion"),
        {
            "seeds of noise": lambda r: str(len(r["seeds"]["f1"])),
            "mean F1": lambda r: percent(r["seeds"]["mean"]),
            "spread": lambda r: percent(r["seeds"]["spread"]),
        },
    ),
    "swap": Table(
        row_list("diffusion", "swap"),
        {
            "noise, steps": lambda row: str(row["step"] + 1),
            "followed, %": lambda row: percent(row["followed"]),
            "stayed, %": lambda row: percent(row["stayed"]),
            "unchanged, %": lambda row: percent(row["unchanged"]),
        },
    ),
}
LOCATE_LABEL: Mapping[str, Table] = {
    "lengths": Table(
        row_list("lengths", "groups"),
        {
            "models": lambda group: group["name"],
            "seeds": lambda group: str(group["seeds"]),
            "all": partial(_length_f1, "all"),
            **{f"{name} words": partial(_length_f1, name) for name in ("1-4", "5-9", "10+")},
            "p, 10+": _p_value,
            **{f"found, {name}": partial(_found, name) for name in ("11-20", "21+")},
        },
    ),
    "locate_label": Table(
        one_row("locate_label"),
        {
            **{f"moved by {far}": partial(lambda far, r: f"{r['offsets'][far]:,}", far) for far in ("0", "1", "2", "3", "4+")},
            "seeds past the filter, an entity": lambda r: f"{r['seeds_passed_per_entity']:.1f}",
            "different spans, an entity": lambda r: f"{r['spans_per_entity']:.1f}",
        },
    ),
}
SET_GNER: Mapping[str, Table] = {
    "generation": Table(
        _models,
        {
            "architecture": lambda model: model["architecture"],
            "test F1": lambda model: percent(model["f1"]),
            "overlapped recall": lambda model: percent(model["overlapped_recall"]),
            "discontinuous F1": lambda model: percent(model["discontinuous_f1"]),
            "right boundary, accuracy": lambda model: percent(model["right_boundary"]["accuracy"]),
            "right boundary, recall": lambda model: percent(model["right_boundary"]["recall"]),
            "sentences/s": partial(_speed_up, "all"),
            "short ones": partial(_speed_up, "short"),
            "long ones": partial(_speed_up, "long"),
        },
    ),
    "beams": Table(
        row_list("generation", "beams"),
        {
            "beam": lambda row: str(row["beam"]),
            "test F1": lambda row: percent(row["f1"]),
            "overlapped recall": lambda row: percent(row["overlapped_recall"]),
            "discontinuous F1": lambda row: percent(row["discontinuous_f1"]),
            "sentences/s": lambda row: f"{row['sentences_per_second']:,.0f}",
        },
    ),
}
