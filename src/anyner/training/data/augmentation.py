"""Coordination augmentation: new sentences in which an entity is coordinated with others of its label that begin or end alike.

"IL-2 gene" becomes "IL-2 and GATA-1 gene", with a discontinuous "IL-2 … gene" beside "GATA-1 gene"; "pain in my hips" becomes
"pain in my hips and knees". Most discontinuous entities of real corpora are such coordinations, and there are few of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Literal

import numpy as np

from anyner.document import Document, Entity
from anyner.text.align import WordEntity, to_words
from anyner.text.config import TextConfig
from anyner.text.windows import words_of

Side = Literal["end", "start"]
_Key = tuple[str, frozenset[str] | None, Side, tuple[str, ...]]
_TRIES = 4
"""Candidates sampled for each additional conjunct."""
_MORE_THAN_TWO = 0.25
"""Share of coordinations with more than two conjuncts."""
_SHORTEST_SHARED = 2
"""Minimum letters in the innermost shared word: numbers and single letters belong to names, they are not what names share."""
_LONGER = 1
"""How many words longer the first conjunct may be: conjuncts of real coordinations have similar lengths."""
_TWO_SHARED = 0.7
"""Share of coordinations with two or more shared words, about as in real text. Left to chance, it would be a fifth, and a
model would learn to skip to the last word."""
_PASSES = 3
"""Maximum number of times that every entity is tried."""
_CONJUNCTIONS = ("and", "and", "and", "or")
_MOST_CONJUNCTS = 6
_SIDES: tuple[Side, Side] = ("end", "start")


@dataclass(frozen=True, slots=True)
class _Sentence:
    document: Document
    words: tuple[str, ...]
    entities: tuple[WordEntity, ...]


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """An entity that can be coordinated with others, and its inner entities, counted from its first word."""

    label: str
    words: tuple[str, ...]
    inner: tuple[WordEntity, ...]
    annotated: frozenset[str] | None
    """The labels that its sentence annotates: its partners must annotate the same."""

    def key(self, side: Side, shared: int) -> _Key:
        """Conjuncts with equal keys share at least `shared` words on that side."""
        common = self.words[-shared:] if side == "end" else self.words[:shared]
        return self.label, self.annotated, side, tuple(word.casefold() for word in common)


def augmented(documents: Sequence[Document], share: float, text: TextConfig, seed: int = 0) -> tuple[Document, ...]:
    """New sentences, at most `share` times the number of documents.

    The first or the last words are shared as often as in the documents' own discontinuous entities.
    """
    if not share:
        return ()
    sentences = [sentence for document in documents if (sentence := _in_words(document, text)) is not None]
    several = [_Place(one, e, _conjunct(one, e)) for one in sentences for e in one.entities if _of_several_words(e)]
    partners: dict[_Key, list[_Conjunct]] = defaultdict(list)
    for place in several:
        for side in _SIDES:
            for shared in (1, 2):
                partners[place.own.key(side, shared)].append(place.own)
    random, at_the_end = np.random.default_rng(seed), _share_at_the_end(sentences)
    maximum = round(share * len(documents))
    new: list[Document] = []
    for number in chain.from_iterable(random.permutation(len(several)).tolist() for _ in range(_PASSES)):
        if len(new) >= maximum:
            break
        place, side = several[number], _SIDES[random.random() >= at_the_end]
        shared = 2 if random.random() < _TWO_SHARED else 1
        count = int(random.integers(2, _MOST_CONJUNCTS)) if random.random() < _MORE_THAN_TWO else 1
        coordination = _coordination(place, side, partners[place.own.key(side, shared)], count, random)
        if coordination is not None:
            new.append(coordination)
    return tuple(new)


@dataclass(frozen=True, slots=True)
class _Place:
    """An entity in its sentence."""

    sentence: _Sentence
    entity: WordEntity
    own: _Conjunct

    @property
    def others(self) -> list[WordEntity]:
        return [one for one in self.sentence.entities if one is not self.entity]


def _of_several_words(entity: WordEntity) -> bool:
    return len(entity.fragments) == 1 and entity.last > entity.first


def _in_words(document: Document, text: TextConfig) -> _Sentence | None:
    """None for documents that cannot be rewritten word by word."""
    spans = list(words_of(document, text))
    aligned = to_words(document.entities, [start for start, _ in spans], [end for _, end in spans])
    if aligned.misaligned or not aligned.entities:
        return None
    return _Sentence(document, tuple(document.text[start:end] for start, end in spans), tuple(aligned.entities))


def _conjunct(sentence: _Sentence, entity: WordEntity) -> _Conjunct:
    first, last = entity.first, entity.last
    inner = (one for one in sentence.entities if one is not entity and first <= one.first and one.last <= last)
    inside = tuple(_shifted(one, -first) for one in inner)
    return _Conjunct(entity.label, sentence.words[first : last + 1], inside, sentence.document.labels)


def _shifted(entity: WordEntity, by: int, from_word: int = 0) -> WordEntity:
    """The entity with its fragments from `from_word` on shifted by `by` words."""
    shifted = ((start + by, end + by) if start >= from_word else (start, end) for start, end in entity.fragments)
    return replace(entity, fragments=tuple(shifted))


def _share_at_the_end(sentences: Sequence[_Sentence]) -> float:
    """Share of the discontinuous entities that share their last word, not their first, with another; smoothed towards 1/2."""
    counts: Counter[Side] = Counter()
    for sentence in sentences:
        for entity in sentence.entities:
            if len(entity.fragments) > 1:
                others = [one for one in sentence.entities if one is not entity]
                counts["end"] += any(one.last == entity.last for one in others)
                counts["start"] += any(one.first == entity.first for one in others)
    return (counts["end"] + 1) / (counts["end"] + counts["start"] + 2)


def _coordination(
    place: _Place, side: Side, candidates: Sequence[_Conjunct], count: int, random: np.random.Generator
) -> Document | None:
    """The sentence with up to `count` partners; None if none fits or another entity is in the way."""
    own = place.own
    partners: list[_Conjunct] = []
    for choice in random.integers(len(candidates), size=_TRIES * count).tolist():
        partner = candidates[choice]
        # with a longer partner the meaning changes: in "normal and activated T cells" the normal ones are T cells too
        alike_in_length = 0 <= len(own.words) - len(partner.words) <= _LONGER
        if len(partners) < count and alike_in_length and all(_differ(partner, one, side) for one in (own, *partners)):
            partners.append(partner)
    shared = min((_alike(own, partner, side) for partner in partners), default=0)
    if not partners or any(_touches(one, len(partner.words), shared, side) for partner in partners for one in partner.inner):
        return None
    word = place.entity.last + 1 - (shared if side == "end" else 0)
    if any(start < word < end for one in place.others for start, end in one.fragments):
        return None
    conjunction = _CONJUNCTIONS[int(random.integers(len(_CONJUNCTIONS)))]
    before = [","] * (len(partners) - 1) + [conjunction]
    return _rewritten(place, side, word, shared, list(zip(before, partners, strict=True)))


def _rewritten(place: _Place, side: Side, word: int, shared: int, partners: Sequence[tuple[str, _Conjunct]]) -> Document:
    """The sentence with partners inserted before `word`, each after its comma or conjunction; `shared` words are shared."""
    entity, document, words = place.entity, place.sentence.document, place.sentence.words
    at_the_end = side == "end"
    inserted: list[str] = []
    found: list[WordEntity] = []
    parts: list[tuple[int, int]] = []  # the own words of each partner
    for joining, partner in partners:
        inserted.append(joining)
        begin = word + len(inserted)
        inserted.extend(partner.words[:-shared] if at_the_end else partner.words[shared:])
        parts.append((begin, word + len(inserted)))
        found.extend(_shifted(one, begin if at_the_end else begin - shared) for one in partner.inner)
    more = len(inserted)
    if at_the_end:
        common = (word + more, word + more + shared)
        found.extend(WordEntity(entity.label, _fragments(part, common)) for part in [(entity.first, word), *parts])
    else:
        common = (entity.first, entity.first + shared)
        found.extend([entity, *(WordEntity(entity.label, _fragments(common, part)) for part in parts)])
    found.extend(_shifted(one, more, from_word=word) for one in place.others)
    return Document.from_words(
        (*words[:word], *inserted, *words[word:]),
        (Entity(one.label, one.fragments) for one in dict.fromkeys(found)),
        id=f"{document.id}+",
        labels=document.labels,
        before=document.before,
        after=document.after,
    )


def _fragments(one: tuple[int, int], other: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """One fragment where they touch: the last conjunct is contiguous."""
    return ((one[0], other[1]),) if one[1] == other[0] else (one, other)


def _differ(one: _Conjunct, other: _Conjunct, side: Side) -> bool:
    """Whether both have own words beside the shared ones."""
    return len(_run(one, other, side)) < min(len(one.words), len(other.words)) and _alike(one, other, side) > 0


def _alike(one: _Conjunct, other: _Conjunct, side: Side) -> int:
    """Number of words that both share on that side; the innermost is a real word: coordinations do not split hyphenated words."""
    shared = _run(one, other, side)
    while shared and not (len(shared[-1]) >= _SHORTEST_SHARED and shared[-1].isalpha()):
        shared.pop()
    return len(shared)


def _run(one: _Conjunct, other: _Conjunct, side: Side) -> list[str]:
    """The equal words from that side on."""
    step = -1 if side == "end" else 1
    pairs = zip(one.words[::step], other.words[::step], strict=False)
    return [word for word, _ in takewhile(lambda pair: pair[0].casefold() == pair[1].casefold(), pairs)]


def _touches(inner: WordEntity, words: int, shared: int, side: Side) -> bool:
    """Whether an inner entity overlaps the shared words."""
    return inner.last >= words - shared if side == "end" else inner.first < shared
