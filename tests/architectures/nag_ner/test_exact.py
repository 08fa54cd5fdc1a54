"""The best words are those of trying everything, of equal ones the nearest, and blocks do not touch each other."""

from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from anyner.architectures.nag_ner import exact
from anyner.architectures.nag_ner.exact import NONE, Best, best_for_each, best_without_gaps, best_words

Row = tuple[int, ...]
Given = tuple[Tensor, Tensor, Tensor]
MORE_THAN_ALL = 40
counts, gaps = st.sampled_from([1, 3, MORE_THAN_ALL]), st.sampled_from([0.0, 0.7])
seeds, few, yes_or_no = st.integers(0, 2**20), st.integers(1, 6), st.booleans()


def random_blocks(seed: int, blocks: int, words: int, units: int, *, longest: int = 3, missing: float = 0.15) -> Given:
    """Log scores and sizes; some words stand nowhere, some not at some place, some places are no end."""
    draw = torch.Generator().manual_seed(seed)
    placed = torch.randn(blocks, words, units, generator=draw) * 2 - 2
    placed[torch.rand(placed.shape, generator=draw) < missing] = NONE
    placed[torch.rand(blocks, words, generator=draw) < missing / 2] = NONE
    end = torch.randn(blocks, units + 1, generator=draw) * 2 - 2
    end[torch.rand(end.shape, generator=draw) < missing / 2] = NONE
    return placed, torch.randint(1, longest + 1, (blocks, words), generator=draw), end


def random_links(seed: int, blocks: int, words: int) -> Tensor:
    """Of all pairs of words, those that no gap can lie between as well."""
    return torch.randn(blocks, words, words, generator=torch.Generator().manual_seed(seed)) * 2


def searched(
    placed: Tensor,
    sizes: Tensor,
    end: Tensor,
    *,
    count: int,
    contiguous: bool,
    gap: float = 0.0,
    links: Tensor | None = None,
) -> Best:
    """With a gap that costs the same everywhere."""
    return best_words(placed, sizes, end, None if contiguous else torch.full((placed.shape[2],), gap), count=count, links=links)


def score_of(row: Row, placed: Tensor, sizes: Tensor, end: Tensor, *, gap: float, links: Tensor | None) -> float:
    """That of one row of one block, -inf where it does not fit."""
    score, written = 0.0, 0
    for word in row:
        if written >= placed.shape[1]:
            return NONE
        score += float(placed[word, written])
        written += int(sizes[word])
    jumps = [(before, after) for before, after in pairwise(row) if after - before > 1]
    linked = sum(float(links[jump]) for jump in jumps) if links is not None else 0.0
    return score - gap * len(jumps) + linked + float(end[written]) if written < len(end) else NONE


def everything(
    placed: Tensor, sizes: Tensor, end: Tensor, *, contiguous: bool, gap: float = 0.0, links: Tensor | None = None
) -> list[tuple[float, Row]]:
    """All rows of one block that there are, one by one, best first, equal ones in the order of their words."""
    words = len(placed)
    rows: list[Row] = [(0, *later) for size in range(words) for later in combinations(range(1, words), size)]
    if contiguous:
        rows = [row for row in rows if row[-1] == len(row) - 1]
    scored = [(score_of(row, placed, sizes, end, gap=gap, links=links), row) for row in rows]
    return sorted((item for item in scored if item[0] > NONE), key=lambda item: (-item[0], item[1]))


def found(best: Best, block: int) -> list[tuple[float, Row]]:
    scores, numbers = best.score[block].tolist(), best.count[block].tolist()
    return [
        (score, tuple(best.words[block, place, :number].tolist()))
        for place, (score, number) in enumerate(zip(scores, numbers, strict=True))
        if score > NONE
    ]


def assert_equal(one: Best, other: Best) -> None:
    assert len(one.score) == len(other.score)
    assert [found(one, block) for block in range(len(one.score))] == [found(other, block) for block in range(len(other.score))]


@settings(deadline=None, max_examples=150)
@given(seed=seeds, words=few, units=few, contiguous=st.booleans(), gap=gaps, count=counts, linked=st.booleans())
def test_the_best_are_those_of_trying_everything(
    *, seed: int, words: int, units: int, contiguous: bool, gap: float, count: int, linked: bool
) -> None:
    blocks, links = random_blocks(seed, 3, words, units), random_links(seed, 3, words) if linked else None
    best = searched(*blocks, count=count, contiguous=contiguous, gap=gap, links=links)
    assert best.score.shape == best.count.shape == (3, count)
    assert best.words.shape == (3, count, min(words, units))
    for block, (placed, sizes, end) in enumerate(zip(*blocks, strict=True)):
        own = links[block] if links is not None else None
        truth = everything(placed, sizes, end, contiguous=contiguous, gap=gap, links=own)
        rows = found(best, block)
        assert len(rows) == min(count, len(truth))
        assert (best.count[block, len(rows) :] == 0).all(), "beyond all there are, there is none"
        assert [score for score, _ in rows] == pytest.approx([score for score, _ in truth[:count]], abs=1e-4)
        assert len({row for _, row in rows}) == len(rows)
        all_scores = {row: score for score, row in truth}
        for score, row in rows:
            assert score == pytest.approx(all_scores[row], abs=1e-4)
        for place, (score, row) in enumerate(rows):
            beside = truth[max(place - 1, 0) : place] + truth[place + 1 : place + 2]
            if all(abs(score - other) > 1e-4 for other, _ in beside):
                assert row == truth[place][1]


