"""The phrases of the synthetic corpus: how entities are said, alone, inside one another and sharing words.

The annotation is a function of the words: the same words in the same construction always carry the same entities.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from anyner.corpora.synthetic import words as w
from anyner.fragments import Fragments

Mark = tuple[str, Fragments]
Choice = TypeVar("Choice")

SYMPTOM, BODY_PART, DRUG = "Symptom", "BodyPart", "Drug"
PERSON, ORGANISATION, PLACE = "Person", "Organisation", "Place"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A stretch of text with the entities in it."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Voice:
    """What decides a sentence: the draw, the words of the split, and whether entities may share words across a gap."""

    draw: random.Random
    words: w.Lexicon
    contiguous: bool

    def pick(self, choices: Sequence[Choice]) -> Choice:
        # random() is the one method whose sequence Python promises to keep, so corpora stay the same in every version.
        return choices[int(self.draw.random() * len(choices))]

    def chance(self, share: float) -> bool:
        return self.draw.random() < share


def weave(parts: Sequence[str | Phrase], *entities: tuple[str, Sequence[int]]) -> Phrase:
    """The parts with one space between (none before a comma), their own marks, and entities made of the parts named.

    >>> weave(["pain in", "the hip", "and", "the knees"], ("Symptom", (0, 3))).marks
    (('Symptom', ((0, 7), (20, 29))),)
    """
    text = ""
    marks: list[Mark] = []
    spans: list[tuple[int, int]] = []
    for part in parts:
        phrase = Phrase(part) if isinstance(part, str) else part
        if text and phrase.text != ",":
            text += " "
        offset = len(text)
        text += phrase.text
        spans.append((offset, len(text)))
        marks.extend(moved(mark, offset) for mark in phrase.marks)
    for label, indices in entities:
        fragments: list[tuple[int, int]] = []
        for position, index in enumerate(indices):
            if position and indices[position - 1] == index - 1:
                fragments[-1] = (fragments[-1][0], spans[index][1])
            else:
                fragments.append(spans[index])
        marks.append((label, tuple(fragments)))
    return Phrase(text, tuple(marks))


def moved(mark: Mark, offset: int) -> Mark:
    return mark[0], tuple((start + offset, end + offset) for start, end in mark[1])


def whole(label: str, *parts: str | Phrase) -> Phrase:
    """The parts as one entity."""
    return weave(parts, (label, range(len(parts))))


def body_part(voice: Voice, whose: str) -> tuple[str, Phrase]:
    """A body part and the determiner that goes before it: my left knee, the back of my left knee."""
    if voice.chance(0.2):
        return whose, whole(BODY_PART, voice.pick(w.OTHER_PARTS))
    side, part = voice.pick(voice.words.sided_parts)
    sided = whole(BODY_PART, side, part)
    if part not in w.PARTS_WITH_REGIONS or voice.chance(0.7):
        return whose, sided
    return "the", whole(BODY_PART, voice.pick(w.REGIONS), whose, sided)


def determined_part(voice: Voice, whose: str) -> Phrase:
    return weave(body_part(voice, whose))


def _parts(voice: Voice, whose: str, count: int) -> list[tuple[str, Phrase]]:
    """So many body parts, no two alike."""
    parts: list[tuple[str, Phrase]] = []
    while len(parts) < count:
        part = body_part(voice, whose)
        if part not in parts:
            parts.append(part)
    return parts


def _local(voice: Voice) -> str:
    """A symptom's noun that can have a place in the body, with or without a quality."""
    return voice.pick(w.LOCAL_SYMPTOMS) if voice.chance(0.5) else " ".join(voice.pick(voice.words.qualities))


def _two_nouns(voice: Voice) -> tuple[str, str]:
    one = voice.pick(w.LOCAL_SYMPTOMS)
    other = voice.pick([noun for noun in w.LOCAL_SYMPTOMS if noun != one])
    return one, other


def general_symptom(voice: Voice, whose: str) -> Phrase:
    kind = voice.draw.random()
    if kind < 0.2:
        return whole(SYMPTOM, voice.pick(w.PHRASED_SYMPTOMS))
    if kind < 0.3:
        return whole(SYMPTOM, voice.pick(w.GENERAL_SYMPTOMS))
    return whole(SYMPTOM, *voice.pick(voice.words.degrees if kind < 0.7 else voice.words.qualities))


def _located(voice: Voice, whose: str) -> Phrase:
    return whole(SYMPTOM, _local(voice), "in", *body_part(voice, whose))


def _located_except(voice: Voice, whose: str) -> Phrase:
    (here, part), (there, other) = _parts(voice, whose, 2)
    return weave([_local(voice), "in", here, part, "but not in", there, other], (SYMPTOM, (0, 1, 2, 3)))


def _compound(voice: Voice, whose: str) -> Phrase:
    return whole(SYMPTOM, whole(BODY_PART, *voice.pick(voice.words.sided_parts)), voice.pick(w.LOCAL_SYMPTOMS))


def _state(voice: Voice, whose: str) -> Phrase:
    state, part = voice.pick(voice.words.states)
    return whole(SYMPTOM, state, whole(BODY_PART, part))


def _two_places(voice: Voice, whose: str) -> Phrase:
    """pain in the hip and the knees"""
    one, other = _parts(voice, whose, 2)
    return weave([_local(voice), "in", *one, "and", *other], (SYMPTOM, (0, 1, 2, 3)), (SYMPTOM, (0, 1, 5, 6)))


def _three_places(voice: Voice, whose: str) -> Phrase:
    """pain in the hip, the knees and the jaw"""
    one, other, last = _parts(voice, whose, 3)
    parts: list[str | Phrase] = [_local(voice), "in", *one, ",", *other, "and", *last]
    return weave(parts, (SYMPTOM, (0, 1, 2, 3)), (SYMPTOM, (0, 1, 5, 6)), (SYMPTOM, (0, 1, 8, 9)))


