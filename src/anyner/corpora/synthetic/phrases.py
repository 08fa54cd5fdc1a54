"""The phrases of the synthetic corpus: how entities are said, alone, inside one another and sharing words.

The annotation is a function of the words: the same words in the same construction always carry the same entities.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from anyner.corpora.synthetic.words import Pair, Split, couples, drugs, names, pairs, towns, words
from anyner.fragments import Fragments, joined_over_white_space, shifted

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
    split: Split
    contiguous: bool

    def pick(self, choices: Sequence[Choice]) -> Choice:
        # random() is the one method whose sequence Python promises to keep, so corpora stay the same in every version.
        return choices[int(self.draw.random() * len(choices))]

    def word(self, listed: str) -> str:
        return self.pick(words()[listed])

    def pair(self, firsts: str, seconds: str) -> Pair:
        return self.pick(pairs(self.split, firsts, seconds))

    def couple(self, firsts: str, seconds: str) -> tuple[str, str, str]:
        return self.pick(couples(self.split, firsts, seconds))

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
        marks.extend((label, shifted(fragments, offset)) for label, fragments in phrase.marks)
    for label, indices in entities:
        marks.append((label, joined_over_white_space(tuple(spans[index] for index in indices), text)))
    return Phrase(text, tuple(marks))


def whole(label: str, *parts: str | Phrase) -> Phrase:
    """The parts as one entity."""
    return weave(parts, (label, range(len(parts))))


def body_part(voice: Voice, whose: str) -> tuple[str, Phrase]:
    """A body part and the determiner that goes before it: my left knee, the back of my left knee."""
    if voice.chance(0.2):
        return whose, whole(BODY_PART, voice.word("other parts"))
    side, part = voice.pair("sides", "sided parts")
    sided = whole(BODY_PART, side, part)
    if part not in words()["parts with regions"] or voice.chance(0.7):
        return whose, sided
    return "the", whole(BODY_PART, voice.word("regions"), whose, sided)


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
    return voice.word("local symptoms") if voice.chance(0.5) else " ".join(voice.pair("qualities", "local symptoms"))


def _two_nouns(voice: Voice) -> tuple[str, str]:
    one = voice.word("local symptoms")
    other = voice.pick([noun for noun in words()["local symptoms"] if noun != one])
    return one, other


def general_symptom(voice: Voice, whose: str) -> Phrase:
    kind = voice.draw.random()
    if kind < 0.3:
        return whole(SYMPTOM, voice.word("phrased symptoms" if kind < 0.2 else "general symptoms"))
    lists = ("degrees", "general symptoms") if kind < 0.7 else ("qualities", "local symptoms")
    return whole(SYMPTOM, *voice.pair(*lists))


def _located(voice: Voice, whose: str) -> Phrase:
    return whole(SYMPTOM, _local(voice), "in", *body_part(voice, whose))


def _located_except(voice: Voice, whose: str) -> Phrase:
    (here, part), (there, other) = _parts(voice, whose, 2)
    return weave([_local(voice), "in", here, part, "but not in", there, other], (SYMPTOM, (0, 1, 2, 3)))


def _compound(voice: Voice, whose: str) -> Phrase:
    return whole(SYMPTOM, whole(BODY_PART, *voice.pair("sides", "sided parts")), voice.word("local symptoms"))


def _state(voice: Voice, whose: str) -> Phrase:
    state, part = voice.pair("states", "plural parts")
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
    one, other, part = voice.couple("states", "plural parts")
    return weave([one, "and", other, whole(BODY_PART, part)], (SYMPTOM, (0, 3)), (SYMPTOM, (2, 3)))


def _two_sides(voice: Voice, whose: str) -> Phrase:
    """left and right arm numbness"""
    parts = ["left", "and", "right", voice.couple("sides", "sided parts")[2], voice.word("local symptoms")]
    return weave(parts, (SYMPTOM, (0, 3, 4)), (SYMPTOM, (2, 3, 4)), (BODY_PART, (0, 3)), (BODY_PART, (2, 3)))


def _two_nouns_after(voice: Voice, whose: str) -> Phrase:
    """left knee pain and stiffness"""
    one, other = _two_nouns(voice)
    part = whole(BODY_PART, *voice.pair("sides", "sided parts"))
    return weave([part, one, "and", other], (SYMPTOM, (0, 1)), (SYMPTOM, (0, 3)))


def _two_nouns_before(voice: Voice, whose: str) -> Phrase:
    """cramps and swelling in the left calf"""
    one, other = _two_nouns(voice)
    parts: list[str | Phrase] = [one, "and", other, "in", *body_part(voice, whose)]
    return weave(parts, (SYMPTOM, (0, 3, 4, 5)), (SYMPTOM, (2, 3, 4, 5)))


SymptomRule = Callable[[Voice, str], Phrase]
_PLAIN: tuple[SymptomRule, ...] = (_located, _located, _located, _located_except, _compound, _compound, _state, _state)
_SHARING: tuple[SymptomRule, ...] = (_two_places, _three_places, _two_states, _two_sides, _two_nouns_after, _two_nouns_before)


def local_symptom(voice: Voice, whose: str) -> Phrase:
    """A symptom with its place in the body, or several that share words where the voice allows it."""
    sharing = not voice.contiguous and voice.chance(0.5)
    return voice.pick(_SHARING if sharing else _PLAIN)(voice, whose)


def symptom(voice: Voice, whose: str) -> Phrase:
    return general_symptom(voice, whose) if voice.chance(0.25) else local_symptom(voice, whose)


def drug(voice: Voice) -> Phrase:
    return whole(DRUG, voice.pick(drugs(voice.split)))


def dose(voice: Voice) -> Phrase:
    """20 mg of a drug: the dose is an entity around the name."""
    amount = voice.word("amounts")
    larger = [more for more in words()["amounts"] if float(more) > float(amount)]
    if voice.contiguous or not larger or voice.chance(0.7):
        return whole(DRUG, amount, "mg of", drug(voice))
    other = voice.pick(larger)
    return weave([amount, "and", other, "mg of", drug(voice)], (DRUG, (0, 3, 4)), (DRUG, (2, 3, 4)))


def person(voice: Voice) -> Phrase:
    first, last = voice.pick(names(voice.split))
    kind = voice.draw.random()
    if kind < 0.4:
        return whole(PERSON, first, last)
    if kind < 0.5:
        return whole(PERSON, voice.word("surname titles"), last)
    return whole(PERSON, voice.word("titles"), first, last)


def couple(voice: Voice) -> Phrase:
    """Two people of one surname; where entities may not share words, two people with their own."""
    first, last = voice.pick(names(voice.split))
    if voice.contiguous:
        return weave([whole(PERSON, first, last), "and", whole(PERSON, *voice.pick(names(voice.split)))])
    other = voice.pick([name for name, surname in names(voice.split) if surname == last and name != first])
    return weave([first, "and", other, last], (PERSON, (0, 3)), (PERSON, (2, 3)))


def town(voice: Voice) -> Phrase:
    return whole(PLACE, voice.pick(towns(voice.split)))


def place(voice: Voice) -> Phrase:
    if voice.chance(0.6):
        return town(voice)
    return whole(PLACE, *voice.pair("street starts", "street ends"), "in", town(voice))


def hospital(voice: Voice) -> Phrase:
    kind = voice.draw.random()
    if kind < 0.45:
        return whole(ORGANISATION, town(voice), voice.word("town kinds"))
    if kind < 0.7:
        return whole(ORGANISATION, *voice.pair("surnames", "fund kinds"))
    saint = ("St", *voice.pair("saints", "saint kinds"))
    return whole(ORGANISATION, *saint) if kind < 0.8 else whole(ORGANISATION, *saint, "in", town(voice))


def department(voice: Voice) -> Phrase:
    """A department, alone or around its hospital's name; or two that share their last word."""
    kind = voice.draw.random()
    if not voice.contiguous and kind < 0.25:
        one, other, name = voice.couple("specialties", "department kinds")
        return weave([one, "and", other, f"{name}s"], (ORGANISATION, (0, 3)), (ORGANISATION, (2, 3)))
    inner = whole(ORGANISATION, *voice.pair("specialties", "department kinds"))
    return inner if kind < 0.6 else whole(ORGANISATION, inner, "at", hospital(voice))


def role(voice: Voice) -> Phrase:
    """A person named by office: the head of a department at a hospital in a town."""
    if voice.chance(0.65):
        return whole(PERSON, voice.word("roles"), "of the", department(voice))
    return whole(PERSON, voice.word("roles"), "of", hospital(voice))


SLOTS: dict[str, Callable[[Voice], Phrase]] = {
    rule.__name__: rule for rule in (drug, dose, person, couple, town, place, hospital, department, role)
}
SLOTS_WITH_DETERMINER: dict[str, SymptomRule] = {"symptom": symptom, "local": local_symptom, "part": determined_part}
"""What fills the slots of `sentences.txt`, by name."""
