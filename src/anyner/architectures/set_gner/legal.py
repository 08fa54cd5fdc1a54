"""Which symbols may follow: only real, later units of the sentence, a label at any time, and "nothing" only at the start."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from anyner.architectures.set_gner.config import Config
from anyner.architectures.set_gner.targets import SPECIAL


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every row."""

    labels: int
    contiguous: bool
    farthest: int
    """Most units from the first to the last."""

    @classmethod
    def of(cls, config: Config, labels: int) -> Rules:
        assert config.contiguous is not None and config.farthest is not None, "the settings were not fitted to a corpus"
        return cls(labels, config.contiguous, config.farthest)


def legal(first: Tensor, last: Tensor, lengths: Tensor, candidates: Tensor, rules: Rules) -> Tensor:
    """Symbols that may follow rows that began at unit `first` and now end at `last` (…): (…, labels + 2 + U) bool.

    `lengths` are the units of the rows' sentences; `candidates` (…, U) or (U,) the units that are looked at.
    """
    first, last, lengths = (one.expand_as(last)[..., None] for one in (first, last, lengths))
    unit = (candidates == last + 1) if rules.contiguous else (candidates > last)  # (…, U)
    unit = unit & (candidates < lengths) & (candidates - first < rules.farthest)
    label = torch.ones(*last.shape[:-1], rules.labels, dtype=torch.bool, device=last.device)
    nothing = (first == last).expand(*last.shape[:-1], SPECIAL)
    return torch.cat([label, nothing, unit], dim=-1)
