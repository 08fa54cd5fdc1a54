"""Which joined sentences are like real ones: by the words at the edges of their gaps.

By chance "severe pain" and "severe nausea" are joined as often as "pain in hips" and "pain in knees". In real texts few gaps
follow "severe", many follow "in", and what several names share behind a gap is mostly a plural.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from anyner.text.align import WordEntity

Side = Literal["end", "start"]
Edge = tuple[Side, str]
"""Which side of two entities is the same, and the innermost word of it, which stands beside the gap."""

_BELIEVED = 30
"""So many real gaps are believed as much as what can be made: fewer say little about words that they do not have."""


def edges_of(words: Sequence[str], entities: Sequence[WordEntity]) -> Iterable[Edge]:
    """Those of a sentence's entities with gaps that share their first or last word with others."""
    for entity in entities:
        if len(entity.fragments) > 1:
            others = [one for one in entities if one is not entity]
            if any(one.last == entity.last for one in others):
                yield "end", words[entity.fragments[-1][0]].casefold()
            if any(one.first == entity.first for one in others):
                yield "start", words[entity.fragments[0][1] - 1].casefold()


def like_real(made: Sequence[Edge], real: Mapping[Edge, int], wanted: int, random: np.random.Generator) -> list[int]:
    """Places of so many that are made, or of all: drawn so that edges come about as often as in real sentences.

    Sides come as often as among those that are made.
    """
    if len(made) <= wanted:
        return list(range(len(made)))
    can_be, on_side = Counter(made), Counter(side for side, _ in made)
    # an edge's share of its side is what real gaps say, and what can be made, the more the fewer real ones there are; some real
    # edges cannot be made, so that shares are of those that can
    share = {edge: real.get(edge, 0) + _BELIEVED * count / on_side[edge[0]] for edge, count in can_be.items()}
    of_side = {side: sum(own for edge, own in share.items() if edge[0] == side) for side in on_side}
    weights = np.array([share[edge] / of_side[edge[0]] / can_be[edge] * on_side[edge[0]] for edge in made])  # (N,)
    drawn = random.choice(len(made), size=wanted, replace=False, p=weights / weights.sum())
    return sorted(drawn.tolist())
