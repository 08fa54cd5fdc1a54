"""Writes the tables of README.md, benchmarks/README.md and docs/*.md from benchmarks/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; NAME is a key of TABLES or SUMMARIES below. `column=value`
after the name keeps the rows with this value and drops the column, as in `<!-- table: speed architecture=set_gner -->`.
The example texts of a bundled model stand between `<!-- texts: MODEL -->` and `<!-- end -->`.

python benchmarks/tables.py            writes them
python benchmarks/tables.py --check    fails if a page differs from the results
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import mean, stdev
from typing import TypeVar

from papers.tables import DIFFUSION_NER, LOCATE_LABEL, SET_GNER, mebibytes
from results import (
    CORPORA,
    LENGTHS,
    SHAPES,
    Columns,
    Key,
    Result,
    Results,
    Table,
    architecture_of,
    corpus_of,
    encoder_of,
    one_row,
    percent,
    read_results,
    recipe_value,
    row_list,
    scored,
    slice_f1,
    slice_size,
    timed,
)
from script import RESULTS, ROOT, parser_of

PAGES = (
    "README.md",
    "benchmarks/README.md",
    "benchmarks/runs.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")),
)
_TABLE = re.compile(r"(<!-- table: (\w+)((?: [^\s=]+=[^\s=]+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
_TEXTS = re.compile(r"(<!-- texts: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NOTHING = "No results yet.\n"
SECOND = "second-freeze"
"""Folder of the matrix cells that were trained with rules frozen later; they replace the matrix when they are complete."""
FEW = 100
"""Number of training sentences in the table of few sentences."""
Row = Mapping[str, str]
Found = TypeVar("Found")


# Cells of tables in which a row comes from one results file.


def _device(result: Result) -> str:
    return str(result["machine"]["device"])


def _interval(result: Result) -> str:
    low, high = result["test"]["strict_f1_interval"]
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _of_cell(name: str, result: Result) -> str:
    return str(result["cell"][name])


def _of_presets(result: Result) -> Iterable[Result]:
    return [result] if result["what"] == "accuracy" and _has_preset(result) else []


def _has_preset(result: Result) -> bool:
    return recipe_value(result, "head", "preset") is not None


def _disagreement(counts: Mapping[str, float]) -> str:
    return f"{counts['found_by_one']:,} of {counts['entities']:,} entities"


def _bundled(result: Result) -> Iterable[Result]:
    """A row for each corpus that a bundled model was scored on."""
    if result["what"] != "bundled":
        return []
    return [{"model": result["name"], "bytes": result["bytes"], **scores} for scores in result["corpora"]]


def _tenths(key: str, scores: Result) -> str:
    return percent(scores.get(key), 1)


def _whole_f1(joined_by: str, scores: Result) -> str:
    return "" if not scores.get("whole") else percent(scores["whole"][joined_by]["f1"], 1)


def _whole_crossing(joined_by: str, scores: Result) -> str:
    """Entities across the end of a sentence, and how many of them are names that the corpus itself cuts there."""
    if not (read := (scores.get("whole") or {}).get(joined_by)):
        return ""
    return f"{read['crossing']} ({read['cut_names']} cut names)" if read["crossing"] else "0"


def _document_row(read: str, joined_by: str | None, model: Result) -> Result | None:
    return next((row for row in model["rows"] if (row["read"], row["joined_by"]) == (read, joined_by)), None)


def _document_f1(read: str, joined_by: str | None, model: Result) -> str:
    row = _document_row(read, joined_by, model)
    return "" if row is None else percent(row["f1"], 1)


def _document_crossing(joined_by: str, model: Result) -> str:
    row = _document_row("whole documents", joined_by, model)
    return "" if row is None else f"{row['crossing']:,}"


def _windows(result: Result) -> Iterable[Result]:
    """A row for each window size and each way to cut the corpus into texts."""
    if result["what"] != "windows":
        return []
    ways = {"documents": "each document", "one_text": "all as one text"}
    about = {"model": result["model"], "corpus": result["corpus"]}
    return [{**about, "read": read, **row} for way, read in ways.items() for row in result[way]]


_MODEL: Columns = {
    "corpus": corpus_of,
    "architecture": architecture_of,
    "encoder": encoder_of,
    "seed": lambda r: str(r["seed"]),
}
_DEV: Columns = {"dev F1": lambda r: percent(r["dev_f1"])}
TABLES: Mapping[str, Table] = {
    "trainings": Table(
        one_row("matrix"),
        {
            **{name: partial(_of_cell, name) for name in ("corpus", "architecture", "preset", "encoder", "seed")},
            "quality": partial(_of_cell, "quality"),
            "sentences": lambda r: str(r["cell"]["sentences"] or "all"),
            **_DEV,
            "test F1": lambda r: percent(r["test"]["strict"]["f1"]),
            "95 % interval": _interval,
            "best epoch": lambda r: str(r["best_epoch"]),
            "training, s": lambda r: f"{r['training_seconds']:,.0f}",
            "rules of": lambda r: r["commit"],
            "device": _device,
        },
    ),
    "presets": Table(
        _of_presets,
        {
            "architecture": architecture_of,
            "preset": lambda r: str(recipe_value(r, "head", "preset")),
            "epochs": lambda r: str(r["epochs"]),
            **_DEV,
        },
    ),
    "speed": Table(
        one_row("speed"),
        {
            "corpus": lambda r: r["corpus"],
            "architecture": lambda r: "+".join([r["architecture"], *([r["preset"]] if "preset" in r else [])]),
            "encoder": lambda r: r["encoder"],
            "documents": lambda r: f"{r['documents']:,}",
            "device ratio": lambda r: f"{r['device_ratio']:.2f}",
            "end to end, sentences/s": lambda r: f"{r['end_to_end_sentences_per_second']:,.0f}",
            "end-to-end ratio": lambda r: f"{r['end_to_end_ratio']:.2f}",
            "device": _device,
        },
    ),
    "memory": Table(
        one_row("memory"),
        {
            "words": lambda r: " / ".join(f"{one['words']:,}" for one in r["documents"]),
            "coverage": lambda r: " / ".join(f"{one['coverage']:g}" for one in r["documents"]),
            "beyond text and entities, MiB": lambda r: " / ".join(mebibytes(one["beyond_bytes"]) for one in r["documents"]),
            "growth, MiB": lambda r: mebibytes(r["growth_beyond_bytes"]),
            "device": _device,
        },
    ),
    "agreement": Table(
        one_row("agreement"),
        {
            "documents": lambda r: f"{r['documents']:,}",
            "float32, other batches": lambda r: _disagreement(r["float32_between_batches"]),
            "bfloat16, other batches": lambda r: _disagreement(r["bfloat16_between_batches"]),
            "bfloat16 against float32": lambda r: _disagreement(r["bfloat16_against_float32"]),
            "device": _device,
        },
    ),
    "calibration": Table(
        one_row("calibration"),
        {
            "architecture": lambda r: r["architecture"],
            "F1": lambda r: percent(r["test"]["as before"]["f1"], 1),
            "error before": lambda r: f"{r['test']['as before']['calibration_error']:.3f}",
            "after": lambda r: f"{r['test']['scores only']['calibration_error']:.3f}",
            "precision": lambda r: percent(r["test"]["precision"]["precision"], 1),
            "recall": lambda r: percent(r["test"]["precision"]["recall"], 1),
        },
    ),
    "latency": Table(
        row_list("one sentence", "models"),
        {
            "model": lambda costs: f"`{costs['name']}`",
            "times its encoder": lambda costs: f"{costs['ratio']:.2f}",
            "at least": lambda costs: f"{costs['by_sentence'][0]['ratio']:.2f}",
            "at most": lambda costs: f"{costs['by_sentence'][-1]['ratio']:.2f}",
            "milliseconds": lambda costs: f"{costs['milliseconds']:.0f}",
            "loads in, s": lambda costs: f"{costs['load_seconds']:.1f}",
        },
    ),
    "bundled": Table(
        _bundled,
        {
            "model": lambda scores: f"`{scores['model']}`",
            "corpus": lambda scores: scores["corpus"],
            "documents": lambda scores: f"{scores['documents']:,}",
            "F1": partial(_tenths, "f1"),
            "discontinuous F1": partial(_tenths, "discontinuous_f1"),
            "F1 in lower case": partial(_tenths, "lower"),
            "F1 in upper case": partial(_tenths, "upper"),
            "whole documents, blank": partial(_whole_f1, "blank"),
            "whole documents, line break": partial(_whole_f1, "line break"),
            "across sentence ends, blank": partial(_whole_crossing, "blank"),
            "across sentence ends, line break": partial(_whole_crossing, "line break"),
            "size, MB": lambda scores: f"{scores['bytes'] / 1e6:.1f}",
        },
    ),
    "documents": Table(
        row_list("documents", "models"),
        {
            "corpus": lambda model: model["corpus"],
            "part": lambda model: model["part"],
            "architecture": lambda model: model["architecture"],
            "trained on": lambda model: model.get("trained_on", ""),
            "sentence by sentence": partial(_document_f1, "sentence by sentence", None),
            "three, blank": partial(_document_f1, "three sentences", "blank"),
            "ten, blank": partial(_document_f1, "ten sentences", "blank"),
            "whole, blank": partial(_document_f1, "whole documents", "blank"),
            "whole, line break": partial(_document_f1, "whole documents", "line break"),
            "whole, empty line": partial(_document_f1, "whole documents", "empty line"),
            "across ends, blank": partial(_document_crossing, "blank"),
            "across ends, line break": partial(_document_crossing, "line break"),
        },
    ),
    "windows": Table(
        _windows,
        {
            "model": lambda row: f"`{row['model']}`",
            "corpus": lambda row: row["corpus"],
            "read": lambda row: row["read"],
            "window, pieces": lambda row: f"{row['window']}",
            "F1": lambda row: percent(row["f1"], 1),
            "entities": lambda row: f"{row['entities']:,}",
            "only here": lambda row: f"{row['only_here']:,}",
            "only with 512": lambda row: f"{row['only_with_the_largest']:,}",
        },
    ),
    **DIFFUSION_NER,
    **LOCATE_LABEL,
    **SET_GNER,
}


# Tables over many results files, with means over seeds.


def mean_and_spread(f1: list[float]) -> str:
    """Mean in percent, standard deviation and number of seeds; just the score if there is one seed."""
    if len(f1) < 2:
        return "".join(percent(one, 1) for one in f1)
    return f"{percent(mean(f1), 1)} ± {percent(stdev(f1), 1)} ({len(f1)})"


def _by_corpus(found: Mapping[Key, Found], cell: Callable[[Found], str]) -> list[Row]:
    """A row for each architecture and encoder, a column for each corpus."""
    rows: list[Row] = []
    for architecture, encoder in sorted({key[:2] for key in found if key[2] in CORPORA}):
        keys = {corpus: (architecture, encoder, corpus) for corpus in CORPORA}
        cells = {corpus: cell(found[key]) if key in found else "" for corpus, key in keys.items()}
        rows.append({"architecture": architecture, "encoder": encoder, **cells})
    return rows


def _by_slice(found: Mapping[Key, list[Result]], slices: Mapping[str, tuple[str, str]]) -> list[Row]:
    """A row for each corpus, encoder and architecture, a column for each slice."""
    rows: list[Row] = []
    for key in sorted(found, key=lambda key: (_place(key[2]), key[1], key[0])):
        runs, (architecture, encoder, corpus) = found[key], key
        cells = {
            name: mean_and_spread([f1 for run in runs if (f1 := slice_f1(*one, run)) is not None]) for name, one in slices.items()
        }
        rows.append({"corpus": corpus, "encoder": encoder, "architecture": architecture, **cells})
    return rows


def matrix(results: Results) -> list[Row]:
    """Strict F1 of every architecture and encoder on every corpus."""
    return _by_corpus(scored(results), lambda runs: _f1(run["test"] for run in runs))


def yardstick(results: Results) -> list[Row]:
    """Strict F1 of the yardstick, a plain span classifier without this package, on the corpora of the matrix."""
    found: dict[Key, list[float]] = defaultdict(list)
    for result in (one for _, one in results if one["what"] == "yardstick"):
        for run in result["runs"]:
            if run["sentences"] != FEW:
                found["yardstick", run["encoder"], run["corpus"]].append(run["test_f1"])
    return _by_corpus(found, mean_and_spread)


def freezes(results: Results) -> list[Row]:
    """The effect of changed rules, over the seeds trained with both: the rules of the matrix, and those frozen later."""
    listed, later = list(results), read_results(RESULTS / SECOND)
    parts: dict[str, Callable[[Result], float | None]] = {
        "dev": itemgetter("dev_f1"),
        "test": lambda run: run["test"]["strict"]["f1"],
        "discontinuous, test": partial(slice_f1, *SHAPES["discontinuous"]),
    }
    rows: list[Row] = []
    for preset in ("default", "contiguous"):
        first, second = scored(listed, preset), scored(later, preset)
        for architecture, encoder, corpus in second:
            before = {run["cell"]["seed"]: run for run in first[architecture, encoder, corpus]}
            after = {run["cell"]["seed"]: run for run in second[architecture, encoder, corpus]}
            seeds = before.keys() & after.keys()
            cells: Row = {
                f"{part}, {name}": mean_and_spread([score for seed in seeds if (score := f1(runs[seed])) is not None])
                for part, f1 in parts.items()
                for name, runs in {"first": before, "second": after}.items()
            }
            name = architecture if preset == "default" else f"{architecture}, contiguous only"
            rows.append({"corpus": corpus, "architecture": name, **cells})
    return sorted(rows, key=lambda row: (_place(row["corpus"]), row["architecture"]))


def few_sentences(results: Results) -> list[Row]:
    """Strict F1 from few sentences: of every architecture, the yardstick, and a Hugging Face token classifier."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _, result in results:
        if result["what"] == "matrix" and result["cell"]["sentences"] == FEW:
            found[result["cell"]["architecture"], result["cell"]["corpus"]].append(result["test"]["strict"]["f1"])
        elif result["what"] == "token_classifier" and result["sentences"] == FEW:
            found["token classifier", result["corpus"]].append(result["test"]["strict"]["f1"])
        elif result["what"] == "yardstick":
            for run in (run for run in result["runs"] if run["sentences"] == FEW):
                found["yardstick", run["corpus"]].append(run["test_f1"])
    corpora, rivals = sorted({corpus for _, corpus in found}), ("token classifier", "yardstick")
    rows = sorted({name for name, _ in found}, key=lambda name: (name in rivals, name))
    return [{"architecture": name, **{corpus: mean_and_spread(found[name, corpus]) for corpus in corpora}} for name in rows]


