"""Results files: how to read them, and what tables and plots take from them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyner.training.config import Recipe

CORPORA = ("genia", "genia_disc", "cadec", "conll03", "litbank", "wnut17", "bc5cdr", "weibo4")
"""The corpora of the tables over all architectures, in their order."""
ENCODERS = ("minilm", "mpnet", "uie-nano-zh")
"""The encoders of these tables."""
JOINING, DISCONTINUOUS = ("biaffine", "locate_label", "diffusion_ner"), ("genia_disc", "cadec")
"""Architectures that need a layer to join fragments into discontinuous entities, and corpora that have such entities."""
SHAPES = {
    "flat": ("shape", "flat"),
    "nested": ("shape", "nested"),
    "crossing": ("shape", "crossing"),
    "discontinuous": ("discontinuous", "mentions"),
}
LENGTHS = {name: ("length", name) for name in ("1", "2", "3", "4", "5", "6-10", "11-20", "21+")}
"""Slices of an evaluation, each as its group and name."""

Result = Mapping[str, Any]
Results = Iterable[tuple[str, Result]]
"""Names of files, with their contents."""
Columns = Mapping[str, Callable[[Any], str]]
Key = tuple[str, str, str]
"""Architecture, encoder and corpus."""


@dataclass(frozen=True)
class Table:
    """A table with rows taken from single results files."""

    rows: Callable[[Result], Iterable[Any]]
    """The rows of one results file; none if the file is about something else."""
    columns: Columns


def one_row(what: str) -> Callable[[Result], Iterable[Result]]:
    """A results file of this kind is one row."""
    return lambda result: [result] if result["what"] == what else []


def row_list(what: str, key: str) -> Callable[[Result], Iterable[Any]]:
    """A results file of this kind has a list of rows."""
    return lambda result: result.get(key, []) if result["what"] == what else []


def percent(share: float | None, decimals: int = 2) -> str:
    return "" if share is None else f"{100 * share:.{decimals}f}"


def read_results(folder: Path) -> list[tuple[str, Result]]:
    """All results files of a folder, by name."""
    read = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]
    return [(name, result) for name, result in read if isinstance(result, dict) and "what" in result]


def recipe_value(result: Result, *keys: str) -> Any:
    """What the recipe of a training sets at this key path, or None."""
    found: Any = result["recipe"]
    for key in keys:
        found = found.get(key, {})
    return None if found in ({}, "") else found


def architecture_of(result: Result) -> str:
    return str(recipe_value(result, "architecture") or Recipe.model_fields["architecture"].default)


def encoder_of(result: Result) -> str:
    source = recipe_value(result, "encoder", "source")
    return Path(str(source)).name if source else "from_scratch"


def corpus_of(result: Result) -> str:
    data = result["recipe"]["data"]
    if data.get("folder"):
        return Path(data["folder"]).name
    return "synthetic" if data.get("synthetic") is not None else named_by_files([source["path"] for source in data["train"]])


def named_by_files(paths: Sequence[str]) -> str:
    """What to call a corpus of these training files: the file's own name, or its folder's where it is only called train."""
    names = []
    for path in map(Path, paths):
        own, folder = path.name.split(".")[0], path.parent.name
        names.append(folder if own == "train" and folder else own)
    return "+".join(dict.fromkeys(names))


def name_of(result: Result) -> str:
    """architecture-corpus-encoder-seed, as results files are named."""
    return f"{architecture_of(result)}-{corpus_of(result)}-{encoder_of(result)}-seed{result['seed']}"


def slice_f1(group: str, name: str, result: Result) -> float | None:
    """F1 on a slice of the test entities; None where gold has none of them."""
    slices = (one for one in result["test"]["slices"] if (one["group"], one["name"]) == (group, name) and one["gold"])
    return next((float(one["f1"]) for one in slices), None)


def slice_size(group: str, name: str, result: Result) -> int:
    """The number of gold entities in a slice of test."""
    return sum(one["gold"] for one in result["test"]["slices"] if (one["group"], one["name"]) == (group, name))


def scored(results: Results, preset: str = "default", quality: str = "standard") -> dict[Key, list[Result]]:
    """Trainings on whole corpora with nothing set but preset and quality, scored on test; several seeds share a key."""
    found: dict[Key, list[Result]] = defaultdict(list)
    for _, result in results:
        if result["what"] == "matrix":
            cell = result["cell"]
            if (cell["preset"], cell["sentences"], cell["quality"]) == (preset, None, quality):
                found[cell["architecture"], cell["encoder"], cell["corpus"]].append(result)
    return found


def timed(results: Results, preset: str = "default") -> dict[Key, Result]:
    """Prediction speeds with the corpora and encoders of the tables."""
    own = [one for _, one in results if one["what"] == "speed" and one.get("preset", "default") == preset]
    speeds = ((one["architecture"], one["encoder"], one["corpus"], one) for one in own)
    return {(name, encoder, corpus): one for name, encoder, corpus, one in speeds if encoder in ENCODERS and corpus in CORPORA}
