"""Decoding proposals: a threshold, then the policy; perfect proposals give exactly the gold."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anyner.architectures.biaffine.config import Config
from anyner.architectures.decode import decode_spans as decode
from anyner.architectures.settings import Decoding, Options
from anyner.overlap import POLICIES, Policy, Relation, relation, resolve
from anyner.text.align import WordEntity

LABELS = ("A", "B")
Place = tuple[int, int, int, int]


def decoding(policy: Policy, threshold: float = 0.5) -> Decoding:
    return Decoding(LABELS, {"score": threshold}, policy, Config(), Options())


def arrays(places: list[Place], scores: list[float]) -> dict[str, NDArray[Any]]:
    return {"place": np.array(places, dtype=np.int64).reshape(-1, 4), "score": np.array(scores, dtype=np.float32)}


spans = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(lambda pair: (min(pair), max(pair)))
places = st.tuples(st.integers(0, 2), st.integers(0, 1), spans).map(lambda p: (p[0], p[1], *p[2]))
proposed = st.dictionaries(places, st.sampled_from([0.125, 0.25, 0.5, 0.625, 0.75, 1.0]), max_size=14)


def kept_slowly(sentence: list[WordEntity], policy: Policy) -> set[WordEntity]:
    """Best first; each is kept unless the policy forbids it next to one already kept."""
    kept: list[WordEntity] = []

    def rank(entity: WordEntity) -> tuple[float, ...]:
        length, score = entity.last - entity.first + 1, entity.score or 0.0
        strength = (-length, -score) if policy == "longest" else (-score, -length)
        return (*strength, entity.first, entity.last, LABELS.index(entity.label))

    for entity in sorted(sentence, key=rank):
        relations = {relation(entity.fragments, other.fragments) for other in kept}
        nests = policy.startswith("nested") and Relation.CROSSING not in relations
        if policy == "all" or nests or relations <= {Relation.APART}:
            kept.append(entity)
    return set(kept)


@given(proposed, st.sampled_from([0.25, 0.5, 0.7]), st.sampled_from(POLICIES))
def test_decoding_equals_a_loop(chosen: dict[Place, float], threshold: float, policy: Policy) -> None:
    expected: list[list[WordEntity]] = [[], [], []]
    for (b, c, i, j), score in chosen.items():
        if score >= threshold:
            expected[b].append(WordEntity(LABELS[c], ((i, j + 1),), score))
    found = decode(arrays(list(chosen), list(chosen.values())), 3, decoding(policy, threshold))
    assert [set(entities) for entities in found] == [kept_slowly(entities, policy) for entities in expected]
    assert all(len(set(entities)) == len(entities) for entities in found)


@given(st.sets(places, max_size=12), st.sampled_from(POLICIES))
def test_perfect_proposals_decode_to_exactly_the_gold(gold: set[Place], policy: Policy) -> None:
    """If the gold follows the policy."""
    entities = [[WordEntity(LABELS[c], ((i, j + 1),), 1.0) for b, c, i, j in sorted(gold) if b == n] for n in range(3)]
    entities = [resolve(listed, policy) for listed in entities]
    allowed = [(b, LABELS.index(e.label), e.first, e.last) for b, listed in enumerate(entities) for e in listed]
    found = decode(arrays(allowed, [1.0] * len(allowed)), 3, decoding(policy))
    assert [set(listed) for listed in found] == [set(listed) for listed in entities]


def test_without_proposals_every_sentence_has_an_empty_list() -> None:
    assert decode(arrays([], []), 4, decoding("flat")) == [[], [], [], []]


def test_a_score_equal_to_the_threshold_is_kept() -> None:
    found = decode(arrays([(0, 1, 2, 3)], [0.5]), 1, decoding("flat"))
    assert found == [[WordEntity("B", ((2, 4),), 0.5)]]
