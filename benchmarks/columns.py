"""What the tables of the pages show: for each kind of table, which rows a results file has for it, and their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from diffusion_columns import DIFFUSION
from document_columns import DOCUMENTS
from rows import ARCHITECTURE, Columns, Kind, Result, each, every, percent

from anyner.benchmark.accuracy import named_by_files
from anyner.training.config import TrainingConfig


def _device(result: Result) -> str:
    return str(result["machine"]["device"])


def _recipe(result: Result, *keys: str) -> Any:
    found: Any = result["recipe"]
    for key in keys:
        found = found.get(key, {})
    return found or None


def _corpus(result: Result) -> str:
    if "scored_on" in result:
        return Path(result["scored_on"]).name
    data = result["recipe"]["data"]
    if data.get("folder"):
        return Path(data["folder"]).name
    return "synthetic" if data.get("synthetic") else named_by_files([source["path"] for source in data["train"]])


def _encoder(result: Result) -> str:
    source = _recipe(result, "encoder", "source")
    return Path(str(source)).name if source else "fresh"


def _seconds(result: Result) -> str:
    """Runs that shared the machine were slowed down by each other: that is said beside the time."""
    together = result.get("runs_side_by_side", 1)
    return f"{result['training_seconds']:,.0f}" + (f" ({together} runs side by side)" if together > 1 else "")


def _interval(result: Result) -> str:
    low, high = result["test"]["strict_f1_interval"]
    return f"{100 * low:.1f} to {100 * high:.1f}"


def slice_f1(group: str, name: str, result: Result) -> float | None:
    """F1 on a part of the test entities; None where gold has none of them."""
    slices = (one for one in result["test"]["slices"] if (one["group"], one["name"]) == (group, name) and one["gold"])
    return next((float(one["f1"]) for one in slices), None)


def slice_size(group: str, name: str, result: Result) -> int:
    """The number of gold entities in a part of test."""
    return sum(one["gold"] for one in result["test"]["slices"] if (one["group"], one["name"]) == (group, name))


def _slice(group: str, name: str, result: Result) -> str:
    f1 = slice_f1(group, name, result)
    return "" if f1 is None else f"{100 * f1:.1f}"


TRAINED: Columns = {
    "corpus": _corpus,
    "architecture": lambda r: str(_recipe(r, "architecture") or ARCHITECTURE),
    "encoder": _encoder,
    "seed": lambda r: str(r["seed"]),
    "dev F1": lambda r: percent(r["dev_f1"]),
}
_TEST: Columns = {"test F1": lambda r: percent(r["test"]["strict"]["f1"])}
_TRAINING: Columns = {
    "training, s": _seconds,
    "sentences/s": lambda r: f"{r['training_sentences_per_second']:,.0f}",
    "batch": lambda r: str(_recipe(r, "training", "batch_sentences") or TrainingConfig().batch_sentences),
    "peak, GB": lambda r: f"{r['peak_gpu_bytes'] / 1e9:.1f}" if r.get("peak_gpu_bytes") else "",
    "device": _device,
}


def _trainings(scored: bool) -> Callable[[Result], Iterable[Result]]:
    return lambda result: [result] if result["what"] == "accuracy" and ("test" in result) == scored else []


def _length(name: str, group: Result) -> str:
    f1 = group["f1"][name]
    return percent(f1["mean"]) + (f" ± {percent(f1['spread'])}" if group["seeds"] > 1 else "")


def _chance(group: Result) -> str:
    p = group["f1"]["5+"].get("p")
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _million(size: float) -> str:
    return f"{size / 2**20:,.1f}"


def _disagreement(measured: Mapping[str, float]) -> str:
    return f"{measured['found_by_one']:,} of {measured['entities']:,} entities"


def _rivals(result: Result) -> Iterable[Result]:
    """Models of one comparison, each beside the speed of the first, which writes one sequence."""
    if result["what"] != "generation":
        return []
    rival = next(iter(result["models"].values()))
    return [{"architecture": name, "rival": rival, **model} for name, model in result["models"].items()]


def _times(group: str, model: Result) -> str:
    own, rival = (
        {"all": one["sentences_per_second"], **one["sentences_per_second_of"]}.get(group) for one in (model, model["rival"])
    )
    return f"{own:,.0f} ({own / rival:.1f} x)" if own and rival else ""


def _bundled(result: Result) -> Iterable[Result]:
    """A bundled model on one corpus."""
    if result["what"] != "bundled":
        return []
    return [{"model": result["name"], "bytes": result["bytes"], **scores} for scores in result["corpora"]]


def _one_sentence(result: Result) -> Iterable[Result]:
    """A bundled model on one CPU core."""
    return result["models"] if result["what"] == "one sentence" else []


def _tenths(key: str, scores: Result) -> str:
    """As in the model's card."""
    share = scores.get(key)
    return "" if share is None else f"{100 * share:.1f}"


def _whole(joined_by: str, scores: Result) -> str:
    """F1 on whole documents."""
    return "" if not scores.get("whole") else f"{100 * scores['whole'][joined_by]['f1']:.1f}"


def _across(joined_by: str, scores: Result) -> str:
    """Entities across the end of a sentence, and how many of them are names that the corpus itself cuts there."""
    if not (read := (scores.get("whole") or {}).get(joined_by)):
        return ""
    return f"{read['crossing']} ({read['cut_names']} cut names)" if read["crossing"] else "0"


