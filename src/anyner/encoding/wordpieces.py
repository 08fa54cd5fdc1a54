"""Learns a WordPiece vocabulary from word counts: the same counts give the same vocabulary on every machine.

The trainer of the tokenizers library breaks ties by the order of a randomly seeded hash map: two processes of one training,
or a training and its resumption, would get different vocabularies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

INSIDE = "##"
"""Prefix of every piece that does not begin a word."""
_LEAST = 2
Pair = tuple[str, str]


def learned_pieces(words: Mapping[str, int], most: int) -> list[str]:
    """At most `most` pieces: single characters, most frequent first, then merges of the most frequent neighbours."""
    ordered = sorted(words.items())
    split = [[word[0], *(INSIDE + character for character in word[1:])] for word, _ in ordered if word]
    counts = [count for word, count in ordered if word]
    characters: Counter[str] = Counter()
    for pieces, count in zip(split, counts, strict=True):
        for piece in pieces:
            characters[piece] += count
    learned = [piece for piece, _ in sorted(characters.items(), key=lambda item: (-item[1], item[0]))[:most]]
    known = set(learned)
    merges = _Merges(split, counts)
    while len(learned) < most and (pair := merges.most_frequent()):
        joined = merges.merge(pair)
        if joined not in known:
            known.add(joined)
            learned.append(joined)
    return learned


class _Merges:
    """Words as pieces, with the count of every pair of neighbours kept up to date."""

    def __init__(self, split: list[list[str]], counts: list[int]) -> None:
        self._split, self._counts = split, counts
        self._pairs: Counter[Pair] = Counter()
        self._where: defaultdict[Pair, set[int]] = defaultdict(set)
        for word in range(len(split)):
            self._count(word, 1)
        self._queue = [(-count, pair) for pair, count in self._pairs.items()]
        heapify(self._queue)

    def most_frequent(self) -> Pair | None:
        """The pair with the highest count, ties in alphabetical order; None if all are rare."""
        while self._queue:
            negative, pair = heappop(self._queue)
            count = self._pairs[pair]
            if count == -negative:
                return pair if count >= _LEAST else None
            if count:
                heappush(self._queue, (-count, pair))
        return None

    def merge(self, pair: Pair) -> str:
        joined = pair[0] + pair[1].removeprefix(INSIDE)
        changed: set[Pair] = set()
        for word in sorted(self._where.pop(pair)):
            self._count(word, -1)
            self._split[word] = _with_merge(self._split[word], pair, joined)
            changed.update(self._count(word, 1))
        del self._pairs[pair]
        for other in changed:
            heappush(self._queue, (-self._pairs[other], other))
        return joined

    def _count(self, word: int, sign: int) -> list[Pair]:
        found = list(pairwise(self._split[word]))
        for pair in found:
            self._pairs[pair] += sign * self._counts[word]
            if sign > 0:
                self._where[pair].add(word)
        return found


def _with_merge(pieces: list[str], pair: Pair, joined: str) -> list[str]:
    merged: list[str] = []
    place = 0
    while place < len(pieces):
        if tuple(pieces[place : place + 2]) == pair:
            merged.append(joined)
            place += 2
        else:
            merged.append(pieces[place])
            place += 1
    return merged
