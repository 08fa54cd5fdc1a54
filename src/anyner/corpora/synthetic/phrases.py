"""The phrases of the synthetic corpus: entities alone, inside one another and sharing words.

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
    """A span of text with the entities in it."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampler:
    """Samples what a sentence consists of; unless `contiguous`, entities may share words across a gap."""

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
    """The parts joined by spaces (none before a comma), with their own marks and entities made of the named parts.

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


def body_part(sampler: Sampler, determiner: str) -> tuple[str, Phrase]:
    """A body part and the determiner that goes before it: my left knee, the back of my left knee."""
    if sampler.chance(0.2):
        return determiner, whole(BODY_PART, sampler.word("other parts"))
    side, part = sampler.pair("sides", "sided parts")
    sided = whole(BODY_PART, side, part)
    if part not in words()["parts with regions"] or sampler.chance(0.7):
        return determiner, sided
    return "the", whole(BODY_PART, sampler.word("regions"), determiner, sided)


def determined_part(sampler: Sampler, determiner: str) -> Phrase:
    return weave(body_part(sampler, determiner))


def _parts(sampler: Sampler, determiner: str, count: int) -> list[tuple[str, Phrase]]:
    """`count` different body parts."""
    parts: list[tuple[str, Phrase]] = []
    while len(parts) < count:
        part = body_part(sampler, determiner)
        if part not in parts:
            parts.append(part)
    return parts


def _local(sampler: Sampler) -> str:
    """The noun of a symptom that has a place in the body, with or without a quality."""
    return sampler.word("local symptoms") if sampler.chance(0.5) else " ".join(sampler.pair("qualities", "local symptoms"))


def _two_nouns(sampler: Sampler) -> tuple[str, str]:
    one = sampler.word("local symptoms")
    other = sampler.pick([noun for noun in words()["local symptoms"] if noun != one])
    return one, other


def general_symptom(sampler: Sampler, determiner: str) -> Phrase:
    kind = sampler.draw.random()
    if kind < 0.3:
        return whole(SYMPTOM, sampler.word("phrased symptoms" if kind < 0.2 else "general symptoms"))
    lists = ("degrees", "general symptoms") if kind < 0.7 else ("qualities", "local symptoms")
    return whole(SYMPTOM, *sampler.pair(*lists))


def _located(sampler: Sampler, determiner: str) -> Phrase:
    return whole(SYMPTOM, _local(sampler), "in", *body_part(sampler, determiner))


def _located_except(sampler: Sampler, determiner: str) -> Phrase:
    (here, part), (there, other) = _parts(sampler, determiner, 2)
    return weave([_local(sampler), "in", here, part, "but not in", there, other], (SYMPTOM, (0, 1, 2, 3)))


def _compound(sampler: Sampler, determiner: str) -> Phrase:
    return whole(SYMPTOM, whole(BODY_PART, *sampler.pair("sides", "sided parts")), sampler.word("local symptoms"))


def _state(sampler: Sampler, determiner: str) -> Phrase:
    state, part = sampler.pair("states", "plural parts")
    return whole(SYMPTOM, state, whole(BODY_PART, part))


def _two_places(sampler: Sampler, determiner: str) -> Phrase:
    """pain in the hip and the knees"""
    one, other = _parts(sampler, determiner, 2)
    return weave([_local(sampler), "in", *one, "and", *other], (SYMPTOM, (0, 1, 2, 3)), (SYMPTOM, (0, 1, 5, 6)))


def _three_places(sampler: Sampler, determiner: str) -> Phrase:
    """pain in the hip, the knees and the jaw"""
    one, other, last = _parts(sampler, determiner, 3)
    parts: list[str | Phrase] = [_local(sampler), "in", *one, ",", *other, "and", *last]
    return weave(parts, (SYMPTOM, (0, 1, 2, 3)), (SYMPTOM, (0, 1, 5, 6)), (SYMPTOM, (0, 1, 8, 9)))


def _two_states(sampler: Sampler, determiner: str) -> Phrase:
    """swollen and burning feet"""
    one, other, part = sampler.couple("states", "plural parts")
    return weave([one, "and", other, whole(BODY_PART, part)], (SYMPTOM, (0, 3)), (SYMPTOM, (2, 3)))


def _two_sides(sampler: Sampler, determiner: str) -> Phrase:
    """left and right arm numbness"""
    parts = ["left", "and", "right", sampler.couple("sides", "sided parts")[2], sampler.word("local symptoms")]
    return weave(parts, (SYMPTOM, (0, 3, 4)), (SYMPTOM, (2, 3, 4)), (BODY_PART, (0, 3)), (BODY_PART, (2, 3)))


def _two_nouns_after(sampler: Sampler, determiner: str) -> Phrase:
    """left knee pain and stiffness"""
    one, other = _two_nouns(sampler)
    part = whole(BODY_PART, *sampler.pair("sides", "sided parts"))
    return weave([part, one, "and", other], (SYMPTOM, (0, 1)), (SYMPTOM, (0, 3)))


def _two_nouns_before(sampler: Sampler, determiner: str) -> Phrase:
    """cramps and swelling in the left calf"""
    one, other = _two_nouns(sampler)
    parts: list[str | Phrase] = [one, "and", other, "in", *body_part(sampler, determiner)]
    return weave(parts, (SYMPTOM, (0, 3, 4, 5)), (SYMPTOM, (2, 3, 4, 5)))


SymptomRule = Callable[[Sampler, str], Phrase]
_PLAIN: tuple[SymptomRule, ...] = (_located, _located, _located, _located_except, _compound, _compound, _state, _state)
_SHARING: tuple[SymptomRule, ...] = (_two_places, _three_places, _two_states, _two_sides, _two_nouns_after, _two_nouns_before)


def local_symptom(sampler: Sampler, determiner: str) -> Phrase:
    """A symptom with its place in the body, or several that share words if the sampler allows it."""
    sharing = not sampler.contiguous and sampler.chance(0.5)
    return sampler.pick(_SHARING if sharing else _PLAIN)(sampler, determiner)


def symptom(sampler: Sampler, determiner: str) -> Phrase:
    return general_symptom(sampler, determiner) if sampler.chance(0.25) else local_symptom(sampler, determiner)


def drug(sampler: Sampler) -> Phrase:
    return whole(DRUG, sampler.pick(drugs(sampler.split)))


def dose(sampler: Sampler) -> Phrase:
    """20 mg of a drug: the dose is an entity around the name."""
    amount = sampler.word("amounts")
    larger = [more for more in words()["amounts"] if float(more) > float(amount)]
    if sampler.contiguous or not larger or sampler.chance(0.7):
        return whole(DRUG, amount, "mg of", drug(sampler))
    other = sampler.pick(larger)
    return weave([amount, "and", other, "mg of", drug(sampler)], (DRUG, (0, 3, 4)), (DRUG, (2, 3, 4)))


def person(sampler: Sampler) -> Phrase:
    first, last = sampler.pick(names(sampler.split))
    kind = sampler.draw.random()
    if kind < 0.4:
        return whole(PERSON, first, last)
    if kind < 0.5:
        return whole(PERSON, sampler.word("surname titles"), last)
    return whole(PERSON, sampler.word("titles"), first, last)


def couple(sampler: Sampler) -> Phrase:
    """Two people who share a surname; if entities may not share words, two people with full names."""
    first, last = sampler.pick(names(sampler.split))
    if sampler.contiguous:
        return weave([whole(PERSON, first, last), "and", whole(PERSON, *sampler.pick(names(sampler.split)))])
    other = sampler.pick([name for name, surname in names(sampler.split) if surname == last and name != first])
    return weave([first, "and", other, last], (PERSON, (0, 3)), (PERSON, (2, 3)))


def town(sampler: Sampler) -> Phrase:
    return whole(PLACE, sampler.pick(towns(sampler.split)))


def place(sampler: Sampler) -> Phrase:
    if sampler.chance(0.6):
        return town(sampler)
    return whole(PLACE, *sampler.pair("street starts", "street ends"), "in", town(sampler))


def hospital(sampler: Sampler) -> Phrase:
    kind = sampler.draw.random()
    if kind < 0.45:
        return whole(ORGANISATION, town(sampler), sampler.word("town kinds"))
    if kind < 0.7:
        return whole(ORGANISATION, *sampler.pair("surnames", "fund kinds"))
    saint = ("St", *sampler.pair("saints", "saint kinds"))
    return whole(ORGANISATION, *saint) if kind < 0.8 else whole(ORGANISATION, *saint, "in", town(sampler))


def department(sampler: Sampler) -> Phrase:
    """A department, alone or around the name of its hospital; or two that share their last word."""
    kind = sampler.draw.random()
    if not sampler.contiguous and kind < 0.25:
        one, other, name = sampler.couple("specialties", "department kinds")
        return weave([one, "and", other, f"{name}s"], (ORGANISATION, (0, 3)), (ORGANISATION, (2, 3)))
    inner = whole(ORGANISATION, *sampler.pair("specialties", "department kinds"))
    return inner if kind < 0.6 else whole(ORGANISATION, inner, "at", hospital(sampler))


def role(sampler: Sampler) -> Phrase:
    """A person named by office: the head of a department at a hospital in a town."""
    if sampler.chance(0.65):
        return whole(PERSON, sampler.word("roles"), "of the", department(sampler))
    return whole(PERSON, sampler.word("roles"), "of", hospital(sampler))


SLOTS: dict[str, Callable[[Sampler], Phrase]] = {
    rule.__name__: rule for rule in (drug, dose, person, couple, town, place, hospital, department, role)
}
SLOTS_WITH_DETERMINER: dict[str, SymptomRule] = {"symptom": symptom, "local": local_symptom, "part": determined_part}
"""Functions that fill the slots of `sentences.txt`, by name."""
