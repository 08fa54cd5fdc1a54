"""The batches of an epoch: every passage once, within the limits, the same for the same seed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.examples import Example
from anyner.text.windows import Window
from anyner.training.config import TrainingConfig
from anyner.training.data.passages import Passage, Passages, epoch_batches


def passages(sizes: list[int]) -> Passages:
    """One of each size."""

    def example(words: int) -> Example:
        starts = list(range(words))
        return Example.of(Window(0, 0, starts, [start + 1 for start in starts], ["w"] * words, [(1,)] * words), [], ("A",), None)

    return Passages([example(size) for size in sizes], 200, seed=0, one_each=True)


class Drawn(Passages):
    """Passages of given sizes and numbers of sentences."""

    def __init__(self, drawn: list[tuple[int, int]]) -> None:
        self._sizes = {Passage((place,) * count, ()): size for place, (size, count) in enumerate(drawn)}

    def of(self, epoch: int) -> list[Passage]:
        return list(self._sizes)

    def size(self, passage: Passage) -> int:
        return self._sizes[passage]


drawn = st.lists(st.tuples(st.integers(1, 90), st.integers(1, 6)), min_size=1, max_size=300)


@given(drawn, st.integers(1, 9), st.integers(64, 300), st.integers(0, 5), st.sampled_from([0, 20]))
def test_every_passage_once_and_every_batch_within_its_limits(
    drawn: list[tuple[int, int]], most: int, tokens: int, epoch: int, extra: int
) -> None:
    all_passages = Drawn(drawn)
    config = TrainingConfig(batch_sentences=most, batch_tokens=tokens)
    plan = epoch_batches(all_passages, extra, config, epoch)
    assert sorted(passage.sentences for batch in plan for passage in batch) == sorted(p.sentences for p in all_passages.of(0))
    for batch in plan:
        assert len(batch) == 1 or sum(len(passage.sentences) for passage in batch) <= most
        assert len(batch) == 1 or (max(all_passages.size(passage) for passage in batch) + extra) * len(batch) <= tokens


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    config, same = TrainingConfig(batch_sentences=8), passages([1 + i % 17 for i in range(200)])
    assert epoch_batches(same, 0, config, 3) == epoch_batches(same, 0, config, 3)
    assert epoch_batches(same, 0, config, 3) != epoch_batches(same, 0, config, 4)
    assert epoch_batches(same, 0, config, 3) != epoch_batches(same, 0, TrainingConfig(batch_sentences=8, seed=1), 3)


def test_batches_are_of_like_length_but_not_in_order_of_length() -> None:
    every = passages([1 + i % 40 for i in range(400)])
    plan = [[every.size(one) for one in batch] for batch in epoch_batches(every, 0, TrainingConfig(batch_sentences=10), 0)]
    padding = sum(max(batch) * len(batch) - sum(batch) for batch in plan)
    assert padding < 0.05 * sum(map(sum, plan))
    longest = [max(batch) for batch in plan]
    assert longest != sorted(longest)