def qualities(results: Results) -> list[Row]:
    """The effect of quality `best` and of a larger encoder, for the architecture that is best on dev."""
    listed = list(results)
    standard, best = scored(listed), scored(listed, quality="best")
    compared = {(architecture, corpus) for architecture, encoder, corpus in (*standard, *best) if encoder == "mpnet"}
    compared |= {(architecture, corpus) for architecture, _, corpus in best}
    rows: list[Row] = []
    for architecture, corpus in sorted(compared, key=lambda key: _place(key[1])):
        small, large = (architecture, "minilm", corpus), (architecture, "mpnet", corpus)
        cells = {"standard": standard[small], "best": best[small], "standard, mpnet": standard[large]}
        scores = {name: _f1(run["test"] for run in runs) for name, runs in cells.items()}
        rows.append({"corpus": corpus, "architecture": architecture, **scores})
    return rows


def methods(results: Results) -> list[Row]:
    """F1 of each published method alone, with our default settings, and of its span classifier alone."""
    listed = list(results)
    default, paper = scored(listed), scored(listed, "paper")
    rows: list[Row] = []
    for architecture, encoder, corpus in sorted(default.keys() | paper.keys(), key=lambda key: (key[0], key[1], _place(key[2]))):
        own, published = default[architecture, encoder, corpus], paper[architecture, encoder, corpus]
        alone = [run["span_classifier_alone"] for run in own if "span_classifier_alone" in run]
        cells = {"preset: paper": _f1(run["test"] for run in published), "preset: default": _f1(run["test"] for run in own)}
        about = {"architecture": architecture, "corpus": corpus, "encoder": encoder}
        rows.append({**about, **cells, "its span classifier alone": _f1(alone)})
    return rows