def _two_states(voice: Voice, whose: str) -> Phrase:
    """swollen and burning feet"""
    one, other, part = voice.pick(voice.words.state_couples)
    return weave([one, "and", other, whole(BODY_PART, part)], (SYMPTOM, (0, 3)), (SYMPTOM, (2, 3)))


def _two_sides(voice: Voice, whose: str) -> Phrase:
    """left and right arm numbness"""
    parts = ["left", "and", "right", voice.pick(voice.words.two_sided_parts), voice.pick(w.LOCAL_SYMPTOMS)]
    return weave(parts, (SYMPTOM, (0, 3, 4)), (SYMPTOM, (2, 3, 4)), (BODY_PART, (0, 3)), (BODY_PART, (2, 3)))


def _two_nouns_after(voice: Voice, whose: str) -> Phrase:
    """left knee pain and stiffness"""
    one, other = _two_nouns(voice)
    part = whole(BODY_PART, *voice.pick(voice.words.sided_parts))
    return weave([part, one, "and", other], (SYMPTOM, (0, 1)), (SYMPTOM, (0, 3)))


def _two_nouns_before(voice: Voice, whose: str) -> Phrase:
    """cramps and swelling in the left calf"""
    one, other = _two_nouns(voice)
    parts: list[str | Phrase] = [one, "and", other, "in", *body_part(voice, whose)]
    return weave(parts, (SYMPTOM, (0, 3, 4, 5)), (SYMPTOM, (2, 3, 4, 5)))


SymptomRule = Callable[[Voice, str], Phrase]
_PLAIN: tuple[SymptomRule, ...] = (_located, _located, _located, _located_except, _compound, _compound, _state, _state)
_SHARING: tuple[SymptomRule, ...] = (
    _two_places,
    _three_places,
    _two_states,
    _two_sides,
    _two_nouns_after,
    _two_nouns_before,
)


def local_symptom(voice: Voice, whose: str) -> Phrase:
    """A symptom with its place in the body, or several that share words where the voice allows it."""
    sharing = not voice.contiguous and voice.chance(0.5)
    return voice.pick(_SHARING if sharing else _PLAIN)(voice, whose)


def symptom(voice: Voice, whose: str) -> Phrase:
    return general_symptom(voice, whose) if voice.chance(0.25) else local_symptom(voice, whose)


def drug(voice: Voice) -> Phrase:
    return whole(DRUG, voice.pick(voice.words.drugs))


def dose(voice: Voice) -> Phrase:
    """20 mg of a drug: the dose is an entity around the name."""
    amount = voice.pick(w.AMOUNTS)
    larger = [more for more in w.AMOUNTS if float(more) > float(amount)]
    if voice.contiguous or not larger or voice.chance(0.7):
        return whole(DRUG, amount, "mg of", drug(voice))
    other = voice.pick(larger)
    return weave([amount, "and", other, "mg of", drug(voice)], (DRUG, (0, 3, 4)), (DRUG, (2, 3, 4)))


def person(voice: Voice) -> Phrase:
    first, last = voice.pick(voice.words.names)
    kind = voice.draw.random()
    if kind < 0.4:
        return whole(PERSON, first, last)
    if kind < 0.5:
        return whole(PERSON, voice.pick(w.SURNAME_TITLES), last)
    return whole(PERSON, voice.pick(w.TITLES), first, last)


def couple(voice: Voice) -> Phrase:
    """Two people of one surname; where entities may not share words, two people with their own."""
    first, last = voice.pick(voice.words.names)
    if voice.contiguous:
        return weave([whole(PERSON, first, last), "and", whole(PERSON, *voice.pick(voice.words.names))])
    other = voice.pick([name for name, surname in voice.words.names if surname == last and name != first])
    return weave([first, "and", other, last], (PERSON, (0, 3)), (PERSON, (2, 3)))


def town(voice: Voice) -> Phrase:
    return whole(PLACE, voice.pick(voice.words.towns))


def place(voice: Voice) -> Phrase:
    if voice.chance(0.6):
        return town(voice)
    return whole(PLACE, *voice.pick(voice.words.streets), "in", town(voice))


def hospital(voice: Voice) -> Phrase:
    kind = voice.draw.random()
    if kind < 0.45:
        return whole(ORGANISATION, town(voice), voice.pick(w.TOWN_KINDS))
    if kind < 0.7:
        return whole(ORGANISATION, *voice.pick(voice.words.funds))
    saint = ("St", *voice.pick(voice.words.saints))
    return whole(ORGANISATION, *saint) if kind < 0.8 else whole(ORGANISATION, *saint, "in", town(voice))


def department(voice: Voice) -> Phrase:
    """A department, alone or around its hospital's name; or two that share their last word."""
    kind = voice.draw.random()
    if not voice.contiguous and kind < 0.25:
        one, other, name = voice.pick(voice.words.department_couples)
        return weave([one, "and", other, f"{name}s"], (ORGANISATION, (0, 3)), (ORGANISATION, (2, 3)))
    inner = whole(ORGANISATION, *voice.pick(voice.words.departments))
    return inner if kind < 0.6 else whole(ORGANISATION, inner, "at", hospital(voice))


def role(voice: Voice) -> Phrase:
    """A person named by office: the head of a department at a hospital in a town."""
    if voice.chance(0.65):
        return whole(PERSON, voice.pick(w.ROLES), "of the", department(voice))
    return whole(PERSON, voice.pick(w.ROLES), "of", hospital(voice))
