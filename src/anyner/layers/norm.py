"""Norms that stay in the type they are given."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Norm(nn.LayerNorm):
    """Autocast would answer in float32, which every layer behind it turns back; the sums inside are float32 either way."""

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dtype == self.weight.dtype:  # entering a context takes longer than the norm of one sentence
            return super().forward(rows)
        with torch.autocast(rows.device.type, enabled=False):
            weight, bias = self.weight.to(rows.dtype), self.bias.to(rows.dtype)
            return functional.layer_norm(rows, self.normalized_shape, weight, bias, self.eps)


class RootMeanSquareNorm(nn.RMSNorm):
    """Stays in the type it is given, as `Norm` does."""

    def forward(self, rows: Tensor) -> Tensor:
        with torch.autocast(rows.device.type, enabled=False):
            return functional.rms_norm(rows, self.normalized_shape, self.weight.to(rows.dtype), self.eps)
