"""What heads that write entities learn to write."""

from __future__ import annotations

from anyner.architectures.draw import Draw
from anyner.architectures.generation import GenerationConfig
from anyner.encoding.drawn_gold import drawn_gold
from anyner.encoding.encoder import States
from anyner.encoding.gold import Gold, GoldArrays


def to_write(config: GenerationConfig, states: States, gold: Gold, draw: Draw) -> GoldArrays:
    """Gold, or where the settings want it what other models hold, drawn anew in each epoch."""
    if not config.opinions:
        return gold.host
    return drawn_gold(gold, config.opinions, draw.uniform("opinions", states.content_keys, 2))
