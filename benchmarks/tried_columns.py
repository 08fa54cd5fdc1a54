"""What the tables of settings that were tried show: on dev, or on folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rows import ARCHITECTURE, Kind, Result, each, percent


def _tried(result: Result) -> Iterable[Result]:
    if result["what"] != "tried":
        return []
    architecture = result["everywhere"].get("architecture", ARCHITECTURE)
    return [{"architecture": architecture, **one} for one in result["tried"]]


def _changes(one: Result) -> str:
    return ", ".join(f"`{change}`" for change in one["set"]) or "nothing else"


TRIED: Mapping[str, Kind] = {
    "tried": Kind(
        _tried,
        {
            "architecture": lambda one: one["architecture"],
            "what was set": _changes,
            "dev F1": lambda one: percent(one["dev_f1"]),
            "of entities with gaps": lambda one: percent(one.get("dev_gaps_f1")),
            "best epoch": lambda one: str(one.get("best_epoch", "")),
        },
    ),
    "folds": Kind(
        each("folds", "variants"),
        {
            "what was set": _changes,
            "F1 unseen": lambda one: percent(one["score"]["f1"]),
            "of entities with gaps": lambda one: percent(one["discontinuous"]["f1"]),
            "entities with gaps": lambda one: f"{one['discontinuous']['gold']:,}",
            "epochs of the folds": lambda one: ", ".join(map(str, one["epochs_of_folds"])),
        },
    ),
}
