"""Training passages of one, a few or many sentences, sampled again in each epoch, because real text has all these lengths;
and the batches of each epoch: passages of similar length, shuffled, the same for the same seed.

A source document is read whole, in short passages, or sentence by sentence, each with the same probability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from anyner.encoding.examples import Example
from anyner.inference.batching import batches, window_size
from anyner.training.config import TrainingConfig

_SENTENCE_ENDS = frozenset(".!?。！？…")
_CLOSING = frozenset("\"'”’»)]】」』")
_FEW = 4
"""Mean number of sentences in a short passage."""
_KINDS = 3
"""Whole, in short passages, sentence by sentence."""
_POOL = 50
"""Batches sorted by length together: enough to save padding, few enough to keep each batch a random sample."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences that are read together."""

    sentences: tuple[int, ...]
    breaks: tuple[bool, ...]
    """Whether a line break stands before each of them."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    example: Example
    size: int
    """Its own pieces, and the separators between its lines."""
    goes_on: bool
    """Whether it follows the sentence before it in the same text; the text then decides whether a line break separates them."""


class Passages:
    """The passages of every epoch of a training."""

    def __init__(self, examples: Sequence[Example], room: int, seed: int, one_each: bool = False) -> None:
        """A passage has at most `room` pieces. `one_each`: every example is one passage."""
        self._sentences: list[_Sentence] = []
        self._room, self._seed = room, seed
        groups: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
        for place, example in enumerate(examples):
            parts = [example] if one_each else sentences_of(example)
            stands_for_itself = one_each or (example.source is None and len(parts) > _FEW)
            source = place if stands_for_itself else example.source
            for number, part in enumerate(parts):
                groups[(source, *_alike(part))].append(len(self._sentences))
                size = window_size(part.window) - len(part.window.before) - len(part.window.after)
                self._sentences.append(_Sentence(part, size, goes_on=number > 0))
        self._groups = [(key[0], tuple(places)) for key, places in groups.items()]

    def of(self, epoch: int) -> list[Passage]:
        """The passages of an epoch, counted from 0."""
        random = np.random.default_rng([self._seed, epoch])
        return [
            passage
            for source, places in self._groups
            for again in range(max(self._sentences[place].example.times for place in places))
            for passage in self._drawn([p for p in places if self._sentences[p].example.times > again], source, random)
        ]

    def example(self, passage: Passage) -> Example:
        return Example.joined([self._sentences[place].example for place in passage.sentences], passage.breaks)

    def size(self, passage: Passage) -> int:
        """Pieces that go through the encoder, special ones aside."""
        first, last = (self._sentences[passage.sentences[end]].example.window for end in (0, -1))
        own = sum(self._sentences[place].size for place in passage.sentences)
        return own + sum(passage.breaks) + len(first.before) + len(last.after)

    def _drawn(self, places: Sequence[int], source: Hashable, random: np.random.Generator) -> Iterator[Passage]:
        # sentences without a `doc` are read together in file order
        documents = [places] if source is not None else self._runs(places, lambda: len(places))
        for document in documents:
            kind = int(random.integers(_KINDS))
            break_rate = random.choice((0.0, 0.5, 1.0))  # separated by blanks, by either, by line breaks
            for together in self._runs(document, partial(_most, kind, len(document), random)):
                drawn = random.random(len(together)) < break_rate
                yield Passage(tuple(together), tuple(self._breaks(together, drawn.tolist())))

    def _runs(self, places: Sequence[int], draw_most: Callable[[], int]) -> Iterator[list[int]]:
        """Consecutive sentences that fit into a window, at most as many as `draw_most` says each time."""
        held: list[int] = []
        size, most = 0, 0
        for place in places:
            window, own = self._sentences[place].example.window, self._sentences[place].size + 1
            if held and (len(held) >= most or size + own + len(window.after) > self._room):
                yield held
                held = []
            if not held:
                most = draw_most()
                size = len(window.before)
            held.append(place)
            size += own
        if held:
            yield held

    def _breaks(self, places: Sequence[int], drawn: Sequence[bool]) -> Iterator[bool]:
        yield False
        for (before, place), by_chance in zip(pairwise(places), drawn[1:], strict=True):
            known = self._sentences[place].goes_on and place == before + 1
            yield self._sentences[place].example.window.line_starts[:1] == (0,) if known else by_chance


def epoch_batches(passages: Passages, extra: int, config: TrainingConfig, epoch: int) -> list[list[Passage]]:
    """The batches of an epoch, counted from 0. `extra`: pieces that each row has besides those of its passage."""
    drawn = passages.of(epoch)
    sizes = [passages.size(passage) + extra for passage in drawn]
    sentences = [len(passage.sentences) for passage in drawn]
    random = np.random.default_rng([config.seed, epoch])
    order = random.permutation(len(sizes)).tolist()
    pool = max(1, round(_POOL * config.batch_sentences * len(sizes) / max(1, sum(sentences))))
    plan: list[list[int]] = []
    for start in range(0, len(order), pool):
        sorted_pool = sorted(order[start : start + pool], key=sizes.__getitem__)
        plan.extend(batches(sizes, sorted_pool, config.batch_tokens, config.batch_sentences, sentences))
    return [[drawn[place] for place in plan[number]] for number in random.permutation(len(plan))]


def _most(kind: int, sentences: int, random: np.random.Generator) -> int:
    """Most sentences of the next passage."""
    return (sentences, 1 + int(random.geometric(1 / (_FEW - 1))), 1)[kind]


def _alike(example: Example) -> tuple[Hashable, ...]:
    """What examples of one passage must have in common."""
    soft = example.soft_labels
    return (example.annotated.tobytes(), None if soft is None else (soft.weight, soft.covers_discontinuous))


def sentences_of(example: Example) -> list[Example]:
    """The example split into sentences by simple rules; no entity is cut."""
    cuts = [0, *_cuts(example), len(example.window.words)]
    return [example.part(first, stop) for first, stop in pairwise(cuts)] if len(cuts) > 2 else [example]


def _cuts(example: Example) -> Iterator[int]:
    """Words at which a sentence begins: after a full stop and closing marks, or on a new line."""
    words, lines = example.window.words, frozenset(example.window.line_starts)
    covered = np.zeros(len(words) + 1, dtype=np.int64)  # whether an entity reaches from the word before into this one
    np.add.at(covered, example.entities.first + 1, 1)
    np.add.at(covered, example.entities.last + 1, -1)
    inside = np.cumsum(covered) > 0
    ended = False
    for place, word in enumerate(words):
        begins = place in lines or (ended and word not in _CLOSING and word not in _SENTENCE_ENDS)
        if begins and place and not inside[place]:
            yield place
        ended = word in _SENTENCE_ENDS or (ended and not begins)
