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
from anyner.training.config import AugmentationConfig

Side = Literal["end", "start"]
_Key = tuple[str, frozenset[str] | None, Side, tuple[str, ...]]
_TRIES = 4
"""Partners sampled for each conjunct that is wanted."""
_MORE_THAN_TWO = 0.25
"""Share of coordinations with more than two conjuncts."""
_SHORTEST_SHARED = 2
"""Letters of the innermost shared word: numbers and single letters are parts of names, not what names have in common."""
_LONGER = 1
"""How many words longer the first conjunct may be: conjuncts of real coordinations have similar lengths."""
_TWO_SHARED = 0.7
"""Share of coordinations with two or more shared words, about as in real ones. By chance it would be a fifth, and a model would
learn to skip to the last word."""
_PASSES = 3
"""How often every entity is tried until there are enough sentences."""
_CONJUNCTIONS = ("and", "and", "and", "or")
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
        """Conjuncts with equal keys share at least so many words on that side."""
        common = self.words[-shared:] if side == "end" else self.words[:shared]
        return self.label, self.annotated, side, tuple(word.casefold() for word in common)


@dataclass(frozen=True, slots=True)
class _Place:
    """An entity in its sentence, and the side that its partners share."""

    sentence: _Sentence
    entity: WordEntity
    own: _Conjunct
    side: Side


def augmented(documents: Sequence[Document], config: AugmentationConfig, text: TextConfig, seed: int = 0) -> tuple[Document, ...]:
    """New sentences, at most the share of the documents that `config.coordination` asks for.

    The first or the last words are shared as often as in the documents' own discontinuous entities.
    """
    if not config.coordination:
        return ()
    sentences = [sentence for document in documents if (sentence := _in_words(document, text)) is not None]
    several = [(one, e, _conjunct(one, e)) for one in sentences for e in one.entities if _of_several_words(e)]
    partners: dict[_Key, list[_Conjunct]] = defaultdict(list)
    for _, _, conjunct in several:
        for side in _SIDES:
            for shared in (1, 2):
                partners[conjunct.key(side, shared)].append(conjunct)
    random, at_the_end = np.random.default_rng(seed), _share_at_the_end(sentences)
    wanted = round(config.coordination * len(documents))
    new: list[Document] = []
    for number in chain.from_iterable(random.permutation(len(several)).tolist() for _ in range(_PASSES)):
        if len(new) >= wanted:
            break
        sentence, entity, conjunct = several[number]
        place = _Place(sentence, entity, conjunct, "end" if random.random() < at_the_end else "start")
        shared = 2 if random.random() < _TWO_SHARED else 1
        several_partners = random.random() < _MORE_THAN_TWO and config.conjuncts > 2
        count = int(random.integers(2, config.conjuncts)) if several_partners else 1
        coordination = _coordination(place, partners[conjunct.key(place.side, shared)], count, random)
        if coordination is not None:
            new.append(coordination)
    return tuple(new)


def _of_several_words(entity: WordEntity) -> bool:
    return len(entity.fragments) == 1 and entity.last > entity.first


def _in_words(document: Document, text: TextConfig) -> _Sentence | None:
    """None for documents that cannot be rewritten word by word."""
    spans = list(words_of(document, text))
    aligned = to_words(document.entities, [start for start, _ in spans], [end for _, end in spans])
    if aligned.misaligned or document.pos is not None or not aligned.entities:
        return None
    return _Sentence(document, tuple(document.text[start:end] for start, end in spans), tuple(aligned.entities))


def _conjunct(sentence: _Sentence, entity: WordEntity) -> _Conjunct:
    first, last = entity.first, entity.last
    inner = (one for one in sentence.entities if one is not entity and first <= one.first and one.last <= last)
    inside = tuple(_shifted(one, -first) for one in inner)
    return _Conjunct(entity.label, sentence.words[first : last + 1], inside, sentence.document.labels)


def _shifted(entity: WordEntity, by: int) -> WordEntity:
    return replace(entity, fragments=tuple((start + by, end + by) for start, end in entity.fragments))


