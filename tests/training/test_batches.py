from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.gold import Example
from anyner.text.windows import Window
from anyner.training.batches import EpochPlans, epoch_plan, seen_in
from anyner.training.config import TrainingConfig

sizes_drawn = st.lists(st.integers(1, 90), min_size=1, max_size=300)


@given(sizes_drawn, st.integers(1, 9), st.integers(64, 300), st.integers(0, 5), st.integers(0, 5))
def test_every_example_once_and_every_batch_within_its_limits(
    sizes: list[int], most: int, tokens: int, seed: int, epoch: int
) -> None:
    plan = epoch_plan(
        range(len(sizes)), sizes, sizes, TrainingConfig(batch_sentences=most, batch_tokens=tokens, seed=seed), epoch
    )
    assert sorted(place for batch in plan for place in batch) == list(range(len(sizes)))
    for batch in plan:
        assert len(batch) <= most
        assert len(batch) == 1 or max(sizes[place] for place in batch) * len(batch) <= tokens


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    sizes = [1 + i % 17 for i in range(200)]
    config = TrainingConfig(batch_sentences=8)
    assert epoch_plan(range(len(sizes)), sizes, sizes, config, 3) == epoch_plan(range(len(sizes)), sizes, sizes, config, 3)
    assert epoch_plan(range(len(sizes)), sizes, sizes, config, 3) != epoch_plan(range(len(sizes)), sizes, sizes, config, 4)
    assert epoch_plan(range(len(sizes)), sizes, sizes, config, 3) != epoch_plan(
        range(len(sizes)), sizes, sizes, TrainingConfig(batch_sentences=8, seed=1), 3
    )


def test_batches_are_of_like_length_but_not_in_order_of_length() -> None:
    sizes = [1 + i % 40 for i in range(400)]
    plan = epoch_plan(range(len(sizes)), sizes, sizes, TrainingConfig(batch_sentences=10), 0)
    padding = sum(max(sizes[i] for i in batch) * len(batch) - sum(sizes[i] for i in batch) for batch in plan)
    assert padding < 0.05 * sum(sizes)
    longest = [max(sizes[i] for i in batch) for batch in plan]
    assert longest != sorted(longest)


def example(words: int) -> Example:
    starts = list(range(words))
    return Example.of(Window(0, 0, starts, [start + 1 for start in starts], ["w"] * words, [(1,)] * words), [], ("A",), None)


def test_an_epoch_has_what_is_to_be_seen_in_it_and_as_often() -> None:
    always, thrice, early = example(3), replace(example(3), times=3), replace(example(3), last_epoch=2)
    assert [seen_in([always, thrice, early], epoch) for epoch in range(3)] == [[0, 1, 1, 1, 2], [0, 1, 1, 1, 2], [0, 1, 1, 1]]


def test_plans_have_all_that_is_seen_within_the_limits_with_the_pieces_beside_windows() -> None:
    examples = [replace(example(1 + place % 5), times=1 + place % 2, last_epoch=1 if place % 3 else None) for place in range(60)]
    config = TrainingConfig(batch_sentences=50, batch_tokens=64)
    for extra, most in ((0, 50), (20, 3)):  # rows of one to five pieces, and of twenty more: three have room for 64
        plans = EpochPlans(examples, extra, config)
        for epoch in (0, 1):
            plan = plans.of(epoch)
            assert sorted(place for batch in plan for place in batch) == seen_in(examples, epoch)
            assert max(len(batch) for batch in plan) <= most
