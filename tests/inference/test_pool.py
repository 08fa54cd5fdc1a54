"""A pool returns every window once, the oldest in the next batch, with similar ones, within the budget."""

from hypothesis import given
from hypothesis import strategies as st

from anyner.inference.batching import window_size
from anyner.inference.pool import Pool
from anyner.text.windows import Window

EXTRA = 2


def window(size: int, document: int = 0) -> Window:
    return Window(document, 0, [0], [1], ["a"], [(1,) * size])


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 300), st.integers(1, 400), st.booleans())
def test_every_window_comes_once_and_the_oldest_next(sizes: list[int], tokens: int, ahead: int, padded: bool) -> None:
    pool = Pool(tokens, EXTRA, padded=padded)
    run: list[int] = []

    def check(batch: dict[int, Window]) -> None:
        assert all(window_size(window) == sizes[number] for number, window in batch.items())
        longest = max(map(window_size, batch.values())) + EXTRA
        assert longest * len(batch) <= tokens or len(batch) == 1
        assert padded or len({sizes[number] for number in batch}) == 1
        run.extend(batch)

    for added, size in enumerate(sizes):
        pool.add(window(size))
        while pool.pieces >= ahead:
            oldest = min(set(range(added + 1)) - set(run))
            batch = pool.take()
            assert oldest in batch
            check(batch)
        assert pool.pieces == sum(sizes[number] for number in set(range(added + 1)) - set(run))
    left = pool.take_all()
    assert [min(batch) for batch in left] == sorted(min(batch) for batch in left)
    for batch in left:
        check(batch)
    assert sorted(run) == list(range(len(sizes)))
    assert pool.pieces == 0


def test_a_batch_holds_those_most_like_the_oldest() -> None:
    pool = Pool(5 * (20 + EXTRA), EXTRA)
    for size in (20, 50, 19, 1, 20, 2, 18, 50, 20, 3):
        pool.add(window(size))
    assert sorted(pool.take()) == [0, 2, 4, 6, 8]
    assert sorted(pool.take()) == [1, 7]


def test_equal_windows_come_in_their_order() -> None:
    pool = Pool(3 * (10 + EXTRA), EXTRA)
    for _ in range(7):
        pool.add(window(10))
    assert [list(pool.take()) for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [6]]
