"""Batches hold every window once, in order, within their budget."""

from hypothesis import given
from hypothesis import strategies as st

from anyner.inference.batching import batches, longest_first, window_size
from anyner.text.windows import Window


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


def test_without_padding_a_batch_holds_windows_of_one_size() -> None:
    windows = [_window(own, context) for own, context in ((3, 2), (9, 1), (4, 1), (2, 0), (5, 0), (9, 1))]
    sizes = list(map(window_size, windows))
    made = list(batches(sizes, longest_first(windows, padded=False), 10, padded=False))
    assert [sorted(sizes[place] for place in batch) for batch in made] == [[10], [10], [5, 5], [5], [2]]


def test_a_window_counts_its_words_and_its_context() -> None:
    assert window_size(Window(0, 0, [0, 2], [1, 3], ["a", "b"], [(1,), (2, 3)], (4,), (5, 6))) == 6


def _window(own: int, context: int) -> Window:
    return Window(0, 0, [0], [1], ["a"], [(1,) * own], (), (2,) * context)


def test_without_context_the_longest_come_first_and_with_it_own_words_count_more() -> None:
    assert longest_first([_window(own, 0) for own in (3, 9, 1, 5)]) == [1, 3, 0, 2]
    much_context, many_words = _window(10, 60), _window(40, 10)
    assert window_size(much_context) > window_size(many_words)
    assert longest_first([much_context, many_words]) == [1, 0]
