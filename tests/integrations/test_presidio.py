from __future__ import annotations

import pytest

import anyner

CELLS = "Normal and malignant B cells express CD23 mRNA."


def test_results_are_the_fragments_of_the_entities_asked_for() -> None:
    presidio = pytest.importorskip("presidio_analyzer", reason="the extra presidio is not installed")
    from anyner.integrations.presidio import PresidioRecognizer

    ner = anyner.load("biomed-en")
    recognizer = PresidioRecognizer(ner, {"cell_type": "CELL"}, overlap="all")
    assert "CELL" in recognizer.supported_entities and "protein" in recognizer.supported_entities
    assert "cell_type" not in recognizer.supported_entities
    expected = [
        ("CELL" if entity.label == "cell_type" else entity.label, start, end, entity.score)
        for entity in ner.predict(CELLS, overlap="all").entities
        for start, end in entity.fragments
    ]
    found = [(one.entity_type, one.start, one.end, one.score) for one in recognizer.analyze(CELLS, [])]
    assert found == expected and ("CELL", 0, 6) in [one[:3] for one in found]
    assert {one.entity_type for one in recognizer.analyze(CELLS, ["CELL"])} == {"CELL"}
    registry = presidio.RecognizerRegistry(recognizers=[])
    registry.add_recognizer(recognizer)
    assert "CELL" in registry.get_supported_entities()
