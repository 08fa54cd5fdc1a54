import numpy as np
import pytest

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.bootstrap import compare, strict_interval
from anyner.evaluation.match import Pair, pair_documents

TEXT = "one two three"
PLACES = ((0, 3), (4, 7), (8, 13))


def corpus(documents: int, chance: float, seed: int) -> list[Pair]:
    """Three gold entities a document, each found with this chance."""
    found = np.random.default_rng(seed).random((documents, 3)) < chance
    entities = [Entity("A", (place,)) for place in PLACES]
    gold = [Document(TEXT, tuple(entities)) for _ in range(documents)]
    predicted = [Document(TEXT, tuple(entity for entity, hit in zip(entities, row, strict=True) if hit)) for row in found]
    return list(pair_documents(gold, predicted))


def f1(pairs: list[Pair]) -> float:
    predicted = sum(len(pair.predicted) for pair in pairs)
    return 2 * predicted / (predicted + 3 * len(pairs))


def test_interval_agrees_with_resampling_one_by_one() -> None:
    pairs = corpus(80, 0.6, seed=1)
    generator = np.random.default_rng(7)
    values = [f1([pairs[place] for place in generator.integers(80, size=80)]) for _ in range(4000)]
    interval = strict_interval(pairs, resamples=4000)
    assert interval.low == pytest.approx(np.percentile(values, 2.5), abs=0.01)
    assert interval.high == pytest.approx(np.percentile(values, 97.5), abs=0.01)
    assert interval.low < f1(pairs) < interval.high


def test_interval_is_seeded_and_independent_of_order() -> None:
    pairs = corpus(40, 0.6, seed=2)
    assert strict_interval(pairs) == strict_interval(pairs) == strict_interval(pairs[::-1])
    assert strict_interval(pairs, seed=1) != strict_interval(pairs, seed=2)


def test_intervals_at_the_edges() -> None:
    perfect = strict_interval(corpus(10, 1.1, seed=0))
    assert (perfect.low, perfect.high) == (1.0, 1.0)
    nothing = strict_interval([])
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    empty = strict_interval(pair_documents([Document("a")], [Document("a")]))
    assert (empty.low, empty.high) == (0.0, 0.0)
    with pytest.raises(AnynerError, match="resamples"):
        strict_interval(corpus(3, 0.5, seed=0), resamples=0)


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    weak, strong, other = corpus(200, 0.4, seed=3), corpus(200, 0.8, seed=4), corpus(200, 0.4, seed=5)
    clear = compare(strong, weak)
    assert clear.difference == pytest.approx(f1(strong) - f1(weak))
    assert clear.p_value < 0.01
    assert clear.interval.low < clear.difference < clear.interval.high
    assert compare(weak, strong).p_value == pytest.approx(clear.p_value)
    assert compare(weak, other).p_value > 0.05
    assert compare(weak, weak).p_value == 1.0


def test_only_the_same_documents_are_compared() -> None:
    pairs = corpus(5, 0.5, seed=6)
    with pytest.raises(AnynerError, match="same gold documents"):
        compare(pairs, pairs[:4])
