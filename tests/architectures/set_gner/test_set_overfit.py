"""Four sentences with entities of all shapes can be overfitted, and a round trip through brat loses nothing."""

from pathlib import Path

import pytest
from overfitting import overfit

import anyner
from anyner.evaluation.evaluate import evaluate_documents


@pytest.mark.slow
def test_the_papers_method_can_overfit_four_sentences(tmp_path: Path) -> None:
    assert overfit(tmp_path, "set_gner", {"preset": "paper", "layers": 1}, epochs=14, contiguous=False).best_f1 == 1.0


def test_four_sentences_of_all_shapes_can_be_overfitted(tmp_path: Path) -> None:
    settings = {"layers": 1, "span_classifier": {"width": 32}}
    learned = overfit(tmp_path, "set_gner", settings, epochs=14, contiguous=False)
    shapes = [entity for document in learned.documents for entity in document.entities]
    assert sum(entity.discontinuous for entity in shapes) >= 3
    assert learned.best_f1 == 1.0
    found = learned.recognizer.predict([document.text for document in learned.documents])
    scored = evaluate_documents(learned.documents, found)
    assert scored.strict.f1 == 1.0
    names = {(one.group, one.name) for one in scored.slices}
    assert {("discontinuous", "mentions"), ("shape", "overlapped"), ("shape", "nested")} <= names
    anyner.write(found, tmp_path / "brat", "brat")
    again = {document.text: document for document in anyner.read(tmp_path / "brat")}
    for document in found:
        assert {entity.key for entity in again[document.text].entities} == {entity.key for entity in document.entities}
