"""More discontinuous entities to learn from: an entity is joined with others of its label that end or begin alike.

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
"""Partners that are tried before an entity is left alone."""
_MORE_THAN_TWO = 0.25
"""How often more than two are joined."""
_SHORTEST_SHARED = 2
"""Letters of the innermost word of the shared part: numbers and single letters are names, not what names have in common."""
_LONGER = 1
"""Words that the first may have more than the others: those of real coordinations are about as long as each other."""
_TWO_SHARED = 0.7
"""How often two words or more must be shared, which then are about as many as in real coordinations. By chance it would be a
fifth, and a model would learn to skip to the last word."""
_PASSES = 3
"""How often every entity is tried until there are enough sentences."""
_SIDES: tuple[Side, Side] = ("end", "start")


@dataclass(frozen=True, slots=True)
class _Sentence:
    document: Document
    words: tuple[str, ...]
    entities: tuple[WordEntity, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    """An entity that can be joined with others, and what lies inside it, counted from its first word."""

    label: str
    words: tuple[str, ...]
    inner: tuple[WordEntity, ...]
    annotated: frozenset[str] | None
    """The labels that its sentence annotates: what lies inside may have no other where it goes."""

    def key(self, side: Side, shared: int) -> _Key:
        """What it has in common with those it can be joined with: so many words at least."""
        common = self.words[-shared:] if side == "end" else self.words[:shared]
        return self.label, self.annotated, side, tuple(word.casefold() for word in common)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where others could be joined to an entity, and which side of it they would share."""

    sentence: _Sentence
    entity: WordEntity
    own: _Member
    side: Side


def coordinated(
    documents: Sequence[Document], text: TextConfig, share: float, conjunctions: Sequence[str], seed: int = 0, *, most: int = 3
) -> tuple[Document, ...]:
    """New sentences, at most a `share` of the documents in number; sides are shared as often as in the documents themselves.

    At most so many entities are joined in one.
    """
    sentences = [sentence for document in documents if (sentence := _in_words(document, text)) is not None]
    several = [(one, e, _member(one, e)) for one in sentences for e in one.entities if _of_several_words(e)]
    members: dict[_Key, list[_Member]] = defaultdict(list)
    for _, _, member in several:
        for side in _SIDES:
            for shared in (1, 2):
                members[member.key(side, shared)].append(member)
    random, at_the_end = np.random.default_rng(seed), _share_at_the_end(sentences)
    wanted = round(share * len(documents))
    made: list[Document] = []
    for number in chain.from_iterable(random.permutation(len(several)).tolist() for _ in range(_PASSES)):
        if len(made) >= wanted:
            break
        sentence, entity, member = several[number]
        place = _Place(sentence, entity, member, "end" if random.random() < at_the_end else "start")
        shared = 2 if random.random() < _TWO_SHARED else 1
        partners = int(random.integers(2, most)) if random.random() < _MORE_THAN_TWO and most > 2 else 1
        joined = _joined(place, members[member.key(place.side, shared)], partners, conjunctions, random)
        if joined is not None:
            made.append(joined)
    return tuple(made)


def _of_several_words(entity: WordEntity) -> bool:
    return len(entity.fragments) == 1 and entity.last > entity.first


def _in_words(document: Document, text: TextConfig) -> _Sentence | None:
    """None for documents that cannot be rewritten word by word."""
    spans = list(words_of(document, text))
    aligned = to_words(document.entities, [start for start, _ in spans], [end for _, end in spans])
    if aligned.misaligned or document.pos is not None or not aligned.entities:
        return None
    return _Sentence(document, tuple(document.text[start:end] for start, end in spans), tuple(aligned.entities))


def _member(sentence: _Sentence, entity: WordEntity) -> _Member:
    first, last = entity.first, entity.last
    inner = (one for one in sentence.entities if one is not entity and first <= one.first and one.last <= last)
    inside = tuple(_moved(one, -first) for one in inner)
    return _Member(entity.label, sentence.words[first : last + 1], inside, sentence.document.labels)


def _moved(entity: WordEntity, by: int) -> WordEntity:
    return replace(entity, fragments=tuple((start + by, end + by) for start, end in entity.fragments))


