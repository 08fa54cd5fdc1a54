"""Search and log-partition equal brute force; ties go to the nearest words; blocks are independent."""

import math
from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from anyner.architectures.nag_ner import search
from anyner.architectures.nag_ner.search import FINITE_NONE, NONE, Best, best_sequences, log_partition

Sequence = tuple[int, ...]
Given = tuple[Tensor, Tensor, Tensor]
MORE_THAN_ALL = 40
counts, costs = st.sampled_from([1, 3, MORE_THAN_ALL]), st.sampled_from([0.0, 0.7])
seeds, few = st.integers(0, 2**20), st.integers(1, 6)


def random_blocks(seed: int, blocks: int, words: int, units: int, *, longest: int = 3, missing: float = 0.15) -> Given:
    """Log scores and sizes; some words, some words at some positions, and some ends are impossible."""
    draw = torch.Generator().manual_seed(seed)
    placed = torch.randn(blocks, words, units, generator=draw) * 2 - 2
    placed[torch.rand(placed.shape, generator=draw) < missing] = NONE
    placed[torch.rand(blocks, words, generator=draw) < missing / 2] = NONE
    end = torch.randn(blocks, units + 1, generator=draw) * 2 - 2
    end[torch.rand(end.shape, generator=draw) < missing / 2] = NONE
    return placed, torch.randint(1, longest + 1, (blocks, words), generator=draw), end


def searched(placed: Tensor, sizes: Tensor, end: Tensor, *, count: int, contiguous: bool, cost: float = 0.0) -> Best:
    """With the same gap cost at all positions."""
    gap_cost = None if contiguous else torch.full((placed.shape[2],), cost)
    return best_sequences(placed, sizes, end, gap_cost, count=count, largest=max(sizes.flatten().tolist(), default=1))


def score_of(sequence: Sequence, placed: Tensor, sizes: Tensor, end: Tensor, *, cost: float) -> float:
    """The score of one sequence of one block, -inf if it does not fit."""
    score, written = 0.0, 0
    for word in sequence:
        if written >= placed.shape[1]:
            return NONE
        score += float(placed[word, written])
        written += int(sizes[word])
    jumps = sum(after - before > 1 for before, after in pairwise(sequence))
    return score - cost * jumps + float(end[written]) if written < len(end) else NONE


def everything(
    placed: Tensor, sizes: Tensor, end: Tensor, *, contiguous: bool, cost: float = 0.0
) -> list[tuple[float, Sequence]]:
    """All sequences of one block by brute force, best first, ties in lexicographic order."""
    words = len(placed)
    every: list[Sequence] = [(0, *later) for size in range(words) for later in combinations(range(1, words), size)]
    if contiguous:
        every = [sequence for sequence in every if sequence[-1] == len(sequence) - 1]
    scored = [(score_of(sequence, placed, sizes, end, cost=cost), sequence) for sequence in every]
    return sorted((item for item in scored if item[0] > NONE), key=lambda item: (-item[0], item[1]))


def found(best: Best, block: int) -> list[tuple[float, Sequence]]:
    scores, numbers = best.score[block].tolist(), best.count[block].tolist()
    return [
        (score, tuple(best.words[block, place, :number].tolist()))
        for place, (score, number) in enumerate(zip(scores, numbers, strict=True))
        if score > NONE
    ]


def assert_equal(one: Best, other: Best) -> None:
    assert len(one.score) == len(other.score)
    assert [found(one, block) for block in range(len(one.score))] == [found(other, block) for block in range(len(other.score))]


@given(seed=seeds, words=few, units=few, contiguous=st.booleans(), cost=costs, count=counts)
def test_the_best_are_those_of_brute_force(
    *, seed: int, words: int, units: int, contiguous: bool, cost: float, count: int
) -> None:
    blocks = random_blocks(seed, 3, words, units)
    best = searched(*blocks, count=count, contiguous=contiguous, cost=cost)
    assert best.score.shape == best.count.shape == (3, count)
    assert best.words.shape == (3, count, min(words, units))
    for block, (placed, sizes, end) in enumerate(zip(*blocks, strict=True)):
        truth = everything(placed, sizes, end, contiguous=contiguous, cost=cost)
        sequences = found(best, block)
        assert len(sequences) == min(count, len(truth))
        assert (best.count[block, len(sequences) :] == 0).all(), "there are no others"
        assert [score for score, _ in sequences] == pytest.approx([score for score, _ in truth[:count]], abs=1e-4)
        assert len({sequence for _, sequence in sequences}) == len(sequences)
        all_scores = {sequence: score for score, sequence in truth}
        for score, sequence in sequences:
            assert score == pytest.approx(all_scores[sequence], abs=1e-4)
        for place, (score, sequence) in enumerate(sequences):
            beside = truth[max(place - 1, 0) : place] + truth[place + 1 : place + 2]
            if all(abs(score - other) > 1e-4 for other, _ in beside):
                assert sequence == truth[place][1]


