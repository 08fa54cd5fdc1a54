"""Fifty sentences with entities of all shapes are learned by heart."""

from pathlib import Path

from by_heart import learned_by_heart

from anyner.evaluation.evaluate import evaluate_documents


def test_fifty_sentences_of_all_shapes_are_learned_by_heart(tmp_path: Path) -> None:
    learned = learned_by_heart(tmp_path, "nag_ner", {}, epochs=120, patience=25, contiguous=False)
    assert learned.best_f1 == 1.0
    found = learned.recognizer.predict([document.text for document in learned.documents])
    assert evaluate_documents(learned.documents, found).strict.f1 == 1.0