@settings(deadline=None, max_examples=100)
@given(seed=seeds, words=few, units=few, count=counts)
def test_rows_without_gaps_are_those_of_trying_everything(*, seed: int, words: int, units: int, count: int) -> None:
    blocks = random_blocks(seed, 3, words, units)
    best = best_without_gaps(*blocks, count=count)
    assert best.score.shape == (3, count) and best.words.shape == (3, count, min(words, units))
    for block, (placed, sizes, end) in enumerate(zip(*blocks, strict=True)):
        truth = everything(placed, sizes, end, contiguous=True)[:count]
        rows = found(best, block)
        assert [score for score, _ in rows] == pytest.approx([score for score, _ in truth], abs=1e-4)
        assert {row for _, row in rows} == {row for _, row in truth} or len(truth) == count


@settings(deadline=None, max_examples=100)
@given(seed=seeds, words=few, units=few, gap=gaps)
def test_beside_the_best_stand_others_without_gaps_that_are_not_the_same(seed: int, words: int, units: int, gap: float) -> None:
    blocks = random_blocks(seed, 3, words, units)
    best, others = searched(*blocks, count=1, contiguous=False, gap=gap), best_without_gaps(*blocks, count=MORE_THAN_ALL)
    both = best.beside(others)
    for block in range(3):
        first, whole, rows = found(best, block), found(others, block), found(both, block)
        assert rows == [*first, *(one for one in whole if one[1] not in {row for _, row in first})]
        assert len({row for _, row in rows}) == len(rows)


@settings(deadline=None, max_examples=100)
@given(seed=seeds, words=few, units=few, contiguous=yes_or_no, gap=st.sampled_from([0.0, 0.5]), count=counts, linked=yes_or_no)
def test_equal_rows_are_in_the_order_of_their_words(
    *, seed: int, words: int, units: int, contiguous: bool, gap: float, count: int, linked: bool
) -> None:
    placed, sizes, end = random_blocks(seed, 3, words, units, longest=2)
    placed, end = placed.clamp(-2, 0).round(), end.clamp(-1, 0).round()  # few different sums, and no rounding in them
    placed[(torch.arange(words) % 2 == 0)[None, :, None].expand_as(placed) & (placed < -1)] = NONE
    links = random_links(seed, 3, words).clamp(-1, 1).round()
    best = searched(placed, sizes, end, count=count, contiguous=contiguous, gap=gap, links=links if linked else None)
    for block in range(3):
        own = links[block] if linked else None
        truth = everything(placed[block], sizes[block], end[block], contiguous=contiguous, gap=gap, links=own)
        assert found(best, block) == truth[:count]


def test_of_the_same_words_the_nearest_are_taken() -> None:
    """A sentence "a b c b c c": each unit is as good wherever it stands in the sentence."""
    said = torch.tensor([[-0.1, -4.0, -4.0], [-4.0, -0.1, -4.0], [-4.0, -4.0, -0.1]])  # (units, letters)
    placed = said[:, torch.tensor([0, 1, 2, 1, 2, 2])].T[None]  # (1, 6, 3)
    end = torch.tensor([[NONE, -4.0, -4.0, -0.1]])
    best = searched(placed, torch.ones(1, 6, dtype=torch.long), end, count=6, contiguous=False)
    rows = [row for _, row in found(best, 0)]
    assert rows[:5] == [(0, 1, 2), (0, 1, 4), (0, 1, 5), (0, 3, 4), (0, 3, 5)]
    assert best.score[0, :5].tolist() == pytest.approx([-0.4] * 5), "nothing is taken off for the distance"
    assert best.score[0, 5] < -1
    with_gap = searched(placed, torch.ones(1, 6, dtype=torch.long), end, count=6, contiguous=False, gap=0.7)
    assert found(with_gap, 0)[0][1] == (0, 1, 2)
    assert float(with_gap.score[0, 0]) == pytest.approx(-0.4)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_certain_scores_give_the_row_they_were_made_from(data: st.DataObject) -> None:
    words = data.draw(st.integers(1, 9))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=words, max_size=words))
    row = (0, *sorted(data.draw(st.sets(st.integers(1, words - 1)) if words > 1 else st.just(set()))))
    units = sum(sizes[word] for word in row) + data.draw(st.integers(0, 2))
    placed, end = torch.full((1, words, units), NONE), torch.full((1, units + 1), NONE)
    written = 0
    for word in row:
        placed[0, word, written] = 0.0
        written += sizes[word]
    end[0, written] = 0.0
    for contiguous in {False, row[-1] == len(row) - 1}:
        best = searched(placed, torch.tensor([sizes]), end, count=2, contiguous=contiguous)
        assert found(best, 0) == [(0.0, row)]


