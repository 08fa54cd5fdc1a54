"""Eight nested sentences can be overfitted, trained as every architecture is."""

from pathlib import Path

from overfitting import overfit

from anyner.evaluation.scores import Score


def test_eight_sentences_can_be_overfitted(tmp_path: Path) -> None:
    learned = overfit(tmp_path, "locate_label", {}, epochs=10, until=0.95)
    assert learned.best_f1 >= 0.95
    recognizer, documents = learned.recognizer, learned.documents
    found = list(recognizer.stream([document.text for document in documents], batch_tokens=64))
    total = Score(0, 0, 0)
    for gold, one in zip(documents, found, strict=True):
        keys, expected = {e.key for e in one.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & expected), len(keys), len(expected))
    assert total.f1 == learned.best_f1
