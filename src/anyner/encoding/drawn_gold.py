"""Gold drawn anew in each epoch where other models hold opinions: for heads that learn whole entities, not likelihoods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.gold import Gold, GoldArrays


def drawn_gold(gold: Gold, share: float, chance: NDArray[np.float32]) -> GoldArrays:
    """The entities to learn from: those of gold, or in a share of the sentences with opinions what the opinion holds.

    Which sentences these are, and how likely an entity must be held there, `chance` (B, 2) says, uniform in [0, 1): over many
    epochs every entity is there as often as gold and opinions together hold. Likely ones come before less likely ones, so that of
    two that exclude each other seldom both are missing. Gaps that the opinions know nothing of are as in gold.
    """
    if gold.opinions is None:
        return gold.host
    held, own = gold.opinions.host, gold.host
    listening = held.heard & (chance[:, 0] < share)  # (B,)
    gaps = own.last - own.first + 1 > np.diff(own.offsets)  # (E,)
    kept = ~listening[own.sentence] | (gaps & ~held.know_gaps[own.sentence])  # (E,)
    told = listening[held.entities.sentence] & (held.likely > chance[held.entities.sentence, 1])  # (O,)
    return own.only(kept).with_others(held.entities.only(told))
