"""Batches hold every window once, in order, within their budget."""

from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.inference.batching import batches, window_size
from anyner.text.windows import Window


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), max_size=30), st.randoms(), st.integers(1, 200), st.none() | st.integers(1, 5))
def test_batches_are_runs_within_the_budget(sizes: list[int], random: object, tokens: int, most: int | None) -> None:
    order = list(range(len(sizes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    made = list(batches(sizes, order, tokens, most))
    assert [index for batch in made for index in batch] == order
    for number, batch in enumerate(made):
        assert len(batch) * max(sizes[i] for i in batch) <= tokens or len(batch) == 1
        assert most is None or len(batch) <= most
        if number + 1 < len(made):  # and none ends before it must
            longer = [*batch, made[number + 1][0]]
            assert len(longer) * max(sizes[i] for i in longer) > tokens or len(batch) == most


def test_a_window_counts_its_words_and_its_context() -> None:
    assert window_size(Window(0, 0, [0, 2], [1, 3], ["a", "b"], [(1,), (2, 3)], True, (4,), (5, 6))) == 6
