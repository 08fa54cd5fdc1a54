"""Many predictions become one proposal for each span: by votes, or the best of them. Against loops."""

from collections import defaultdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.head import VOTES_AGAINST, best, voted
from anyner.architectures.diffusion_ner.network import Predictions

Found = dict[tuple[int, int, int], tuple[int, float]]


def random_predictions(seed: int, sentences: int, spans: int, words: int, labels: int) -> Predictions:
    torch.manual_seed(seed)
    left, right = (3 * torch.randn(sentences, spans, words) for _ in range(2))
    return Predictions(left, right, 2 * torch.randn(sentences, spans, 1 + labels))


def counted_in_a_loop(predictions: Predictions, kinds: slice) -> Found:
    """The best of these kinds for each span."""
    weights: dict[tuple[int, int, int], float] = defaultdict(float)
    votes: dict[tuple[int, int, int], torch.Tensor] = defaultdict(lambda: torch.zeros(predictions.types.shape[2] - 1))
    for sentence in range(len(predictions.left)):
        for span in range(predictions.left.shape[1]):
            left, right = predictions.left[sentence, span].sigmoid(), predictions.right[sentence, span].sigmoid()
            first, last = int(left.argmax()), int(right.argmax())
            if first <= last:
                weight = float(left.max() * right.max())
                weights[sentence, first, last] += weight
                votes[sentence, first, last] += weight * predictions.types[sentence, span].softmax(0)[1:]
    shares = {key: votes[key][kinds] / (weights[key] + VOTES_AGAINST) for key in votes}
    return {key: ((kinds.start or 0) + int(share.argmax()), float(share.max())) for key, share in shares.items()}


def listed(place: torch.Tensor, score: torch.Tensor) -> Found:
    found = {(s, first, last): (label, own) for (s, label, first, last), own in zip(place.tolist(), score.tolist(), strict=True)}
    assert len(found) == len(place)
    return found


@given(st.integers(0, 999), st.integers(1, 3), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_votes_are_those_counted_in_a_loop(seed: int, sentences: int, spans: int, words: int, labels: int) -> None:
    fragments = seed % 2
    predictions = random_predictions(seed, sentences, spans, words, labels * (1 + fragments))
    middle = 0.0
    for kinds in (slice(0, labels), slice(labels, None))[: 1 + fragments]:
        expected = counted_in_a_loop(predictions, kinds)
        for least in (0.0, middle):
            place, score = voted(predictions, labels, least)
            own = (place[:, 1] >= labels) == bool(kinds.start)
            found = listed(place[own], score[own])
            assert found.keys() == {key for key, (_, score) in expected.items() if score >= least}
            for key, (label, own_score) in found.items():
                assert label == expected[key][0]
                assert own_score == pytest.approx(expected[key][1], abs=1e-5)
            middle = sorted(score for _, score in expected.values())[len(expected) // 2] - 1e-6 if expected else 0.0


def test_many_that_agree_are_better_than_one_that_is_sure() -> None:
    pointed, types = torch.full((1, 5, 3), -9.0), torch.zeros(1, 5, 2)
    pointed[0, 0, 0] = pointed[0, 1:, 2] = 9.0  # one span ends at word 0, four at word 2
    types[0, 0, 1], types[0, 1:, 1] = 9.0, 1.0
    found = listed(*voted(Predictions(pointed, pointed, types), 1, 0.0))
    assert found[0, 2, 2][1] > found[0, 0, 0][1]
    by_the_best = listed(*best(Predictions(pointed, pointed, types), 0.0))
    assert by_the_best[0, 2, 2][1] < by_the_best[0, 0, 0][1]


def test_other_sentences_change_no_vote() -> None:
    predictions = random_predictions(3, 4, 9, 5, 2)
    alone = Predictions(predictions.left[2:3], predictions.right[2:3], predictions.types[2:3])
    together = {key[1:]: own for key, own in listed(*voted(predictions, 2, 0.0)).items() if key[0] == 2}
    assert together.keys() == {key[1:] for key in listed(*voted(alone, 2, 0.0))}
    for key, (label, score) in listed(*voted(alone, 2, 0.0)).items():
        assert together[key[1:]] == (label, pytest.approx(score, abs=1e-6))


@given(st.integers(0, 999), st.integers(1, 3), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_without_votes_the_best_prediction_of_each_span_stays(
    seed: int, sentences: int, spans: int, words: int, labels: int
) -> None:
    """The paper's decoding: argmax of boundaries and type, the sum of their probabilities, duplicates removed."""
    predictions = random_predictions(seed, sentences, spans, words, labels)
    expected: Found = {}
    for sentence in range(sentences):
        for span in range(spans):
            left, right = predictions.left[sentence, span].sigmoid(), predictions.right[sentence, span].sigmoid()
            types = predictions.types[sentence, span].softmax(0)
            key, label = (sentence, int(left.argmax()), int(right.argmax())), int(types.argmax())
            score = float(left.max() + right.max() + types.max()) / 3
            if label and key[1] <= key[2] and score > expected.get(key, (0, 0.0))[1]:
                expected[key] = (label - 1, score)
    found = listed(*best(predictions, 0.0))
    assert found == {key: (label, pytest.approx(score, abs=1e-5)) for key, (label, score) in expected.items()}
    middle = sorted(score for _, score in expected.values())[len(expected) // 2] - 1e-5 if expected else 0.0
    assert listed(*best(predictions, middle)).keys() == {key for key, (_, score) in expected.items() if score >= middle}