def fragments(results: Results) -> list[Row]:
    """The effect of the layer for discontinuous entities on architectures that predict spans."""
    listed = list(results)
    default, without = scored(listed), scored(listed, "contiguous")
    times = {"device ratio without": timed(listed, "contiguous"), "device ratio with": timed(listed)}
    rows: list[Row] = []
    for architecture, encoder, corpus in sorted(without, key=lambda key: (_place(key[2]), key[0])):
        off, on = without[architecture, encoder, corpus], default[architecture, encoder, corpus]
        discontinuous = [f1 for run in on if (f1 := slice_f1(*SHAPES["discontinuous"], run)) is not None]
        cells = {"without": _f1(run["test"] for run in off), "with": _f1(run["test"] for run in on)}
        about = {"corpus": corpus, "architecture": architecture, "encoder": encoder}
        key = (architecture, encoder, corpus)
        cost = {
            name: f"{own[key]['device_ratio']:.2f}" if key in own and key in times["device ratio without"] else ""
            for name, own in times.items()
        }
        rows.append({**about, **cells, "discontinuous": mean_and_spread(discontinuous), **cost})
    return rows


def _place(corpus: str) -> int:
    return CORPORA.index(corpus)


def _f1(scores: Iterable[Result]) -> str:
    return mean_and_spread([one["strict"]["f1"] for one in scores])


