"""Drawn numbers depend on their key and on nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.draw import Draw, Floats

KINDS = ("normal", "uniform")
keys = st.integers(0, 2**64 - 1)


def drawn(kind: str, draw: Draw, purpose: str, content: list[int], size: int) -> Floats:
    found: Floats = getattr(draw, kind)(purpose, content, size)
    return found


@given(
    st.sampled_from(KINDS), st.integers(-5, 2**40), st.integers(0, 9), st.lists(keys, min_size=1, max_size=4), st.integers(1, 9)
)
def test_a_row_depends_on_its_own_key_only(kind: str, seed: int, epoch: int, content: list[int], size: int) -> None:
    draw = Draw(seed, epoch)
    together = drawn(kind, draw, "noise", content, size)
    assert together.shape == (len(content), size)
    assert together.dtype == np.float32
    for row, key in zip(together, content, strict=True):
        assert np.array_equal(drawn(kind, Draw(seed, epoch, step=77), "noise", [key], size)[0], row)


@given(st.sampled_from(KINDS), keys, st.integers(1, 200), st.integers(0, 50))
def test_a_longer_row_begins_with_the_shorter(kind: str, key: int, size: int, more: int) -> None:
    longer = drawn(kind, Draw(3), "noise", [key], size + more)
    assert np.array_equal(longer[:, :size], drawn(kind, Draw(3), "noise", [key], size))


@pytest.mark.parametrize("kind", KINDS)
def test_different_keys_give_different_numbers(kind: str) -> None:
    rows = [
        drawn(kind, draw, purpose, [key], 8)[0]
        for draw in (Draw(0), Draw(1), Draw(0, epoch=1), Draw(10), Draw(1, epoch=10))
        for purpose in ("noise", "time")
        for key in (0, 1, 2**63, 2**64 - 1)
    ]
    assert len({tuple(row.tolist()) for row in rows}) == len(rows) == 40


def test_the_numbers_have_the_promised_distribution() -> None:
    normal = Draw(0).normal("x", range(50), 400)
    uniform = Draw(0).uniform("x", range(50), 400)
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01


def test_the_numbers_are_the_same_on_every_machine() -> None:
    normal = Draw(7, epoch=2).normal("noise", [12345], 3)[0]
    np.testing.assert_allclose(normal, [0.7816125750541687, -0.514983594417572, -1.0336899757385254], rtol=1e-6)
    np.testing.assert_allclose(Draw(7, epoch=2).uniform("noise", [12345], 3)[0], [0.07209128, 0.5255647, 0.32113326], rtol=1e-6)


def test_rows_and_neighbours_are_not_correlated() -> None:
    rows = Draw(0).uniform("x", range(2000), 8) - 0.5
    correlated = np.corrcoef(rows.T) - np.eye(8)
    assert abs(correlated).max() < 0.1
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 0.1
