"""Calibration: a score is the probability that an entity is correct, and a temperature alone adds or removes no entity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest

import anyner
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.match import pair_documents
from anyner.evaluation.scores import NOTHING, Score, label_scores
from anyner.inference.calibrate import Goal, calibrated_on, fitted
from anyner.inference.config import Calibration
from anyner.inference.recognizer import Recognizer
from anyner.overlap import resolve

CELLS = [
    "Normal and malignant B cells express CD23 mRNA.",
    "Primary T and B lymphocytes express the IL-2 receptor alpha chain gene.",
    "GATA-3 mRNA rose in human T cells, and GATA-3 protein or perhaps some factors followed.",
]


def with_calibration(recognizer: Recognizer, **chosen: object) -> Recognizer:
    config = recognizer.config.updated({"calibration": chosen or None}, "config")
    return Recognizer(recognizer.runtime, recognizer.vocabulary, config)


def loosest(recognizer: Recognizer) -> dict[str, float]:
    own = recognizer.runtime.head.config.thresholds()
    return {one.name: one.loosest for one in own if one.name in ("score", "discontinuous", "long")}


@pytest.fixture(scope="module", params=["random weights", "biomed-en"])
def model(request: pytest.FixtureRequest, recognizer: Recognizer) -> Recognizer:
    return recognizer if request.param == "random weights" else anyner.load("biomed-en", runtime="onnx")


@pytest.fixture(scope="module")
def texts(model: Recognizer, documents: tuple[Document, ...]) -> list[str]:
    if model.config.architecture == "set_gner":
        return CELLS
    own = [document.text for document in documents[:4]]
    return [*own, " ".join(own * 2)]  # one of several windows


# --- the calibration map ---------------------------------------------------------------------------------------------


def drawn(temperature: float, bias: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    draw = np.random.default_rng(0)
    scores = draw.beta(1.5, 0.7, 20_000)
    probability = 1 / (1 + np.exp(-(np.log(scores / (1 - scores)) / temperature + bias)))
    return scores, draw.random(len(scores)) < probability


def test_temperature_and_bias_are_those_that_the_entities_were_drawn_with() -> None:
    for temperature, bias in ((2.5, 0.0), (0.6, 0.0), (1.5, -0.7)):
        found = fitted(*drawn(temperature, bias))
        assert found.temperature == pytest.approx(temperature, rel=0.05)
        assert found.bias == (pytest.approx(bias, abs=0.05) if bias else 0.0), "a bias only where it is needed"


def test_no_other_temperature_is_more_likely() -> None:
    scores, right = (one[:400] for one in drawn(1.8, 0.0))
    best = fitted(scores, right)

    def loss(temperature: float) -> float:
        calibration = Calibration(temperature=temperature)
        probability = [calibration.probability(score) for score in scores.tolist()]
        return -sum(math.log(p if r else 1 - p) for p, r in zip(probability, right, strict=True))

    assert best.bias == 0
    assert loss(best.temperature) <= min(loss(best.temperature * factor) for factor in (0.7, 0.9, 1.1, 1.4))


def test_the_calibration_map_is_monotonic_and_finite_and_has_an_inverse() -> None:
    grid = np.linspace(0, 1, 201).tolist()
    for temperature, bias in ((0.01, -100.0), (100.0, 0.0), (2.0, 1.0)):
        calibration = Calibration(temperature=temperature, bias=bias)
        mapped = [calibration.probability(score) for score in grid]
        assert all(0 <= one <= other <= 1 for one, other in pairwise(mapped))
    for score in grid[1:-1]:
        assert calibration.score(calibration.probability(score)) == pytest.approx(score)
    assert calibration.score(0.0) == 0
    assert calibration.score(1.0) > 1, "no entity is that certain"
    assert Calibration(temperature=0.01).score(1.0) == 1, "a probability that is rounded to 1"


def test_scores_that_are_uninformative_or_perfect() -> None:
    scores = np.linspace(0.1, 0.9, 40)
    assert 0.01 < fitted(scores, scores > 0.5).temperature < 1
    for right in (scores < 0.5, np.arange(40) % 2 == 0):
        with pytest.raises(AnynerError, match="higher scores are not correct more often"):
            fitted(scores, right)


# --- prediction ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", ["all", "nested", "longest"])
def test_a_temperature_alone_adds_and_removes_no_entity(model: Recognizer, texts: list[str], overlap: str) -> None:
    calibration = Calibration(temperature=0.05, bias=-2.0)  # many probabilities become equal
    hot = with_calibration(model, **calibration.model_dump())
    thresholds = loosest(model) if overlap == "all" else None
    plain = model.predict(texts, overlap=overlap, thresholds=thresholds)
    mapped = hot.predict(texts, overlap=overlap, thresholds=thresholds)
    assert sum(len(document.entities) for document in plain) > 5
    for one, other in zip(plain, mapped, strict=True):
        assert [entity.key for entity in other.entities] == [entity.key for entity in one.entities]
        assert [e.score for e in other.entities] == [calibration.probability(e.score or 0.0) for e in one.entities]
        assert [e.text for e in other.entities] == [e.text for e in one.entities]


@pytest.mark.parametrize("overlap", ["all", "flat", "longest"])
def test_entities_below_the_threshold_of_their_label_displace_none(model: Recognizer, texts: list[str], overlap: str) -> None:
    labels = model.config.labels
    least = {label: 0.15 + 0.6 * place / len(labels) for place, label in enumerate(labels)}
    calibration = Calibration(temperature=1.7, thresholds=least)
    picky = with_calibration(model, **calibration.model_dump())
    single = [text for text in texts if len(text) < 200]
    everything = model.predict(single, overlap="all", thresholds=loosest(model))
    kept = [[e for e in d.entities if calibration.probability(e.score or 0.0) >= least[e.label]] for d in everything]
    expected = [{e.key for e in resolve(own, overlap)} for own in kept]  # type: ignore[arg-type]
    assert [{e.key for e in document.entities} for document in picky.predict(single, overlap=overlap)] == expected
    assert expected != [{e.key for e in document.entities} for document in model.predict(single, overlap=overlap)]


def test_thresholds_of_a_call_win(model: Recognizer, texts: list[str]) -> None:
    nothing = with_calibration(model, temperature=2.0, thresholds=dict.fromkeys(model.config.labels, 1.0))
    assert not any(document.entities for document in nothing.predict(texts))
    given = {"score": 0.3}
    plain, mapped = model.predict(texts, thresholds=given), nothing.predict(texts, thresholds=given)
    assert any(document.entities for document in plain)
    assert [[e.key for e in d.entities] for d in mapped] == [[e.key for e in d.entities] for d in plain]


def test_thresholds_are_those_of_all_labels(recognizer: Recognizer) -> None:
    with pytest.raises(AnynerError, match=r"config: .*calibration.thresholds: expected one for every label"):
        with_calibration(recognizer, temperature=1.0, thresholds={"Body": 0.5})


# --- choosing --------------------------------------------------------------------------------------------------------


def gold_of(recognizer: Recognizer, documents: Sequence[Document]) -> list[Document]:
    """Entities that the model proposes, each correct with its score as probability: the model is already well calibrated."""

    def right(entity: Entity, text: str) -> bool:
        return crc32(f"{text}{entity.key}".encode()) / 2**32 < (entity.score or 0.0)

    found = recognizer.predict([document.text for document in documents], thresholds=loosest(recognizer))
    return [d.with_entities(e.rescored(None) for e in d.entities if right(e, d.text)) for d in found]


def test_the_reported_scores_are_those_of_the_calibrated_model(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    dev = gold_of(recognizer, documents[:20])
    by_f1, sure, many = (calibrated_on(recognizer, dev, **goal) for goal in ({}, {"precision": 0.6}, {"recall": 0.8}))
    for found in (by_f1, sure, many):
        calibration = found.calibration
        assert 0.8 < calibration.temperature < 1.25
        assert calibration.thresholds.keys() == set(recognizer.config.labels)
        predicted = with_calibration(recognizer, **calibration.model_dump()).predict(dev)
        assert found.labels == label_scores(pair_documents(dev, predicted))
        assert found.strict == sum(found.labels.values(), NOTHING)
        assert found.error_after < 0.05
    assert sure.strict.precision > 0.6 > by_f1.strict.precision, "with a margin for chance"
    assert many.strict.recall > 0.8 > by_f1.strict.recall > sure.strict.recall
    assert by_f1.strict.f1 > max(sure.strict.f1, many.strict.f1)
    again = calibrated_on(with_calibration(recognizer, **sure.calibration.model_dump()), dev, precision=0.6)
    assert again == sure, "an earlier calibration is ignored"


def test_entities_stay_and_labels_below_the_target_are_reported(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    dev = gold_of(recognizer, documents[:12])
    stays = calibrated_on(recognizer, dev, thresholds=False)
    assert stays.calibration.thresholds == {}
    assert stays.labels == label_scores(pair_documents(dev, recognizer.predict(dev)))
    missed = [*dev, *(Document(" ", (Entity(label, ((0, 1),)),)) for label in recognizer.config.labels * 60)]
    many = calibrated_on(recognizer, missed, recall=0.9)
    assert many.unreached.keys() == set(recognizer.config.labels)
    assert all(point.score == many.labels[label] and point.score.recall < 0.9 for label, point in many.unreached.items())
    with pytest.raises(AnynerError, match="not both"):
        calibrated_on(recognizer, dev, precision=0.8, recall=0.8)
    with pytest.raises(AnynerError, match="precision: expected a number between 0 and 1, got 90"):
        calibrated_on(recognizer, dev, precision=90)
    with pytest.raises(AnynerError, match="no predicted entity is correct"):
        calibrated_on(recognizer, [Document(d.text) for d in dev])


def test_a_label_with_few_entities_takes_the_threshold_of_all(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    dev = gold_of(recognizer, documents[:24])
    rare = [d.with_entities(e for e in d.entities if e.label == "Body" or d is dev[0]) for d in dev]
    assert Counter(e.label for d in rare for e in d.entities)["Person"] > 5
    found = calibrated_on(recognizer, rare).calibration.thresholds
    assert found["Person"] == found["Disorder"] != found["Body"]


@pytest.mark.parametrize("labels", [1, 5])
def test_the_lower_bound_is_reached_on_new_text_nearly_always(labels: int) -> None:
    goal = Goal("precision", labels=labels)
    for of, chance in ((60, 0.8), (200, 0.9), (1000, 0.95)):
        odds = {k: math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(of + 1)}
        too_sure = sum(p for k, p in odds.items() if goal.lower_bound(Score(k, of, 0)) > chance)
        of_any = 1 - (1 - too_sure) ** labels
        assert 0.01 < of_any < 0.04, "2.5 % on each side of a 95 % interval"
    assert Goal("recall").lower_bound(Score(0, 0, 0)) == 0
