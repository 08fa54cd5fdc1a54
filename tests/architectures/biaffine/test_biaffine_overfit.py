"""A model that cannot overfit eight sentences is broken somewhere between text and loss."""

from pathlib import Path

from overfitting import overfit

from anyner.evaluation.scores import Score


def test_eight_sentences_can_be_overfitted(tmp_path: Path) -> None:
    learned = overfit(tmp_path, "biaffine", {}, epochs=12)
    assert sum(len(document.entities) for document in learned.documents) > 25
    assert learned.best_f1 == 1.0
    recognizer, documents = learned.recognizer, learned.documents
    total = Score(0, 0, 0)
    for gold, found in zip(documents, recognizer.stream([document.text for document in documents]), strict=True):
        keys, expected = {e.key for e in found.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & expected), len(keys), len(expected))
    assert total.f1 == learned.best_f1
