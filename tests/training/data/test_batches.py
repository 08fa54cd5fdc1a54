from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.examples import Example
from anyner.text.windows import Window
from anyner.training.config import TrainingConfig
from anyner.training.data.batches import EpochPlans, epoch_batches
from anyner.training.data.passages import Passages

passages_drawn = st.lists(st.tuples(st.integers(1, 90), st.integers(1, 6)), min_size=1, max_size=300)


@given(passages_drawn, st.integers(1, 9), st.integers(64, 300), st.integers(0, 5), st.integers(0, 5))
def test_every_passage_once_and_every_batch_within_its_limits(
    passages: list[tuple[int, int]], most: int, tokens: int, seed: int, epoch: int
) -> None:
    sizes, sentences = [size for size, _ in passages], [count for _, count in passages]
    plan = epoch_batches(sizes, sentences, TrainingConfig(batch_sentences=most, batch_tokens=tokens, seed=seed), epoch)
    assert sorted(place for batch in plan for place in batch) == list(range(len(sizes)))
    for batch in plan:
        assert len(batch) == 1 or sum(sentences[place] for place in batch) <= most
        assert len(batch) == 1 or max(sizes[place] for place in batch) * len(batch) <= tokens


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    sizes, ones, config = [1 + i % 17 for i in range(200)], [1] * 200, TrainingConfig(batch_sentences=8)
    assert epoch_batches(sizes, ones, config, 3) == epoch_batches(sizes, ones, config, 3)
    assert epoch_batches(sizes, ones, config, 3) != epoch_batches(sizes, ones, config, 4)
    assert epoch_batches(sizes, ones, config, 3) != epoch_batches(sizes, ones, TrainingConfig(batch_sentences=8, seed=1), 3)


def test_batches_are_of_like_length_but_not_in_order_of_length() -> None:
    sizes = [1 + i % 40 for i in range(400)]
    plan = epoch_batches(sizes, [1] * 400, TrainingConfig(batch_sentences=10), 0)
    padding = sum(max(sizes[i] for i in batch) * len(batch) - sum(sizes[i] for i in batch) for batch in plan)
    assert padding < 0.05 * sum(sizes)
    longest = [max(sizes[i] for i in batch) for batch in plan]
    assert longest != sorted(longest)


def example(words: int) -> Example:
    starts = list(range(words))
    return Example.of(Window(0, 0, starts, [start + 1 for start in starts], ["w"] * words, [(1,)] * words), [], ("A",), None)


def test_plans_stay_within_the_limits_with_the_pieces_beside_windows() -> None:
    examples = [example(1 + place % 5) for place in range(60)]
    config = TrainingConfig(batch_sentences=50, batch_tokens=64)
    for extra, most in ((0, 50), (20, 3)):  # rows of one to five pieces, and of twenty more: three have room for 64
        plan = EpochPlans(Passages(examples, 100, seed=0, one_each=True), extra, config).of(0)
        assert sorted(place for batch in plan.batches for place in batch) == list(range(60))
        assert max(len(batch) for batch in plan.batches) <= most


def test_frozen_epochs_have_the_passages_of_the_first_in_other_batches() -> None:
    plans = EpochPlans(
        Passages([example(5) for _ in range(60)], 60, seed=0), 0, TrainingConfig(frozen_epochs=2, batch_sentences=8)
    )
    first, second, third = (plans.of(epoch) for epoch in range(3))
    assert first.passages == second.passages != third.passages
    assert first.batches != second.batches