def _share_at_the_end(sentences: Sequence[_Sentence]) -> float:
    """Share of the discontinuous entities that have their last word, not their first, in common with another; else a half."""
    counts: Counter[Side] = Counter()
    for sentence in sentences:
        for entity in sentence.entities:
            if len(entity.fragments) > 1:
                others = [one for one in sentence.entities if one is not entity]
                counts["end"] += any(one.last == entity.last for one in others)
                counts["start"] += any(one.first == entity.first for one in others)
    return (counts["end"] + 1) / (counts["end"] + counts["start"] + 2)


def _coordination(place: _Place, candidates: Sequence[_Conjunct], count: int, random: np.random.Generator) -> Document | None:
    """The sentence with up to `count` partners; None where none fits or another entity is in the way."""
    own, side = place.own, place.side
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
    others = (one for one in place.sentence.entities if one is not place.entity)
    if any(start < word < end for one in others for start, end in one.fragments):
        return None
    insertion = _Insertion(word, shared, tuple(partners), _CONJUNCTIONS[int(random.integers(len(_CONJUNCTIONS)))])
    return _rewritten(place, insertion)


@dataclass(frozen=True, slots=True)
class _Insertion:
    word: int
    """Before which word of the sentence."""
    shared: int
    """Words that all conjuncts have in common."""
    partners: tuple[_Conjunct, ...]
    conjunction: str


def _rewritten(place: _Place, insertion: _Insertion) -> Document:
    sentence, entity, word, shared = place.sentence, place.entity, insertion.word, insertion.shared
    at_the_end = place.side == "end"
    inserted: list[str] = []
    found: list[WordEntity] = []
    parts: list[tuple[int, int]] = []  # the own words of each partner
    for number, partner in enumerate(insertion.partners, 1):
        inserted.append(insertion.conjunction if number == len(insertion.partners) else ",")
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
    found.extend(_behind(one, word, more) for one in sentence.entities if one is not entity)
    document = sentence.document
    return Document.from_words(
        (*sentence.words[:word], *inserted, *sentence.words[word:]),
        (Entity(one.label, one.fragments) for one in dict.fromkeys(found)),
        id=f"{document.id}+",
        labels=document.labels,
        before=document.before,
        after=document.after,
    )


def _behind(entity: WordEntity, word: int, more: int) -> WordEntity:
    """The entity after so many words are inserted before that word."""
    fragments = tuple((start + more, end + more) if start >= word else (start, end) for start, end in entity.fragments)
    return replace(entity, fragments=fragments)


def _fragments(one: tuple[int, int], other: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """One fragment where they touch: the last conjunct is contiguous."""
    return ((one[0], other[1]),) if one[1] == other[0] else (one, other)


def _differ(one: _Conjunct, other: _Conjunct, side: Side) -> bool:
    """Whether both have own words beside the shared ones."""
    return len(_run(one, other, side)) < min(len(one.words), len(other.words)) and _alike(one, other, side) > 0


def _alike(one: _Conjunct, other: _Conjunct, side: Side) -> int:
    """Number of words that both share on that side; the innermost is a real word: no coordination leaves out half of a hyphen."""
    shared = _run(one, other, side)
    while shared and not _is_word(shared[-1]):
        shared.pop()
    return len(shared)


def _run(one: _Conjunct, other: _Conjunct, side: Side) -> list[str]:
    """The equal words from that side on."""
    step = -1 if side == "end" else 1
    pairs = zip(one.words[::step], other.words[::step], strict=False)
    return [word for word, _ in takewhile(lambda pair: pair[0].casefold() == pair[1].casefold(), pairs)]


def _is_word(word: str) -> bool:
    return len(word) >= _SHORTEST_SHARED and word.isalpha()


def _touches(inner: WordEntity, words: int, shared: int, side: Side) -> bool:
    """Whether an inner entity has words of the shared part."""
    return inner.last >= words - shared if side == "end" else inner.first < shared
