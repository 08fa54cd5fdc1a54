"""Tuned thresholds: the middle of the range around the best candidate whose F1 is within its standard error."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from anyner.architectures.settings import Decoding, Threshold
from anyner.document import Document, Entity
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import Score
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuner, middle_place, tuned_on
from anyner.text.align import WordEntity


def strict(recognizer: Recognizer, gold: Sequence[Document], threshold: float) -> Score:
    total = Score(0, 0, 0)
    found = recognizer.predict([replace(document, entities=()) for document in gold], thresholds={"score": threshold})
    for document, predicted in zip(gold, found, strict=True):
        keys, expected = {e.key for e in predicted.entities}, {e.key for e in document.entities}
        total += Score(len(keys & expected), len(keys), len(expected))
    return total


def candidates(recognizer: Recognizer) -> tuple[float, ...]:
    (threshold,) = recognizer.model.head.config.thresholds()
    return threshold.candidates


def middle(recognizer: Recognizer, gold: Sequence[Document]) -> float:
    """The oracle: from the best of every second candidate, a walk to both sides while F1 is within its standard error."""
    grid = candidates(recognizer)
    f1 = {place: strict(recognizer, gold, grid[place]).f1 for place in range(0, len(grid), 2)}
    best = max(f1, key=lambda place: f1[place])
    least = f1[best] - math.sqrt(f1[best] * (1 - f1[best]) / sum(len(document.entities) for document in gold))
    low = high = best
    while f1.get(low - 2, -1) >= least:
        low -= 2
    while f1.get(high + 2, -1) >= least:
        high += 2
    return grid[(low + high) // 2]


@pytest.mark.parametrize("true_threshold", [0.1, 0.425])
def test_it_is_the_middle_of_those_as_good_as_the_best(
    recognizer: Recognizer, documents: tuple[Document, ...], true_threshold: float
) -> None:
    gold = recognizer.predict(list(documents[:24]), thresholds={"score": true_threshold})
    assert sum(len(document.entities) for document in gold) > 5
    tuned = Tuner(recognizer, gold).tune()
    assert tuned.thresholds == {"score": middle(recognizer, gold)}
    assert tuned.score == strict(recognizer, gold, tuned.thresholds["score"])
    assert tuned.score.f1 > 0.8


@pytest.mark.parametrize("part", [slice(4), slice(10, 30)])
def test_it_is_the_middle_for_half_of_the_gold_too(recognizer: Recognizer, documents: tuple[Document, ...], part: slice) -> None:
    loose = recognizer.predict(list(documents[part]), thresholds={"score": 0.3})
    gold = [d.with_entities(d.entities[::2]) for d in loose]
    tuned = Tuner(recognizer, gold).tune()
    assert tuned.thresholds == {"score": middle(recognizer, gold)}
    assert tuned.score == strict(recognizer, gold, tuned.thresholds["score"])


def test_the_middle_of_one_range_and_not_of_two() -> None:
    """Up to 5, places are as good as the best, 3, and again at 8 after worse ones; with 20 gold entities the error is 0.09."""
    right = {0: 10, 1: 10, 2: 14, 3: 16, 4: 16, 5: 15, 6: 12, 7: 12, 8: 16}
    scores = {place: Score(count, 20, 20) for place, count in right.items()}
    assert middle_place(scores) == 4
    assert middle_place({place: Score(0, 20, 20) for place in right}) is None
    assert middle_place({**scores, 3: Score(20, 20, 20)}) == 3


def test_precision_counts_more_where_recall_has_less_weight() -> None:
    many, sure = Score(10_000, 19_000, 10_000), Score(6_000, 8_000, 10_000)
    assert (many.f1, sure.f1) == pytest.approx((0.69, 0.667), abs=0.001)
    assert (many.f(0.5), sure.f(0.5)) == pytest.approx((0.625, 0.692), abs=0.001)
    assert middle_place({0: many, 1: sure}) == 0
    assert middle_place({0: many, 1: sure}, 0.5) == 1


def test_without_anything_to_find_the_default_stays(recognizer: Recognizer) -> None:
    tuned = Tuner(recognizer, [Document("Pain in the knee."), Document("")]).tune()
    assert tuned.thresholds == {"score": 0.5}
    assert tuned.score.f1 == 0
    assert Tuner(recognizer, []).tune().score == Score(0, 0, 0)


def test_gold_in_documents_without_words_still_counts(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    gold = recognizer.predict(list(documents[:8]))
    everything = sum(len(document.entities) for document in gold)
    blank = Document(" \n", (Entity("Symptom", ((0, 1),)),))
    assert Tuner(recognizer, [*gold, blank]).tune().score.gold == everything + 1


def test_tuning_works_on_windows_of_long_documents(build: object, documents: tuple[Document, ...]) -> None:
    small: Recognizer = build(window=32)  # type: ignore[operator]
    text = Document(" ".join(document.text for document in documents))
    gold = small.predict(text, thresholds={"score": 0.4})
    assert len(gold.entities) > 50
    tuned = Tuner(small, [gold]).tune()
    assert tuned.score.f1 > 0.95


def test_labels_that_a_document_does_not_annotate_are_not_scored(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
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


def test_a_threshold_for_discontinuous_entities_is_tuned_on_them_alone(
    recognizer: Recognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At best a third of the discontinuous ones is correct: in the score of all entities they do more harm than good."""
    grid = tuple(round(0.05 * i, 2) for i in range(2, 20))
    scored = [WordEntity("A", ((number, number + 1),), 0.6) for number in range(5)]
    scored += [
        WordEntity("A", ((0, 1), (2, 3)), 0.3),
        WordEntity("A", ((0, 1), (3, 4)), 0.3),
        WordEntity("A", ((1, 2), (4, 5)), 0.3),
    ]
    scored += [WordEntity("A", ((0, 1), (4, 5)), 0.2)]

    def decode(proposals: object, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        least = {1: decoding.thresholds["score"], 2: decoding.thresholds.get("discontinuous", decoding.thresholds["score"])}
        return [[entity for entity in scored if (entity.score or 0) >= least[len(entity.fragments)]]] * sentences

    words = ["one", "two", "three", "four", "five"]
    right = [Entity(entity.label, entity.fragments) for entity in scored[:6]]
    gold = [Document.from_words(words, right)] * 40  # enough for narrow ranges
    monkeypatch.setattr(recognizer.model.head, "decode", decode)
    score, other = Threshold("score", 0.1, 0.5, grid), Threshold("discontinuous", 0.1, 0.5, grid, tuned_on="discontinuous")
    for thresholds, expected in (((score,), {"score": 0.45}), ((score, other), {"score": 0.35, "discontinuous": 0.25})):
        monkeypatch.setattr(type(recognizer.model.head.config), "thresholds", lambda _, own=thresholds: own)
        tuned = Tuner(recognizer, gold).tune()
        assert tuned.thresholds == expected
    assert (tuned.score.correct, tuned.score.predicted, tuned.score.gold) == (40 * 6, 40 * 8, 40 * 6)
    assert tuned.discontinuous == Score(40, 40 * 3, 40)


def test_parts_of_one_model_are_tuned_like_the_whole(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    loose = recognizer.predict(list(documents[:30]), thresholds={"score": 0.3})
    gold = [d.with_entities(d.entities[::2]) for d in loose]
    parts = [Tuner(recognizer, part).read() for part in (gold[:7], gold[7:8], gold[8:])]
    assert tuned_on(parts) == Tuner(recognizer, gold).tune()


@pytest.mark.parametrize("of", [2, 3, 40])
def test_shares_hold_every_window_once_and_are_tuned_like_the_whole(
    recognizer: Recognizer, documents: tuple[Document, ...], of: int
) -> None:
    loose = recognizer.predict(list(documents[:30]), thresholds={"score": 0.3})
    tuner = Tuner(recognizer, [d.with_entities(d.entities[::2]) for d in loose])
    shares = [batch for number in range(of) for batch in tuner.share(number, of)]
    assert sorted(place for batch in shares for place in batch.places) == list(range(30))
    assert tuned_on([tuner.documents_read(shares)]) == tuner.tune()


def test_models_of_parts_share_their_thresholds(build: object, documents: tuple[Document, ...]) -> None:
    """Two models with different weights; the gold of each is what it finds at a threshold of its own."""
    models: list[Recognizer] = [build(), build(seed=1)]  # type: ignore[operator]
    gold = [
        model.predict(list(part), thresholds={"score": own})
        for model, part, own in zip(models, (documents[:20], documents[20:30]), (0.2, 0.5), strict=True)
    ]
    tuned = tuned_on([Tuner(model, part).read() for model, part in zip(models, gold, strict=True)])
    at = {
        one: strict(models[0], gold[0], one) + strict(models[1], gold[1], one)
        for one in (*candidates(models[0]), tuned.thresholds["score"])
    }
    assert tuned.score == at[tuned.thresholds["score"]]
    best = max(score.f1 for score in at.values())
    assert best - math.sqrt(best * (1 - best) / tuned.score.gold) <= tuned.score.f1 < 1
