"""How heads that write entities have them checked: the layer as their settings want it, and its loss."""

from __future__ import annotations

from anyner.architectures.base import Losses, LossPart
from anyner.architectures.generation import GenerationConfig
from anyner.encoding.encoder import States
from anyner.encoding.gold import Gold
from anyner.layers.span_check import SpanCheck


def span_check(config: GenerationConfig, word_width: int, labels: int) -> SpanCheck | None:
    if not config.check:
        return None
    return SpanCheck(
        word_width,
        config.check,
        labels,
        contiguous=bool(config.contiguous),
        dropout=config.check_dropout,
        fragments=config.check_fragments,
    )


def checking(check: SpanCheck | None, config: GenerationConfig, states: States, gold: Gold) -> Losses:
    """The check's part of the losses, if there is one."""
    if check is None:
        return {}
    return {"check": LossPart(check.loss(states.words, states.word_mask, gold), states.word_mask.sum(), config.check_weight)}
