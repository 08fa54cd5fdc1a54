from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyner.training.batches import epoch_plan
from anyner.training.config import TrainingConfig

sizes_drawn = st.lists(st.integers(1, 90), min_size=1, max_size=300)


@given(sizes_drawn, st.integers(1, 9), st.integers(64, 300), st.integers(0, 5), st.integers(0, 5))
def test_every_example_once_and_every_batch_within_its_limits(
    sizes: list[int], most: int, tokens: int, seed: int, epoch: int
) -> None:
    plan = epoch_plan(sizes, sizes, TrainingConfig(batch_sentences=most, batch_tokens=tokens, seed=seed), epoch)
    assert sorted(place for batch in plan for place in batch) == list(range(len(sizes)))
    for batch in plan:
        assert len(batch) <= most
        assert len(batch) == 1 or max(sizes[place] for place in batch) * len(batch) <= tokens


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    sizes = [1 + i % 17 for i in range(200)]
    config = TrainingConfig(batch_sentences=8)
    assert epoch_plan(sizes, sizes, config, 3) == epoch_plan(sizes, sizes, config, 3)
    assert epoch_plan(sizes, sizes, config, 3) != epoch_plan(sizes, sizes, config, 4)
    assert epoch_plan(sizes, sizes, config, 3) != epoch_plan(sizes, sizes, TrainingConfig(batch_sentences=8, seed=1), 3)


def test_batches_are_of_like_length_but_not_in_order_of_length() -> None:
    sizes = [1 + i % 40 for i in range(400)]
    plan = epoch_plan(sizes, sizes, TrainingConfig(batch_sentences=10), 0)
    padding = sum(max(sizes[i] for i in batch) * len(batch) - sum(sizes[i] for i in batch) for batch in plan)
    assert padding < 0.05 * sum(sizes)
    longest = [max(sizes[i] for i in batch) for batch in plan]
    assert longest != sorted(longest)
