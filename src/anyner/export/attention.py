"""Attention in a graph, with fewer operations than the exporter's own translation."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch
from onnxscript import opset18 as op
from onnxscript.function_libs.torch_lib.ops.nn import aten_scaled_dot_product_attention

_MASKED = -1e9
"""Far below every score. With -inf a fully masked row would be NaN, and a guard against that is another pass over all scores."""


def attention(  # noqa: PLR0917  as in torch
    query: Any,  # (B, heads, N, size)
    key: Any,  # (B, heads, S, size)
    value: Any,  # (B, heads, S, size)
    attn_mask: Any = None,  # true: seen; or added to the scores
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:  # (B, heads, N, size)
    """`torch.nn.functional.scaled_dot_product_attention`, with its parameter names. Dropout is ignored: it is for training."""
    if is_causal or enable_gqa:
        return aten_scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    transposed = op.Transpose(key, perm=[0, 1, 3, 2])  # (B, heads, size, S)
    scores = op.MatMul(op.Mul(query, op.Constant(value_float=factor)), transposed)  # (B, heads, N, S)
    if attn_mask is not None and attn_mask.dtype == ir.DataType.BOOL:
        seen: Any = op.Constant(value_float=0.0)
        attn_mask = op.Where(attn_mask, seen, op.Constant(value_float=_MASKED))
    if attn_mask is not None:
        scores = op.Add(scores, attn_mask)
    return op.MatMul(op.Softmax(scores, axis=-1), value)


TRANSLATIONS = {torch.ops.aten.scaled_dot_product_attention.default: attention}
"""For `custom_translation_table` of torch's exporter."""