KINDS: Mapping[str, Kind] = {
    **DIFFUSION,
    **DOCUMENTS,
    "bundled": Kind(
        _bundled,
        {
            "model": lambda scores: f"`{scores['model']}`",
            "corpus": lambda scores: scores["corpus"],
            "documents": lambda scores: f"{scores['documents']:,}",
            "F1": partial(_tenths, "f1"),
            "discontinuous F1": partial(_tenths, "discontinuous_f1"),
            "F1 in lower case": partial(_tenths, "lower"),
            "F1 in upper case": partial(_tenths, "upper"),
            "whole documents, blank": partial(_whole, "blank"),
            "whole documents, line break": partial(_whole, "line break"),
            "across sentence ends, blank": partial(_across, "blank"),
            "across sentence ends, line break": partial(_across, "line break"),
            "size, MB": lambda scores: f"{scores['bytes'] / 1e6:.1f}",
        },
    ),
    "one_sentence": Kind(
        _one_sentence,
        {
            "model": lambda costs: f"`{costs['name']}`",
            "times its encoder": lambda costs: f"{costs['ratio']:.2f}",
            "at least": lambda costs: f"{costs['by_sentence'][0]['ratio']:.2f}",
            "at most": lambda costs: f"{costs['by_sentence'][-1]['ratio']:.2f}",
            "milliseconds": lambda costs: f"{costs['milliseconds']:.0f}",
            "loads in, s": lambda costs: f"{costs['load_seconds']:.1f}",
        },
    ),
    "accuracy": Kind(_trainings(scored=True), {**TRAINED, **_TEST, "95 % interval": _interval, **_TRAINING}),
    "shapes": Kind(
        _trainings(scored=True),
        {
            **{name: column for name, column in TRAINED.items() if name != "dev F1"},
            **_TEST,
            "flat": partial(_slice, "shape", "flat"),
            "nested": partial(_slice, "shape", "nested"),
            "crossing": partial(_slice, "shape", "crossing"),
            "overlapped": partial(_slice, "shape", "overlapped"),
            "discontinuous": partial(_slice, "discontinuous", "mentions"),
        },
    ),
    "chosen": Kind(_trainings(scored=False), {**TRAINED, **_TRAINING}),
    "speed": Kind(
        every("speed"),
        {
            "corpus": lambda r: r["corpus"],
            "architecture": lambda r: r["architecture"],
            "encoder": lambda r: r["encoder"],
            "documents": lambda r: f"{r['documents']:,}",
            "device ratio": lambda r: f"{r['device_ratio']:.2f}",
            "end to end, sentences/s": lambda r: f"{r['end_to_end_sentences_per_second']:,.0f}",
            "end-to-end ratio": lambda r: f"{r['end_to_end_ratio']:.2f}",
            "device": _device,
        },
    ),
    "memory": Kind(
        every("memory"),
        {
            "words": lambda r: " / ".join(f"{one['words']:,}" for one in r["documents"]),
            "coverage": lambda r: " / ".join(f"{one['coverage']:g}" for one in r["documents"]),
            "beyond text and entities, MiB": lambda r: " / ".join(_million(one["beyond_bytes"]) for one in r["documents"]),
            "growth, MiB": lambda r: _million(r["growth_beyond_bytes"]),
            "device": _device,
        },
    ),
    "lengths": Kind(
        each("lengths", "groups"),
        {
            "models": lambda group: group["name"],
            "seeds": lambda group: str(group["seeds"]),
            **{
                f"{name} words" if name != "all" else "all": partial(_length, name) for name in ("all", "1-4", "5-9", "10+", "5+")
            },
            "p, 5+": _chance,
        },
    ),
    "locate_label": Kind(
        every("locate_label"),
        {
            **{f"moved by {far}": partial(lambda far, r: f"{r['offsets'][far]:,}", far) for far in ("0", "1", "2", "3", "4+")},
            "seeds past the filter, an entity": lambda r: f"{r['seeds_passed_per_entity']:.1f}",
            "different spans, an entity": lambda r: f"{r['spans_per_entity']:.1f}",
        },
    ),
    "generation": Kind(
        _rivals,
        {
            "architecture": lambda model: model["architecture"],
            "test F1": lambda model: percent(model["f1"]),
            "overlapped recall": lambda model: percent(model["overlapped_recall"]),
            "discontinuous F1": lambda model: percent(model["discontinuous_f1"]),
            "right boundary, accuracy": lambda model: percent(model["right_boundary"]["accuracy"]),
            "right boundary, recall": lambda model: percent(model["right_boundary"]["recall"]),
            "sentences/s": partial(_times, "all"),
            "short ones": partial(_times, "short"),
            "long ones": partial(_times, "long"),
        },
    ),
    "beams": Kind(
        each("generation", "beams"),
        {
            "beam": lambda row: str(row["beam"]),
            "test F1": lambda row: percent(row["f1"]),
            "overlapped recall": lambda row: percent(row["overlapped_recall"]),
            "discontinuous F1": lambda row: percent(row["discontinuous_f1"]),
            "sentences/s": lambda row: f"{row['sentences_per_second']:,.0f}",
        },
    ),
    "rows": Kind(
        each("generation", "memory"),
        {
            "rows a sentence": lambda row: str(row["rows_a_sentence"]),
            "keys and values, MiB": lambda row: _million(row["shared_bytes"]),
            "if every row had its own, MiB": lambda row: _million(row["repeated_bytes"]),
        },
    ),
    "agreement": Kind(
        every("agreement"),
        {
            "documents": lambda r: f"{r['documents']:,}",
            "float32, other batches": lambda r: _disagreement(r["float32_between_batches"]),
            "bfloat16, other batches": lambda r: _disagreement(r["bfloat16_between_batches"]),
            "bfloat16 against float32": lambda r: _disagreement(r["bfloat16_against_float32"]),
            "device": _device,
        },
    ),
}
