"""Tables and figures over many results: means over seeds, and empty cells where there is no result."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from anyner import Document, Entity
from anyner.evaluation.evaluate import evaluate_documents

ROOT = Path(__file__).parent.parent.parent
TEXT = "pain in neck and back"
INNER, OUTER = Entity("X", ((0, 4),)), Entity("X", ((0, 12),))
GAP = Entity("X", ((8, 12), (17, 21)))


def run(
    architecture: str, corpus: str, seed: int, found: tuple[Entity, ...], *, preset: str = "default", **others: Any
) -> tuple[str, dict[str, Any]]:
    gold = Document(TEXT, (INNER, OUTER, GAP))
    test = evaluate_documents([gold], [Document(TEXT, found)]).to_json()
    cell = {"architecture": architecture, "preset": preset, "corpus": corpus, "sentences": None, "encoder": "minilm"}
    alone = evaluate_documents([gold], [Document(TEXT, (INNER,))]).to_json()
    return f"matrix-{architecture}-{corpus}-{seed}.json", {
        "what": "matrix",
        "cell": {**cell, "quality": "standard", "seed": seed, **others},
        "test": test,
        **({} if architecture == "biaffine" else {"span_classifier_alone": alone}),
    }


def speed(architecture: str, rate: float, corpus: str = "genia_disc") -> tuple[str, dict[str, Any]]:
    measured = {
        "what": "speed",
        "architecture": architecture,
        "encoder": "minilm",
        "corpus": corpus,
        "device_ratio": 1.5,
        "end_to_end_sentences_per_second": rate,
        "tokenise_and_encode_seconds": 1 / rate,
    }
    return f"speed-{architecture}.json", measured


RESULTS = [
    run("biaffine", "genia_disc", 0, (INNER, OUTER)),
    run("biaffine", "genia_disc", 1, (INNER, OUTER, GAP)),
    run("set_gner", "genia_disc", 0, (GAP,)),
    speed("biaffine", 900.0),
    speed("set_gner", 3000.0),
    speed("set_gner", 7.0, "genia_disc-train"),
]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("tables")


def test_a_row_has_the_mean_and_the_spread_over_seeds(tables: ModuleType) -> None:
    two_of_three = 100 * 2 * 2 / 5
    expected = f"{(two_of_three + 100) / 2:.1f} ± {(100 - two_of_three) / 2**0.5:.1f} (2)"
    first, second = tables.matrix(RESULTS)
    assert (first["architecture"], first["genia_disc"], first["cadec"]) == ("biaffine", expected, "")
    assert (second["architecture"], second["genia_disc"]) == ("set_gner", "50.0")


def test_a_table_has_one_procedure(tables: ModuleType) -> None:
    """Other trainings, few sentences and other presets do not enter the tables over all architectures."""
    others = [
        run("biaffine", "cadec", 0, (GAP,), preset="paper"),
        run("biaffine", "cadec", 0, (GAP,), sentences=100),
        run("biaffine", "cadec", 0, (GAP,), quality="best"),
        ("own.json", {**run("biaffine", "cadec", 0, (GAP,))[1], "what": "accuracy"}),
    ]
    for summary in (tables.matrix, tables.by_shape, tables.by_length):
        assert summary([*RESULTS, *others]) == summary(RESULTS)


def test_few_sentences_are_compared_with_the_rivals(tables: ModuleType) -> None:
    yards = [{"corpus": "cadec", "sentences": sentences, "encoder": "minilm", "test_f1": 0.4} for sentences in (100, 5340)]
    tagger = {"what": "token_classifier", "corpus": "cadec", "sentences": 100, "test": {"strict": {"f1": 0.3}}}
    few = [run("nag_ner", "cadec", seed, (GAP,), sentences=100) for seed in (0, 1)]
    results = [*RESULTS, *few, ("yardstick.json", {"what": "yardstick", "runs": yards}), ("tagger.json", tagger)]
    expected = {"nag_ner": "50.0 ± 0.0 (2)", "token classifier": "30.0", "yardstick": "40.0"}
    assert tables.few_sentences(results) == [{"architecture": name, "cadec": f1} for name, f1 in expected.items()]
    assert [row["cadec"] for row in tables.yardstick(results)] == ["40.0"]


def test_qualities_are_compared(tables: ModuleType) -> None:
    best, large = run("biaffine", "conll03", 0, (GAP,), quality="best"), run("set_gner", "genia_disc", 0, (GAP,), encoder="mpnet")
    other, small = tables.qualities([*RESULTS, best, large, run("biaffine", "conll03", 0, ())])
    told = {"corpus": "genia_disc", "architecture": "set_gner", "standard": "50.0", "best": "", "standard, mpnet": "50.0"}
    assert other == told
    assert small == {"corpus": "conll03", "architecture": "biaffine", "standard": "0.0", "best": "50.0", "standard, mpnet": ""}


def test_a_method_is_compared_with_its_paper_and_its_span_classifier(tables: ModuleType) -> None:
    results = [*RESULTS, run("set_gner", "genia_disc", 0, (), preset="paper"), run("nag_ner", "genia", 0, (), preset="paper")]
    biaffine, nag, generated = tables.methods(results)
    assert (biaffine["preset: paper"], biaffine["its span classifier alone"]) == ("", "")
    assert (generated["preset: paper"], generated["preset: default"]) == ("0.0", "50.0")
    assert generated["its span classifier alone"] == "50.0"
    assert (nag["corpus"], nag["preset: paper"], nag["preset: default"]) == ("genia", "0.0", "")


def test_fragments_are_compared_with_a_training_without_them(tables: ModuleType) -> None:
    results = [*RESULTS, run("biaffine", "genia_disc", 0, (INNER,), preset="contiguous")]
    (row,) = tables.fragments(results)
    assert (row["architecture"], row["without"], row["with"]) == ("biaffine", "50.0", tables.matrix(RESULTS)[0]["genia_disc"])
    assert row["discontinuous"].startswith("50.0")
    assert (row["device ratio without"], row["device ratio with"]) == ("", "")  # shown only if both are measured
    name, alone = speed("biaffine", 950.0)
    (row,) = tables.fragments([*results, (name, {**alone, "preset": "contiguous", "device_ratio": 1.4})])
    assert (row["device ratio without"], row["device ratio with"]) == ("1.40", "1.50")


def test_scores_by_shape(tables: ModuleType) -> None:
    biaffine, generated = tables.by_shape(RESULTS)
    assert biaffine["nested"] == "100.0 ± 0.0 (2)"
    assert generated["nested"] == "0.0"
    assert generated["discontinuous"] == "100.0"
    assert biaffine["discontinuous"].startswith("50.0")


def test_lengths_come_after_the_number_of_their_entities(tables: ModuleType) -> None:
    counts, biaffine, generated = tables.by_length(RESULTS)
    assert (counts["architecture"], counts["1"], counts["2"], counts["3"], counts["4"]) == ("entities", "1", "1", "1", "")
    assert (biaffine["architecture"], biaffine["1"]) == ("biaffine", "100.0 ± 0.0 (2)")
    assert (generated["architecture"], generated["1"], generated["2"], generated["4"]) == ("set_gner", "0.0", "100.0", "")
    assert counts["corpus"] == generated["corpus"] == "genia_disc"
    assert len(tables.by_length([*RESULTS, run("biaffine", "cadec", 0, (GAP,))])) == 5


def test_speed_is_of_the_corpora_of_the_tables(tables: ModuleType) -> None:
    first, second = tables.rates(RESULTS)
    assert (first["architecture"], first["encoder"], first["genia_disc"], first["cadec"]) == ("biaffine", "minilm", "900", "")
    assert (second["architecture"], second["genia_disc"]) == ("set_gner", "3,000")
    assert [row["genia_disc"] for row in tables.device_ratios(RESULTS)] == ["1.50", "1.50"]


def test_noise_is_the_ratio_of_times_of_the_same_work(tables: ModuleType) -> None:
    (minilm,) = tables.timing_noise(RESULTS)
    assert (minilm["encoder"], minilm["genia_disc"], minilm["cadec"]) == ("minilm", f"{3000 / 900:.2f}", "")
    assert tables.timing_noise([]) == []


def test_the_figure_over_all_architectures_is_drawn(tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    plots = import_module("plots")
    monkeypatch.setattr(plots, "ROOT", tmp_path)
    plots.f1_by_shape(RESULTS, tmp_path / "shapes.svg")
    assert "<svg" in (tmp_path / "shapes.svg").read_text(encoding="utf-8")
    plots.f1_by_shape([], tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()
