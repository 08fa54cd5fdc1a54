"""A model that cannot learn eight sentences by heart is broken somewhere between text and loss."""

from pathlib import Path

from by_heart import learned_by_heart

from anyner.evaluation.scores import Score


def test_eight_sentences_are_learned_by_heart(tmp_path: Path) -> None:
    learned = learned_by_heart(tmp_path, "biaffine", {}, epochs=12)
    assert sum(len(document.entities) for document in learned.documents) > 25
    assert learned.best_f1 == 1.0
    recognizer, documents = learned.recognizer, learned.documents
    total = Score(0, 0, 0)
    for gold, found in zip(documents, recognizer.stream([document.text for document in documents]), strict=True):
        keys, expected = {e.key for e in found.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & expected), len(keys), len(expected))
    assert total.f1 == learned.best_f1
