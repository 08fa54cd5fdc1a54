"""Attention as graphs translate it, against torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.export.attention import TRANSLATIONS

SEEN = torch.tensor([[True, True, True, False, False], [True, False, False, False, False]])[:, None, None]  # (B, 1, 1, S)


class Attending(nn.Module):
    def __init__(self, *, causal: bool, scale: float | None, shares_keys: bool) -> None:
        super().__init__()
        self.how = {"is_causal": causal, "scale": scale, "enable_gqa": shares_keys}

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, mask, 0.0, **self.how)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "scale"), [("bool", None), ("float", 1.0), ("none", None), ("causal", None), ("shared", None)])
def test_a_graph_attends_as_torch_does(kind: str, scale: float | None, tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(0)
    heads = 2 if kind == "shared" else 4
    query, key, value = (torch.randn(2, number, 5, 8, generator=random) for number in (4, heads, heads))
    masks = {"bool": SEEN, "float": torch.randn(2, 1, 5, 5, generator=random)}
    inputs = (query, key, value, *((masks[kind],) if kind in masks else ()))
    module = Attending(causal=kind == "causal", scale=scale, shares_keys=kind == "shared").eval()
    path = tmp_path / "graph.onnx"
    torch.onnx.export(module, inputs, path, dynamo=True, custom_translation_table=TRANSLATIONS, verbose=False)
    session = onnxruntime.InferenceSession(path)
    given = {own.name: tensor.numpy() for own, tensor in zip(session.get_inputs(), inputs, strict=True)}
    assert session.run(None, given)[0] == pytest.approx(module(*inputs).numpy(), abs=1e-5)
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert "IsNaN" not in kinds or kind == "causal", "a pass over all scores"
    if kind == "bool":
        hidden = {name: array.copy() for name, array in given.items()}
        hidden[session.get_inputs()[3].name][1] = False
        assert np.isfinite(session.run(None, hidden)[0]).all(), "a fully masked row"
