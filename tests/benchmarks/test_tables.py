"""Tables and figures over many results: means over seeds, and nothing where there is no result."""

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


def run(architecture: str, corpus: str, seed: int, found: tuple[Entity, ...]) -> tuple[str, dict[str, Any]]:
    gold = Document(TEXT, (INNER, OUTER, GAP))
    test = evaluate_documents([gold], [Document(TEXT, found)]).to_json()
    recipe = {"data": {"folder": f"data/{corpus}"}, "encoder": {"source": "models/minilm"}, "architecture": architecture}
    return f"{architecture}-{corpus}-{seed}.json", {
        "what": "accuracy",
        "recipe": recipe,
        "seed": seed,
        "dev_f1": 0.5,
        "test": test,
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
    speed("biaffine", 8.0, "cadec"),
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


def test_shapes_are_told_apart(tables: ModuleType) -> None:
    biaffine, generated = tables.by_shape(RESULTS)
    assert biaffine["nested"] == "100.0 ± 0.0 (2)"
    assert generated["nested"] == "0.0"
    assert generated["discontinuous"] == "100.0"
    assert biaffine["discontinuous"].startswith("50.0")


def test_lengths_stand_below_the_number_of_their_entities(tables: ModuleType) -> None:
    counts, biaffine, generated = tables.by_length(RESULTS)
    assert (counts["architecture"], counts["1"], counts["2"], counts["3"], counts["4"]) == ("entities", "1", "1", "1", "")
    assert (biaffine["architecture"], biaffine["1"]) == ("biaffine", "100.0 ± 0.0 (2)")
    assert (generated["architecture"], generated["1"], generated["2"], generated["4"]) == ("set_gner", "0.0", "100.0", "")
    assert counts["corpus"] == generated["corpus"] == "genia_disc"
    assert len(tables.by_length([*RESULTS, run("biaffine", "cadec", 0, (GAP,))])) == 5


def test_speed_stands_where_a_score_on_test_is(tables: ModuleType) -> None:
    first, second = tables.rates(RESULTS)
    assert (first["architecture"], first["encoder"], first["genia_disc"], first["cadec"]) == ("biaffine", "minilm", "900", "")
    assert (second["architecture"], second["genia_disc"]) == ("set_gner", "3,000")
    assert [row["genia_disc"] for row in tables.device_ratios(RESULTS)] == ["1.50", "1.50"]


def test_noise_is_how_far_times_of_the_same_work_lie_apart(tables: ModuleType) -> None:
    (minilm,) = tables.timing_noise(RESULTS)
    assert (minilm["encoder"], minilm["genia_disc"], minilm["cadec"]) == ("minilm", f"{3000 / 900:.2f}", "")
    assert tables.timing_noise([]) == []


def test_figures_over_all_architectures_are_drawn(tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    plots = import_module("plots")
    monkeypatch.setattr(plots, "ROOT", tmp_path)
    for name in ("f1_and_speed", "f1_by_shape"):
        getattr(plots, name)(RESULTS, tmp_path / f"{name}.svg")
        drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert "<svg" in drawn
        getattr(plots, name)([], tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()
