from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anyner.encoding.wordpieces import learned_pieces

counted = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 9), max_size=12)


def by_recounting(words: dict[str, int], most: int) -> list[str]:
    """The same by recounting all pairs for each merge."""
    split = {word: [word[0], *("##" + c for c in word[1:])] for word in words}
    single = Counter({p: 0 for pieces in split.values() for p in pieces})
    for word, pieces in split.items():
        for piece in pieces:
            single[piece] += words[word]
    learned = sorted(single, key=lambda p: (-single[p], p))[:most]
    while len(learned) < most:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in split.items():
            for pair in pairwise(pieces):
                pairs[pair] += words[word]
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < 2:
            break
        joined = best[0] + best[1][2:]
        for word, pieces in split.items():
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == best:
                    merged[-1] = joined
                else:
                    merged.append(piece)
            split[word] = merged
        if joined not in learned:
            learned.append(joined)
    return learned


@given(counted, st.integers(1, 30))
def test_pieces_equal_those_of_recounting(words: dict[str, int], most: int) -> None:
    assert learned_pieces(words, most) == by_recounting(words, most)


@given(counted, st.randoms(use_true_random=False))
def test_the_order_of_the_words_does_not_matter(words: dict[str, int], random: object) -> None:
    shuffled = list(words.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert learned_pieces(dict(shuffled), 20) == learned_pieces(words, 20)
