"""Many answers become one proposal for each span: by votes, or the best of them. The oracle counts by hand."""

from collections import defaultdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.denoiser import Answers
from anyner.architectures.diffusion_ner.reading import VOTES_FOR_NOTHING, best, best_of_each, voted

Found = dict[tuple[int, int, int], tuple[int, float]]


def random_answers(seed: int, sentences: int, spans: int, words: int, labels: int) -> Answers:
    torch.manual_seed(seed)
    left, right = (3 * torch.randn(sentences, spans, words) for _ in range(2))
    return Answers(left, right, 2 * torch.randn(sentences, spans, 1 + labels))


def counted_by_hand(answers: Answers) -> Found:
    weights: dict[tuple[int, int, int], float] = defaultdict(float)
    votes: dict[tuple[int, int, int], torch.Tensor] = defaultdict(lambda: torch.zeros(answers.types.shape[2] - 1))
    for sentence in range(len(answers.left)):
        for span in range(answers.left.shape[1]):
            left, right = answers.left[sentence, span].sigmoid(), answers.right[sentence, span].sigmoid()
            first, last = int(left.argmax()), int(right.argmax())
            if first <= last:
                weight = float(left.max() * right.max())
                weights[sentence, first, last] += weight
                votes[sentence, first, last] += weight * answers.types[sentence, span].softmax(0)[1:]
    shares = {key: votes[key] / (weights[key] + VOTES_FOR_NOTHING) for key in votes}
    return {key: (int(share.argmax()), float(share.max())) for key, share in shares.items()}


def listed(place: torch.Tensor, score: torch.Tensor) -> Found:
    found = {(s, first, last): (label, own) for (s, first, last, label), own in zip(place.tolist(), score.tolist(), strict=True)}
    assert len(found) == len(place)
    return found


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 999), st.integers(1, 3), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_votes_are_those_counted_by_hand(seed: int, sentences: int, spans: int, words: int, labels: int) -> None:
    answers = random_answers(seed, sentences, spans, words, labels)
    wanted = counted_by_hand(answers)
    found = listed(*voted(answers, 0.0))
    assert found.keys() == wanted.keys()
    for key, (label, score) in found.items():
        assert label == wanted[key][0]
        assert score == pytest.approx(wanted[key][1], abs=1e-5)
    middle = sorted(score for _, score in wanted.values())[len(wanted) // 2] if wanted else 0.0
    sure = listed(*voted(answers, middle - 1e-6))
    assert sure.keys() == {key for key, (_, score) in wanted.items() if score >= middle - 1e-6}


def test_many_that_agree_are_better_than_one_that_is_sure() -> None:
    pointed, types = torch.full((1, 5, 3), -9.0), torch.zeros(1, 5, 2)
    pointed[0, 0, 0] = pointed[0, 1:, 2] = 9.0  # one span ends at word 0, four at word 2
    types[0, 0, 1], types[0, 1:, 1] = 9.0, 1.0
    found = listed(*voted(Answers(pointed, pointed, types), 0.0))
    assert found[0, 2, 2][1] > found[0, 0, 0][1]
    by_the_best = listed(*best(Answers(pointed, pointed, types), 0.0))
    assert by_the_best[0, 2, 2][1] < by_the_best[0, 0, 0][1]


def test_other_sentences_change_no_vote() -> None:
    answers = random_answers(3, 4, 9, 5, 2)
    alone = Answers(answers.left[2:3], answers.right[2:3], answers.types[2:3])
    together = {key[1:]: own for key, own in listed(*voted(answers, 0.0)).items() if key[0] == 2}
    assert together.keys() == {key[1:] for key in listed(*voted(alone, 0.0))}
    for key, (label, score) in listed(*voted(alone, 0.0)).items():
        assert together[key[1:]] == (label, pytest.approx(score, abs=1e-6))


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30))
def test_of_answers_for_one_span_the_best_is_kept_and_of_equal_ones_the_first(rows: list[tuple[int, int]]) -> None:
    kept: dict[int, int] = {}
    for place, (span, score) in enumerate(rows):
        if span not in kept or score > rows[kept[span]][1]:
            kept[span] = place
    spans, scores = torch.tensor([span for span, _ in rows], dtype=torch.long), torch.tensor([float(own) for _, own in rows])
    assert best_of_each(spans, scores).tolist() == [kept[span] for span in sorted(kept)]
