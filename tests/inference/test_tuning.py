"""Tuned thresholds: the best of the candidates where the scores are plain, never worse than the defaults anywhere."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from anyner.architectures.settings import Decoding, Threshold
from anyner.document import Document, Entity
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import Score
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuner
from anyner.text.align import WordEntity


def strict(recognizer: Recognizer, gold: Sequence[Document], threshold: float) -> Score:
    total = Score(0, 0, 0)
    found = recognizer.predict([replace(document, entities=()) for document in gold], thresholds={"score": threshold})
    for document, predicted in zip(gold, found, strict=True):
        keys, wanted = {e.key for e in predicted.entities}, {e.key for e in document.entities}
        total += Score(len(keys & wanted), len(keys), len(wanted))
    return total


def candidates(recognizer: Recognizer) -> tuple[float, ...]:
    (threshold,) = recognizer.model.head.config.thresholds()
    return threshold.candidates


@pytest.mark.parametrize("true_threshold", [0.1, 0.3, 0.425, 0.625])
def test_the_threshold_that_made_the_gold_is_found(
    recognizer: Recognizer, documents: tuple[Document, ...], true_threshold: float
) -> None:
    """F1 rises up to the true threshold and falls behind it: from coarse to fine finds the best of all candidates."""
    gold = recognizer.predict(list(documents[:24]), thresholds={"score": true_threshold})
    assert sum(len(document.entities) for document in gold) > 5
    tuned = Tuner(recognizer, gold).tune(512)
    assert tuned.score.f1 == 1.0
    best = max(strict(recognizer, gold, candidate).f1 for candidate in candidates(recognizer))
    assert best == 1.0
    assert strict(recognizer, gold, tuned.thresholds["score"]) == tuned.score


def test_on_any_gold_it_is_never_worse_than_the_default_and_close_to_the_best(
    recognizer: Recognizer, documents: tuple[Document, ...]
) -> None:
    for part in (documents[:4], documents[10:30]):
        # Gold that is half right: every second prediction.
        loose = recognizer.predict(list(part), thresholds={"score": 0.3})
        gold = [d.with_entities(d.entities[::2]) for d in loose]
        tuned = Tuner(recognizer, gold).tune()
        assert tuned.score == strict(recognizer, gold, tuned.thresholds["score"])
        assert tuned.score.f1 >= strict(recognizer, gold, 0.5).f1
        assert tuned.score.f1 >= max(strict(recognizer, gold, c).f1 for c in candidates(recognizer)) - 0.02
        coarse = candidates(recognizer)[::4]
        assert tuned.score.f1 >= max(strict(recognizer, gold, c).f1 for c in coarse)


def test_without_anything_to_find_the_default_stays(recognizer: Recognizer) -> None:
    tuned = Tuner(recognizer, [Document("Pain in the knee."), Document("")]).tune()
    assert tuned.thresholds == {"score": 0.5}
    assert tuned.score.f1 == 0
    assert Tuner(recognizer, []).tune().score == Score(0, 0, 0)


def test_gold_in_documents_without_words_still_counts(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    gold = recognizer.predict(list(documents[:8]))
    everything = sum(len(document.entities) for document in gold)
    assert Tuner(recognizer, [*gold, Document(" \n")]).tune().score.gold == everything


def test_tuning_works_on_windows_of_long_documents(build: object, documents: tuple[Document, ...]) -> None:
    small: Recognizer = build(window=32, overlap=6)  # type: ignore[operator]
    text = Document(" ".join(document.text for document in documents))
    gold = small.predict(text, thresholds={"score": 0.4})
    assert len(gold.entities) > 50
    tuned = Tuner(small, [gold]).tune()
    assert tuned.score.f1 == 1.0


def test_labels_that_a_document_does_not_annotate_are_not_judged(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    """As in evaluation: otherwise thresholds of mixed corpora would be chosen on a wrong score."""
    predicted = recognizer.predict(list(documents[:24]), thresholds={"score": 0.3})
    label = next(entity.label for document in predicted for entity in document.entities)
    gold = [
        replace(document.with_entities(e for e in document.entities if e.label == label), labels=frozenset({label}))
        for document in predicted
    ]
    tuned = Tuner(recognizer, gold).tune()
    judged = evaluate_documents(gold, recognizer.predict(gold, thresholds=tuned.thresholds)).strict
    assert tuned.score == judged
    assert 0 < judged.predicted < sum(len(document.entities) for document in predicted)


def test_a_threshold_for_gaps_is_tuned_on_entities_with_gaps_alone(
    recognizer: Recognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of those with gaps is right even at best: among all entities they are not worth their mistakes."""
    grid = tuple(round(0.05 * i, 2) for i in range(2, 20))
    scored = [WordEntity("A", ((number, number + 1),), 0.6) for number in range(5)]
    scored += [
        WordEntity("A", ((0, 1), (2, 3)), 0.3),
        WordEntity("A", ((0, 1), (3, 4)), 0.3),
        WordEntity("A", ((1, 2), (4, 5)), 0.3),
    ]
    scored += [WordEntity("A", ((0, 1), (4, 5)), 0.2)]

    def decode(proposals: object, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        least = {1: decoding.thresholds["score"], 2: decoding.thresholds.get("gaps", decoding.thresholds["score"])}
        return [[entity for entity in scored if (entity.score or 0) >= least[len(entity.fragments)]]] * sentences

    words = ["one", "two", "three", "four", "five"]
    right = [Entity(entity.label, entity.fragments) for entity in scored[:6]]
    gold = [Document.from_words(words, right)]
    monkeypatch.setattr(recognizer.model.head, "decode", decode)
    score, gaps = Threshold("score", 0.1, 0.5, grid), Threshold("gaps", 0.1, 0.5, grid, tuned_on="discontinuous")
    for thresholds, wanted in (((score,), {"score": 0.5}), ((score, gaps), {"score": 0.5, "gaps": 0.3})):
        monkeypatch.setattr(type(recognizer.model.head.config), "thresholds", lambda _, own=thresholds: own)
        tuned = Tuner(recognizer, gold).tune()
        assert tuned.thresholds == wanted
    assert (tuned.score.correct, tuned.score.predicted, tuned.score.gold) == (6, 8, 6)