@given(seed=seeds, words=few, units=few, contiguous=st.booleans(), cost=st.sampled_from([0.0, 0.5]), count=counts)
def test_ties_are_in_lexicographic_order(*, seed: int, words: int, units: int, contiguous: bool, cost: float, count: int) -> None:
    placed, sizes, end = random_blocks(seed, 3, words, units, longest=2)
    placed, end = placed.clamp(-2, 0).round(), end.clamp(-1, 0).round()  # few different sums, without rounding errors
    placed[(torch.arange(words) % 2 == 0)[None, :, None].expand_as(placed) & (placed < -1)] = NONE
    best = searched(placed, sizes, end, count=count, contiguous=contiguous, cost=cost)
    for block in range(3):
        truth = everything(placed[block], sizes[block], end[block], contiguous=contiguous, cost=cost)
        assert found(best, block) == truth[:count]


def test_of_repeated_words_the_nearest_are_taken() -> None:
    """A sentence "a b c b c c": repeated words have the same scores."""
    scores = torch.tensor([[-0.1, -4.0, -4.0], [-4.0, -0.1, -4.0], [-4.0, -4.0, -0.1]])  # (units, letters)
    placed = scores[:, torch.tensor([0, 1, 2, 1, 2, 2])].T[None]  # (1, 6, 3)
    end = torch.tensor([[NONE, -4.0, -4.0, -0.1]])
    best = searched(placed, torch.ones(1, 6, dtype=torch.long), end, count=6, contiguous=False)
    sequences = [sequence for _, sequence in found(best, 0)]
    assert sequences[:5] == [(0, 1, 2), (0, 1, 4), (0, 1, 5), (0, 3, 4), (0, 3, 5)]
    assert best.score[0, :5].tolist() == pytest.approx([-0.4] * 5), "distance costs nothing"
    assert best.score[0, 5] < -1
    costly = searched(placed, torch.ones(1, 6, dtype=torch.long), end, count=6, contiguous=False, cost=0.7)
    assert found(costly, 0)[0][1] == (0, 1, 2)
    assert float(costly.score[0, 0]) == pytest.approx(-0.4)


@given(st.data())
def test_certain_scores_give_the_sequence_they_were_made_from(data: st.DataObject) -> None:
    words = data.draw(st.integers(1, 9))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=words, max_size=words))
    sequence = (0, *sorted(data.draw(st.sets(st.integers(1, words - 1)) if words > 1 else st.just(set()))))
    units = sum(sizes[word] for word in sequence) + data.draw(st.integers(0, 2))
    placed, end = torch.full((1, words, units), NONE), torch.full((1, units + 1), NONE)
    written = 0
    for word in sequence:
        placed[0, word, written] = 0.0
        written += sizes[word]
    end[0, written] = 0.0
    for contiguous in {False, sequence[-1] == len(sequence) - 1}:
        best = searched(placed, torch.tensor([sizes]), end, count=2, contiguous=contiguous)
        assert found(best, 0) == [(0.0, sequence)]


@given(seeds, st.booleans(), costs)
def test_an_impossible_word_is_never_taken(seed: int, contiguous: bool, cost: float) -> None:
    placed, sizes, end = random_blocks(seed, 4, 6, 6, missing=0.5)
    best = searched(placed, sizes, end, count=MORE_THAN_ALL, contiguous=contiguous, cost=cost)
    for block in range(4):
        for _, sequence in found(best, block):
            before = [int(sizes[block, list(sequence[:number])].sum()) for number in range(len(sequence))]
            assert (placed[block, list(sequence), before] > NONE).all()


def test_without_its_first_word_a_block_has_no_sequence() -> None:
    placed, sizes, end = random_blocks(1, 2, 4, 4, missing=0.0)
    placed[0, 0, 0] = NONE
    best = searched(placed, sizes, end, count=3, contiguous=False)
    assert not found(best, 0)
    assert found(best, 1)


@pytest.mark.parametrize("contiguous", [False, True])
def test_a_word_that_does_not_fit_is_not_taken_even_if_it_has_a_score(contiguous: bool) -> None:
    placed, end = torch.zeros(1, 2, 3), torch.zeros(1, 4)
    best = searched(placed, torch.tensor([[2, 2]]), end, count=3, contiguous=contiguous)
    assert found(best, 0) == [(0.0, (0,))]
    assert not found(searched(placed, torch.tensor([[9, 1]]), end, count=3, contiguous=contiguous), 0)