@settings(deadline=None, max_examples=50)
@given(seeds, st.booleans(), gaps)
def test_a_word_that_is_not_there_is_never_taken(seed: int, contiguous: bool, gap: float) -> None:
    placed, sizes, end = random_blocks(seed, 4, 6, 6, missing=0.5)
    best = searched(placed, sizes, end, count=MORE_THAN_ALL, contiguous=contiguous, gap=gap)
    for block in range(4):
        for _, row in found(best, block):
            before = [int(sizes[block, list(row[:number])].sum()) for number in range(len(row))]
            assert (placed[block, list(row), before] > NONE).all()


def test_without_its_head_a_block_has_nothing() -> None:
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
def test_a_block_has_the_same_best_whatever_the_others_are(contiguous: bool) -> None:
    blocks = random_blocks(5, 7, 6, 6)
    together = searched(*blocks, count=3, contiguous=contiguous, gap=0.7)
    for block in range(7):
        alone = searched(*(part[block : block + 1] for part in blocks), count=3, contiguous=contiguous, gap=0.7)
        assert found(alone, 0) == found(together, block)


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("largest", [1, 6 * 8 * 3 * 2, 6 * 8 * 3 * 3 + 5])
def test_blocks_that_do_not_fit_at_once_have_the_same_best(
    contiguous: bool, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = random_blocks(6, 7, 6, 6)
    at_once = searched(*blocks, count=3, contiguous=contiguous, gap=0.7)
    monkeypatch.setattr(exact, "LARGEST", largest)
    assert_equal(searched(*blocks, count=3, contiguous=contiguous, gap=0.7), at_once)


@pytest.mark.parametrize("contiguous", [False, True])
def test_no_blocks_have_no_best(contiguous: bool) -> None:
    best = searched(*random_blocks(0, 0, 5, 4), count=3, contiguous=contiguous)
    assert best.score.shape == best.count.shape == (0, 3)
    assert best.words.shape == (0, 3, 4)


def test_half_precision_and_gradients_are_left_behind() -> None:
    placed, sizes, end = random_blocks(2, 2, 5, 5)
    half = searched(placed.bfloat16().requires_grad_(), sizes.int(), end.bfloat16(), count=3, contiguous=False)
    assert half.score.dtype == torch.float32
    assert not half.score.requires_grad
    assert_equal(half, searched(placed.bfloat16().float(), sizes, end.bfloat16().float(), count=3, contiguous=False))


@pytest.mark.parametrize("contiguous", [False, True])
def test_no_number_is_waited_for_and_all_stays_on_its_device(contiguous: bool) -> None:
    """Tensors without numbers go through: what reads one, or makes another on the host, would fail."""
    placed, sizes, end = (part.to("meta") for part in random_blocks(7, 5, 6, 4))
    best = searched(placed, sizes, end, count=3, contiguous=contiguous, gap=0.7)
    assert {best.score.device.type, best.count.device.type, best.words.device.type} == {"meta"}
    assert best.words.shape == (5, 3, 4)


def test_several_ways_of_ending_are_searched_at_once() -> None:
    placed, sizes, end = random_blocks(3, 4, 5, 6)
    other = random_blocks(4, 4, 5, 6)[2]
    for contiguous in (False, True):
        both = best_for_each(placed, sizes, [end, other], None if contiguous else torch.full((6,), 0.3))
        for own, best in zip((end, other), both, strict=True):
            assert_equal(best, searched(placed, sizes, own, count=1, contiguous=contiguous, gap=0.3))


def test_some_blocks_get_more_and_the_others_keep_theirs() -> None:
    blocks = random_blocks(5, 4, 5, 6)
    single, several = (searched(*blocks, count=count, contiguous=False) for count in (1, 3))
    chosen = torch.tensor([2, 0])
    replaced = single.replaced(chosen, searched(*(part[chosen] for part in blocks), count=3, contiguous=False))
    for block in range(4):
        assert found(replaced, block) == found(several if block in (0, 2) else single, block)
