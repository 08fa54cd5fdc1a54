from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from anyner.errors import AnynerError
from anyner.storage.quantized import to_stored
from anyner.storage.weights import Weights

TABLE = torch.randn(80, 64, generator=torch.Generator().manual_seed(0))
WEIGHTS = {"table": TABLE, "bias": torch.linspace(-3, 3, 64), "small": torch.eye(5), "count": torch.tensor([7])}


def read_back(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Through a file, as numpy reads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        save_file(dict(stored), path)
        return {name: torch.from_numpy(weight) for name, weight in Weights(path).items()}


def test_float32_comes_back_exactly() -> None:
    back = read_back(to_stored(WEIGHTS, "float32"))
    assert back.keys() == WEIGHTS.keys()
    assert all(torch.equal(back[name], weight) and back[name].dtype == weight.dtype for name, weight in WEIGHTS.items())


def test_bfloat16_comes_back_within_its_precision_and_whole_numbers_exactly() -> None:
    stored = to_stored(WEIGHTS, "bfloat16")
    assert stored["table"].dtype == torch.bfloat16
    back = read_back(stored)
    assert back["table"].dtype == torch.float32
    assert torch.allclose(back["table"], TABLE, rtol=2**-8)
    assert torch.equal(back["count"], WEIGHTS["count"])


@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.sampled_from([(70, 1), (64, 2), (96, 3)]))
def test_int8_is_wrong_by_at_most_half_a_step_of_its_columns(seed: int, factor: float, columns: tuple[int, int]) -> None:
    """32 columns share a step; a row that cannot be divided so has one step."""
    width, groups = columns
    weight = torch.randn(70, width, generator=torch.Generator().manual_seed(seed)) * factor
    stored = to_stored({"w": weight}, "int8")
    assert stored["w.int8_scale"].shape == (70, groups)
    back = read_back(stored)["w"]
    step = weight.unflatten(1, (groups, -1)).abs().amax(2, keepdim=True) / 127
    assert ((back - weight).abs().unflatten(1, (groups, -1)) <= 0.5001 * step).all()


@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_the_embedding_has_4_bits_and_is_wrong_by_at_most_a_step(seed: int, factor: float) -> None:
    """Half a step; a whole one for numbers of the largest magnitude and the opposite sign: there is a -8 and no +8."""
    weight = torch.randn(70, 64, generator=torch.Generator().manual_seed(seed)) * factor
    stored = to_stored({"w": weight, "other": weight}, "int8", "w")
    assert set(stored) == {"w.int4_rows", "w.int4_scale", "other.int8_rows", "other.int8_scale"}
    assert stored["w.int4_rows"].shape == (70, 32) and stored["w.int4_rows"].dtype == torch.uint8
    back = read_back(stored)["w"]
    groups, wrong = weight.unflatten(1, (2, -1)), (back - weight).abs().unflatten(1, (2, -1))
    step = groups.abs().amax(2, keepdim=True) / 8
    assert (wrong <= 1.001 * step).all()
    assert (wrong[groups.abs() <= 7.5 * step] <= 0.501 * step.expand_as(groups)[groups.abs() <= 7.5 * step]).all()


def test_rows_of_4_bits_are_read_alone_as_in_the_whole_table(tmp_path: Path) -> None:
    table = torch.cat((TABLE, torch.zeros(1, 64)))
    save_file(to_stored({"w": table}, "int8", "w"), tmp_path / "m.safetensors")
    weights = Weights(tmp_path / "m.safetensors")
    assert weights.shapes == {"w": (81, 64)}
    numbers = np.array([80, 3, 3, 0])
    assert np.array_equal(weights.rows("w")(numbers), weights["w"][numbers])
    assert not weights["w"][80].any()


def test_an_embedding_that_has_no_groups_of_columns_stays_in_8_bits() -> None:
    assert set(to_stored({"w": torch.randn(70, 70)}, "int8", "w")) == {"w.int8_rows", "w.int8_scale"}


def test_int8_keeps_small_tables_and_vectors_as_they_are() -> None:
    stored = to_stored(WEIGHTS, "int8")
    assert set(stored) == {"table.int8_rows", "table.int8_scale", "bias", "small", "count"}
    assert stored["table.int8_rows"].dtype == torch.int8
    assert torch.equal(stored["small"], WEIGHTS["small"])


def test_int8_takes_rows_of_zeros_and_tables_of_more_dimensions() -> None:
    weight = torch.zeros(4, 64, 32)
    weight[1] = torch.randn(64, 32, generator=torch.Generator().manual_seed(1))
    stored = to_stored({"w": weight}, "int8")
    assert stored["w.int8_scale"].shape == (4, 64, 1)
    back = read_back(stored)["w"]
    assert torch.equal(back[0], weight[0])
    assert torch.allclose(back, weight, atol=0.02)


def test_tensors_that_share_memory_are_stored_apart() -> None:
    stored = to_stored({"a": TABLE, "b": TABLE}, "float32")
    assert stored["a"].data_ptr() != stored["b"].data_ptr()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("shape", [(80, 5), (79, 2), (80, 2, 1), (80, 0), ()])
def test_a_scale_that_does_not_fit_is_named(shape: tuple[int, ...], bits: int) -> None:
    stored = {**to_stored(WEIGHTS, "int8", "table" if bits == 4 else None), f"table.int{bits}_scale": torch.ones(shape)}
    with pytest.raises(AnynerError, match=r"m\.safetensors: the scale of table does not fit it"):
        read_back(stored)


def test_a_missing_scale_is_named() -> None:
    stored = to_stored(WEIGHTS, "int8")
    del stored["table.int8_scale"]
    with pytest.raises(AnynerError, match=r"m\.safetensors: the scale of table is missing"):
        read_back(stored)