def by_shape(results: Results) -> list[Row]:
    """Strict F1 on entities of each shape, on corpora that have more than flat ones."""
    return [row for row in _by_slice(scored(results), SHAPES) if any(row[shape] for shape in SHAPES if shape != "flat")]


def by_length(results: Results) -> list[Row]:
    """Strict F1 by length in words; the first row of a corpus counts its entities, as a score on few of them says little."""
    found = scored(results)
    rows: list[Row] = []
    for (corpus, encoder), group in groupby(_by_slice(found, LENGTHS), key=itemgetter("corpus", "encoder")):
        architectures = list(group)
        run = found[architectures[0]["architecture"], encoder, corpus][0]
        sizes = {name: f"{size:,}" if (size := slice_size(*one, run)) else "" for name, one in LENGTHS.items()}
        rows += [{"corpus": corpus, "encoder": encoder, "architecture": "entities", **sizes}, *architectures]
    return rows


def rates(results: Results) -> list[Row]:
    """Sentences a second, from documents to documents."""
    return _by_corpus(timed(results), lambda one: f"{one['end_to_end_sentences_per_second']:,.0f}")


def device_ratios(results: Results) -> list[Row]:
    """Time of encoder and head over that of the encoder alone."""
    return _by_corpus(timed(results), lambda one: f"{one['device_ratio']:.2f}")