@pytest.mark.parametrize("contiguous", [False, True])
def test_a_block_has_the_same_best_whatever_the_other_blocks_are(contiguous: bool) -> None:
    blocks = random_blocks(5, 7, 6, 6)
    together = searched(*blocks, count=3, contiguous=contiguous, cost=0.7)
    for block in range(7):
        alone = searched(*(part[block : block + 1] for part in blocks), count=3, contiguous=contiguous, cost=0.7)
        assert found(alone, 0) == found(together, block)


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("largest", [1, 6 * 8 * 3 * 2, 6 * 8 * 3 * 3 + 5])
def test_splitting_blocks_to_save_memory_changes_nothing(contiguous: bool, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = random_blocks(6, 7, 6, 6)
    at_once = searched(*blocks, count=3, contiguous=contiguous, cost=0.7)
    monkeypatch.setattr(search, "LARGEST", largest)
    assert_equal(searched(*blocks, count=3, contiguous=contiguous, cost=0.7), at_once)


@pytest.mark.parametrize("contiguous", [False, True])
def test_without_blocks_there_are_no_sequences(contiguous: bool) -> None:
    best = searched(*random_blocks(0, 0, 5, 4), count=3, contiguous=contiguous)
    assert best.score.shape == best.count.shape == (0, 3)
    assert best.words.shape == (0, 3, 4)


def test_the_search_is_in_float32_without_gradients() -> None:
    placed, sizes, end = random_blocks(2, 2, 5, 5)
    half = searched(placed.bfloat16().requires_grad_(), sizes.int(), end.bfloat16(), count=3, contiguous=False)
    assert half.score.dtype == torch.float32
    assert not half.score.requires_grad
    assert_equal(half, searched(placed.bfloat16().float(), sizes, end.bfloat16().float(), count=3, contiguous=False))


def test_the_contiguous_search_never_waits_for_the_device() -> None:
    """It runs on meta tensors, where reading a value or creating a tensor on the host would fail."""
    placed, sizes, end = (part.to("meta") for part in random_blocks(7, 5, 6, 4))
    best = best_sequences(placed, sizes, end, None, count=3, largest=3)
    assert {best.score.device.type, best.count.device.type, best.words.device.type} == {"meta"}
    assert best.words.shape == (5, 3, 4)


@given(seed=seeds, words=few, units=few, contiguous=st.booleans(), cost=st.sampled_from([0.0, 0.7, -0.4]))
def test_the_partition_is_the_sum_of_brute_force(*, seed: int, words: int, units: int, contiguous: bool, cost: float) -> None:
    blocks = random_blocks(seed, 3, words, units)
    partition = log_partition(*blocks, None if contiguous else torch.full((units,), cost), largest=3)
    for block, (placed, sizes, end) in enumerate(zip(*blocks, strict=True)):
        scores = [score for score, _ in everything(placed, sizes, end, contiguous=contiguous, cost=cost)]
        if scores:
            assert float(partition[block]) == pytest.approx(math.log(sum(map(math.exp, scores))), abs=1e-3)
        else:
            assert float(partition[block]) < FINITE_NONE / 2


def test_the_cost_of_a_gap_depends_on_the_units_before_it() -> None:
    placed, end = torch.zeros(1, 4, 3), torch.full((1, 4), -1e9)
    end[:, 3] = 0.0  # three words, starting with word 0: 0 1 2, 0 1 3, 0 2 3
    partition = log_partition(placed, torch.ones(1, 4, dtype=torch.long), end, torch.tensor([9.0, 1.0, 2.0]), largest=1)
    assert float(partition) == pytest.approx(math.log(1 + math.exp(-2) + math.exp(-1)), abs=1e-5)


def test_probabilities_of_all_sequences_sum_to_one() -> None:
    blocks = random_blocks(1, 4, 5, 6, missing=0.0)
    cost = torch.full((6,), 0.5)
    best = best_sequences(*blocks, cost, count=40, largest=3)
    shares = (best.score - log_partition(*blocks, cost, largest=3)[:, None]).exp()
    assert torch.allclose(shares.sum(1), torch.ones(4), atol=1e-4)


@pytest.mark.parametrize("contiguous", [True, False])
def test_gradients_are_finite_even_if_much_is_impossible(contiguous: bool) -> None:
    placed, sizes, end = random_blocks(2, 5, 6, 5, missing=0.6)
    placed[0] = -torch.inf
    placed, end, cost = placed.requires_grad_(), end.requires_grad_(), torch.zeros(5, requires_grad=True)
    log_partition(placed, sizes, end, None if contiguous else cost, largest=3).sum().backward()
    assert placed.grad is not None and end.grad is not None
    assert placed.grad.isfinite().all() and end.grad.isfinite().all()
    assert placed.grad[1:].abs().sum() > 0
    assert contiguous or (cost.grad is not None and cost.grad.isfinite().all())