def _share_at_the_end(sentences: Sequence[_Sentence]) -> float:
    """How many discontinuous entities share their last word with another and not their first; a half where there are none."""
    counts: Counter[Side] = Counter()
    for sentence in sentences:
        for entity in sentence.entities:
            if len(entity.fragments) > 1:
                others = [one for one in sentence.entities if one is not entity]
                counts["end"] += any(one.last == entity.last for one in others)
                counts["start"] += any(one.first == entity.first for one in others)
    return (counts["end"] + 1) / (counts["end"] + counts["start"] + 2)


def _joined(
    place: _Place, members: Sequence[_Member], number: int, conjunctions: Sequence[str], random: np.random.Generator
) -> Document | None:
    """The sentence with so many partners joined, or fewer; None where none fits or another entity is in the way."""
    own, side = place.own, place.side
    partners: list[_Member] = []
    for choice in random.integers(len(members), size=_TRIES * number).tolist():
        partner = members[choice]
        # a longer partner would be read otherwise: in "normal and activated T cells" the first ones are T cells too
        alike_in_length = 0 <= len(own.words) - len(partner.words) <= _LONGER
        if len(partners) < number and alike_in_length and all(_differ(partner, one, side) for one in (own, *partners)):
            partners.append(partner)
    shared = min((_alike(own, partner, side) for partner in partners), default=0)
    if not partners or any(_touches(one, len(partner.words), shared, side) for partner in partners for one in partner.inner):
        return None
    word = place.entity.last + 1 - (shared if side == "end" else 0)
    others = (one for one in place.sentence.entities if one is not place.entity)
    if any(start < word < end for one in others for start, end in one.fragments):
        return None
    insertion = _Insertion(word, shared, tuple(partners), conjunctions[int(random.integers(len(conjunctions)))])
    return _rewritten(place, insertion)


@dataclass(frozen=True, slots=True)
class _Insertion:
    word: int
    """Before which word of the sentence."""
    shared: int
    """Words that all members have in common."""
    partners: tuple[_Member, ...]
    conjunction: str


def _rewritten(place: _Place, insertion: _Insertion) -> Document:
    sentence, entity, word, shared = place.sentence, place.entity, insertion.word, insertion.shared
    at_the_end = place.side == "end"
    inserted: list[str] = []
    found: list[WordEntity] = []
    parts: list[tuple[int, int]] = []  # where each partner's own words stand
    for number, partner in enumerate(insertion.partners, 1):
        inserted.append(insertion.conjunction if number == len(insertion.partners) else ",")
        begin = word + len(inserted)
        inserted.extend(partner.words[:-shared] if at_the_end else partner.words[shared:])
        parts.append((begin, word + len(inserted)))
        found.extend(_moved(one, begin if at_the_end else begin - shared) for one in partner.inner)
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
    """The entity when so many words more stand before that word."""
    fragments = tuple((start + more, end + more) if start >= word else (start, end) for start, end in entity.fragments)
    return replace(entity, fragments=fragments)


def _fragments(one: tuple[int, int], other: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """One fragment where they touch: the last member of a coordination is contiguous."""
    return ((one[0], other[1]),) if one[1] == other[0] else (one, other)


def _differ(one: _Member, other: _Member, side: Side) -> bool:
    """Whether both have words of their own beside what they share."""
    return len(_run(one, other, side)) < min(len(one.words), len(other.words)) and _alike(one, other, side) > 0


def _alike(one: _Member, other: _Member, side: Side) -> int:
    """Words that both share at that side; the innermost is a real word, for no coordination leaves out half of a hyphen."""
    shared = _run(one, other, side)
    while shared and not _is_word(shared[-1]):
        shared.pop()
    return len(shared)


def _run(one: _Member, other: _Member, side: Side) -> list[str]:
    """The words that are the same from that side on."""
    step = -1 if side == "end" else 1
    pairs = zip(one.words[::step], other.words[::step], strict=False)
    return [word for word, _ in takewhile(lambda pair: pair[0].casefold() == pair[1].casefold(), pairs)]


def _is_word(word: str) -> bool:
    return len(word) >= _SHORTEST_SHARED and word.isalpha()


def _touches(inner: WordEntity, words: int, shared: int, side: Side) -> bool:
    """Whether an inner entity has words of the part that is left out."""
    return inner.last >= words - shared if side == "end" else inner.first < shared