def timing_noise(results: Results) -> list[Row]:
    """Tokenising and encoding is the same work for every architecture: its longest time over its shortest."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (_, encoder, corpus), one in timed(results).items():
        found[encoder, corpus].append(one["tokenise_and_encode_seconds"])
    noise = {key: f"{max(seconds) / min(seconds):.2f}" for key, seconds in found.items()}
    encoders = sorted({encoder for encoder, _ in noise})
    return [{"encoder": encoder, **{corpus: noise.get((encoder, corpus), "") for corpus in CORPORA}} for encoder in encoders]


SUMMARIES: Mapping[str, Callable[[Results], list[Row]]] = {
    one.__name__: one
    for one in (
        matrix,
        yardstick,
        freezes,
        few_sentences,
        qualities,
        by_shape,
        by_length,
        methods,
        fragments,
        rates,
        device_ratios,
        timing_noise,
    )
}


# Pages.


def table(name: str, results: Results, only: Mapping[str, str]) -> str:
    """A table in Markdown, of the rows that have the values in `only`; empty columns are left out."""
    rows = SUMMARIES[name](results) if name in SUMMARIES else _file_rows(TABLES[name], results)
    kept = [row for row in rows if all(row[column].strip("`") == value for column, value in only.items())]
    if not kept:
        return _NOTHING
    shown = [column for column in kept[0] if column == "file" or (column not in only and any(row[column] for row in kept))]
    lines = [shown, ["---"] * len(shown), *([row[column] for column in shown] for row in kept)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _file_rows(kind: Table, results: Results) -> list[Row]:
    return [
        {**{column: cell(row) for column, cell in kind.columns.items()}, "file": f"`{file}`"}
        for file, result in results
        for row in kind.rows(result)
    ]


def texts(model: str, results: Results) -> str:
    """The example texts of a bundled model, with the entities it finds."""
    found = next(result["texts"] for _, result in results if result["what"] == "bundled" and result["name"] == model)
    return "\n".join(f"{one['name'].capitalize()}:\n\n```text\n{one['drawn']}\n```\n" for one in found)


def filled(page: str, results: Results) -> str:
    """The page with every marked table and text regenerated."""
    listed = list(results)

    def written(found: re.Match[str]) -> str:
        only = dict(part.split("=") for part in found[3].split())
        return found[1] + table(found[2], listed, only) + found[4]

    drawn = _TEXTS.sub(lambda found: found[1] + texts(found[2], listed) + found[3], page)
    return _TABLE.sub(written, drawn)


def update_pages(check: bool = False) -> list[str]:
    """Writes the pages that differ from the results, unless only checked, and names them."""
    results, stale = read_results(RESULTS), []
    for name in PAGES:
        path = ROOT / name
        page = path.read_text(encoding="utf-8")
        if (new := filled(page, results)) != page:
            stale.append(name)
            if not check:
                path.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'differs from the results' if check else 'written'}")
    return stale


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs from the results")
    check = parser.parse_args().check
    return 1 if update_pages(check) and check else 0


if __name__ == "__main__":
    sys.exit(main())
