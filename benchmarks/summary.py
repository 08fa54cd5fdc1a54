"""Tables that bring many results together: means over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from statistics import mean, stdev
from typing import TypeVar

from columns import TRAINED, slice_f1, slice_size
from rows import Result

CORPORA = ("genia", "genia_lf", "genia_disc", "cadec", "conll03", "litbank")
SHAPES = {
    "flat": ("shape", "flat"),
    "nested": ("shape", "nested"),
    "crossing": ("shape", "crossing"),
    "discontinuous": ("discontinuous", "mentions"),
}
LENGTHS = {name: ("length", name) for name in ("1", "2", "3", "4", "5", "6-10", "11-20", "21+")}
Slices = Mapping[str, tuple[str, str]]
Row = Mapping[str, str]
Key = tuple[str, str, str]
Found = TypeVar("Found")


def scored(results: Iterable[tuple[str, Result]]) -> dict[Key, list[Result]]:
    """Trainings that were scored on test, by architecture, encoder and corpus."""
    found: dict[Key, list[Result]] = defaultdict(list)
    for _, result in results:
        if result["what"] == "accuracy" and "test" in result:
            architecture, encoder, corpus = (TRAINED[name](result) for name in ("architecture", "encoder", "corpus"))
            found[architecture, encoder, corpus].append(result)
    return found


def mean_and_spread(f1: list[float]) -> str:
    """In percent; the spread is the standard deviation over seeds."""
    if len(f1) < 2:
        return "".join(f"{100 * one:.1f}" for one in f1)
    return f"{100 * mean(f1):.1f} ± {100 * stdev(f1):.1f} ({len(f1)})"


def matrix(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """Strict F1 of every architecture and encoder on every corpus."""
    return _over_corpora(scored(results), lambda runs: mean_and_spread([own["test"]["strict"]["f1"] for own in runs]))


def _over_corpora(found: Mapping[Key, Found], cell: Callable[[Found], str]) -> list[Row]:
    """A row for each architecture and encoder, a column for each corpus; empty where nothing was found."""
    rows = []
    for architecture, encoder in sorted({key[:2] for key in found if key[2] in CORPORA}):
        keys = {corpus: (architecture, encoder, corpus) for corpus in CORPORA}
        cells = {corpus: cell(found[key]) if key in found else "" for corpus, key in keys.items()}
        rows.append({"architecture": architecture, "encoder": encoder, **cells})
    return rows


def by_shape(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """Strict F1 on entities of each shape."""
    return _by_slice(scored(results), SHAPES)


def by_length(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """Strict F1 on entities of so many words, and in a first row for each corpus how many there are: few say little."""
    found = scored(results)
    rows: list[Row] = []
    for (corpus, encoder), group in groupby(_by_slice(found, LENGTHS), key=itemgetter("corpus", "encoder")):
        architectures = list(group)
        run = found[architectures[0]["architecture"], encoder, corpus][0]
        sizes = {name: f"{size:,}" if (size := slice_size(*one, run)) else "" for name, one in LENGTHS.items()}
        rows += [{"corpus": corpus, "encoder": encoder, "architecture": "entities", **sizes}, *architectures]
    return rows


def _by_slice(found: Mapping[Key, list[Result]], slices: Slices) -> list[Row]:
    """Corpus by corpus, so that architectures stand below each other."""
    rows = []
    for corpus, encoder, architecture in sorted((key[2], key[1], key[0]) for key in found):
        runs = found[architecture, encoder, corpus]
        cells = {
            name: mean_and_spread([f1 for run in runs if (f1 := slice_f1(*one, run)) is not None]) for name, one in slices.items()
        }
        rows.append({"corpus": corpus, "encoder": encoder, "architecture": architecture, **cells})
    return rows


def timed(results: Iterable[tuple[str, Result]]) -> dict[Key, Result]:
    """How fast models predict, by architecture, encoder and corpus, wherever there is a score on test beside it."""
    listed = list(results)
    keys = scored(listed).keys()
    speeds = [result for _, result in listed if result["what"] == "speed"]
    return {key: one for one in speeds if (key := (one["architecture"], one["encoder"], one["corpus"])) in keys}


def rates(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """Sentences a second, from documents to documents."""
    return _over_corpora(timed(results), lambda one: f"{one['end_to_end_sentences_per_second']:,.0f}")


def device_ratios(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """Encoder and head over the encoder alone."""
    return _over_corpora(timed(results), lambda one: f"{one['device_ratio']:.2f}")


def timing_noise(results: Iterable[tuple[str, Result]]) -> list[Row]:
    """The same work, cutting documents into pieces and encoding them, timed beside every architecture: longest over shortest."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (_, encoder, corpus), one in timed(results).items():
        found[encoder, corpus].append(one["tokenise_and_encode_seconds"])
    noise = {key: f"{max(seconds) / min(seconds):.2f}" for key, seconds in found.items()}
    encoders = sorted({encoder for encoder, _ in noise})
    return [{"encoder": encoder, **{corpus: noise.get((encoder, corpus), "") for corpus in CORPORA}} for encoder in encoders]


SUMMARIES: Mapping[str, Callable[[Iterable[tuple[str, Result]]], list[Row]]] = {
    "matrix": matrix,
    "by_shape": by_shape,
    "by_length": by_length,
    "rates": rates,
    "device_ratios": device_ratios,
    "timing_noise": timing_noise,
}
