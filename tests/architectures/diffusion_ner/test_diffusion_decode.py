"""Decoding: the mean over samples, one label for each span, threshold, policy."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.settings import Decoding
from anyner.overlap import Policy, resolve
from anyner.text.align import WordEntity

LABELS = ("A", "B")
decode = Head.decode
Place = tuple[int, int, int, int]


def decoding(policy: Policy = "all", score: float = 0.5, samples: int = 1) -> Decoding:
    return Decoding(LABELS, {"score": score}, policy, Config(), DiffusionOptions(samples=samples))


def arrays(listed: list[tuple[Place, float]]) -> dict[str, NDArray[Any]]:
    places = np.array([place for place, _ in listed], dtype=np.int64).reshape(-1, 4)
    return {"place": places, "score": np.array([score for _, score in listed], dtype=np.float32)}


spans = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda pair: (min(pair), max(pair)))
keys = st.tuples(st.integers(0, 1), spans, st.integers(0, 2))  # sentence, span, sample: at most one proposal each
proposed = st.dictionaries(keys, st.tuples(st.integers(0, 1), st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0])), max_size=30)


@given(proposed, st.sampled_from([0.1, 0.25, 0.5]))
def test_decoding_equals_a_loop(samples: dict[tuple[int, tuple[int, int], int], tuple[int, float]], threshold: float) -> None:
    summed: dict[tuple[int, int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for (sentence, span, _), (label, score) in samples.items():
        summed[sentence, *span][label] += score / 3
    listed = [((sentence, label, *span), score) for (sentence, span, _), (label, score) in samples.items()]
    found = decode(arrays(listed), 2, decoding(score=threshold, samples=3))
    got = {(b, e.first, e.last): (e.label, e.score) for b, own in enumerate(found) for e in own}
    assert sum(map(len, found)) == len(got), "one label for a span"
    for key, labels in summed.items():
        strongest = max(labels.values())
        if strongest >= threshold:
            label_, score = got.pop(key)
            assert score == pytest.approx(strongest)
            assert labels[LABELS.index(label_)] == pytest.approx(strongest)
    assert not got


@given(st.sets(st.tuples(st.integers(0, 1), spans), max_size=10), st.sampled_from(["all", "nested", "flat"]))
def test_perfect_proposals_decode_to_exactly_the_gold(gold: set[tuple[int, tuple[int, int]]], policy: Policy) -> None:
    entities = [[WordEntity("B", ((i, j + 1),), 1.0) for b, (i, j) in sorted(gold) if b == n] for n in range(2)]
    entities = [resolve(listed, policy) for listed in entities]
    allowed = [((b, 1, e.first, e.last), 1.0) for b, listed in enumerate(entities) for e in listed]
    found = decode(arrays(allowed * 3), 2, decoding(policy, samples=3))
    assert [{e.fragments for e in listed} for listed in found] == [{e.fragments for e in listed} for listed in entities]


def test_the_order_of_proposals_does_not_matter_even_in_a_tie() -> None:
    tie: list[tuple[Place, float]] = [((0, 1, 1, 2), 0.75), ((0, 0, 1, 2), 0.75)]
    chosen = decoding(score=0.2, samples=2)
    assert decode(arrays(tie), 1, chosen) == decode(arrays(tie[::-1]), 1, chosen)


def test_no_proposal_gives_an_empty_list_for_every_sentence() -> None:
    for samples in (1, 2):
        assert decode(arrays([]), 3, decoding("flat", samples=samples)) == [[], [], []]
