"""Fills the templates of `sentences.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources

from anyner.corpora.synthetic import phrases as p
from anyner.corpora.synthetic.phrases import Phrase, Voice

_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_AGES = tuple(str(age) for age in range(21, 90))
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OFTEN = ("twice a day", "every morning", "every evening", "once a week", "before meals", "at night")

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
_THINGS = ("form", "letter", "leaflet", "notebook", "card", "ticket", "folder", "brochure")

_SLOTS: dict[str, Callable[[Voice], Phrase]] = {
    "drug": p.drug,
    "dose": p.dose,
    "person": p.person,
    "couple": p.couple,
    "town": p.town,
    "place": p.place,
    "hospital": p.hospital,
    "department": p.department,
    "role": p.role,
    "count": lambda voice: Phrase(voice.pick(_COUNTS)),
    "age": lambda voice: Phrase(voice.pick(_AGES)),
    "weekday": lambda voice: Phrase(voice.pick(_WEEKDAYS)),
    "month": lambda voice: Phrase(voice.pick(_MONTHS)),
    "often": lambda voice: Phrase(voice.pick(_OFTEN)),
    "thing": lambda voice: Phrase(voice.pick(_THINGS)),
}
_SLOTS_WITH_DETERMINER: dict[str, Callable[[Voice, str], Phrase]] = {
    "symptom": p.symptom,
    "local": p.local_symptom,
    "part": p.determined_part,
}
_SLOT = re.compile(r"\{([a-z:]+)\}")
_MOST_WORDS = 32


_KIND_OF_TEN = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3)
"""Kinds of sentences, in the order of the file: patient, clinic, people, no entity."""


@cache
def _kinds() -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The templates of each kind, each as literal text and slot names by turns, literal first."""
    _, *kinds = resources.files(__package__).joinpath("sentences.txt").read_text(encoding="utf-8").split("\n# ")
    return tuple(tuple(tuple(_SLOT.split(line)) for line in kind.splitlines()[1:] if line) for kind in kinds)


def sentence(voice: Voice) -> Phrase:
    """One sentence of a kind, template and filling drawn by the voice, of a length people write."""
    while True:
        drawn = _filled(voice.pick(_kinds()[voice.pick(_KIND_OF_TEN)]), voice)
        if drawn.text.count(" ") < _MOST_WORDS:
            return drawn


def _filled(template: tuple[str, ...], voice: Voice) -> Phrase:
    text = ""
    marks: list[p.Mark] = []
    said: set[str] = set()
    for position, piece in enumerate(template):
        if position % 2 == 0:
            text += piece
            continue
        phrase = _slot(piece, voice)
        while phrase.text in said:
            phrase = _slot(piece, voice)
        said.add(phrase.text)
        marks.extend(p.moved(mark, len(text)) for mark in phrase.marks)
        text += phrase.text
    return Phrase(text[0].upper() + text[1:], tuple(marks))


def _slot(name: str, voice: Voice) -> Phrase:
    kind, _, whose = name.partition(":")
    return _SLOTS_WITH_DETERMINER[kind](voice, whose) if whose else _SLOTS[kind](voice)
