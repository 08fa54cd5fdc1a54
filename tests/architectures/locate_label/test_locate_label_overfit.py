"""Eight nested sentences can be learned by heart, through the same door as every architecture."""

from pathlib import Path

from by_heart import learned_by_heart

from anyner.evaluation.scores import Score


def test_eight_sentences_are_learned_by_heart(tmp_path: Path) -> None:
    learned = learned_by_heart(tmp_path, "locate_label", {}, epochs=10, enough=0.95)
    assert learned.best_f1 >= 0.95
    recognizer, documents = learned.recognizer, learned.documents
    found = list(recognizer.stream([document.text for document in documents], batch_tokens=64))
    total = Score(0, 0, 0)
    for gold, one in zip(documents, found, strict=True):
        keys, expected = {e.key for e in one.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & expected), len(keys), len(expected))
    assert total.f1 == learned.best_f1
