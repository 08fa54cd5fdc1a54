"""The sentences of the synthetic corpus: `{slot}` is filled with a phrase, or with a word that is no entity.

`{symptom:my}`, `{part:her}` … name the determiner of the body part; `{local:my}` is a symptom with a place in the body.
Verbs stand in the past, so that they agree with whatever they follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anyner.corpora.synthetic import phrases as p
from anyner.corpora.synthetic.phrases import Phrase, Voice

PATIENT = (
    "I took {dose} and woke up with {symptom:my}.",
    "After {count} days on {drug} I had {symptom:my}, and nobody could tell me why.",
    "{drug} gave me {symptom:my} within {count} hours.",
    "The {local:my} started {count} weeks after my first tablet of {drug}.",
    "Has anyone else had {symptom:the} while taking {drug}?",
    "{part:my} went cold and then I got {symptom:my}.",
    "I stopped taking {drug} because of {symptom:my}.",
    "At first I only had {symptom:my}, but by {weekday} I also had {symptom:my}.",
    "On {weekday} I noticed {symptom:my}, so I went straight to {hospital}.",
    "My doctor put me on {dose} {often}, and the {symptom:my} got better.",
    "I am {age} and have lived with {symptom:my} for {count} years.",
    "The rash on {part:my} cleared up once I switched from {drug} to {drug}.",
    "I could barely feel {part:my} after the second tablet of {drug}.",
    "No more {symptom:my} since I came off {drug}!",
    "Besides {symptom:my}, the worst thing about {drug} was {symptom:my}.",
    "A nurse in {place} told me that {drug} can cause {symptom:the}.",
    "I rubbed the cream into {part:my} {often} and it helped.",
    "They gave me {dose} for {symptom:my}, which made me sleep all {weekday}.",
    "My mother had {symptom:her} for {count} days and was sent to the {department}.",
    "Every time I climb the stairs I get {local:my}.",
    "I slept badly on {drug}, with {symptom:my} as well as {symptom:my}.",
    "Nothing helped against {symptom:my} until {person} suggested {dose}.",
)
CLINIC = (
    "{person} was admitted to {hospital} with {symptom:the}.",
    "{person} examined {part:her} and found {local:the}.",
    "The patient denied {symptom:her} but complained of {symptom:her}.",
    "She was given {dose} {often} for {symptom:her}.",
    "He reported {symptom:his} after {count} days of {drug}.",
    "On examination we noted {local:the}, and {part:the} felt warm.",
    "The dose was raised to {dose} because the {symptom:her} persisted.",
    "An injury to {part:the} was ruled out by {person}.",
    "{person} of {hospital} prescribed {dose} for {symptom:the}.",
    "The {department} saw {count} patients with {symptom:the} last {weekday}.",
    "The scan of {part:his} was normal, yet the {local:his} did not go away.",
    "{part:her} was bandaged by {person} on {weekday} morning.",
    "Treatment with {drug} was stopped after she developed {symptom:her}.",
    "The {role} recommended {dose} against {symptom:the}.",
    "A man of {age} from {town} came in with {symptom:his} and asked for {drug}.",
    "The {department} called {person} because of {symptom:the}.",
    "Both {drug} and {drug} can lead to {symptom:the}, the leaflet says.",
    "An x-ray of {part:the} was sent to {person} at {hospital}.",
    "In a trial at {hospital}, {drug} relieved {symptom:the} in {age} percent of the patients.",
)
PEOPLE = (
    "The {role} met {person} in {place} on {weekday}.",
    "{person}, {role}, welcomed the new staff.",
    "The {role} and {person} signed the agreement yesterday.",
    "{person} moved from {town} to work for {hospital}.",
    "{hospital} named {person} as its next director on {weekday}.",
    "The {department} opened {count} years ago and answered to {person}.",
    "Doctors {couple} wrote the report for {hospital}.",
    "Doctors {couple} grew up in {town}.",
    "According to the {role}, {count} beds stood empty last {weekday}.",
    "{person} joined the {department} after {count} years in {town}.",
    "A new building in {place} will house the {department}.",
    "The {department} moved to {place} in {month}.",
    "Please call {person} at the {department} before {weekday}.",
    "The letter was signed by the {role}, not by {person}.",
    "{hospital} and {hospital} share one pharmacy.",
    "Our bus from {place} stopped in front of {hospital}.",
    "Visitors from {town} thanked the {role} for the tour.",
    "The {role} flew to {town} to meet the {role}.",
    "{person} lives in {place} with {count} cats.",
)
WITHOUT = (
    "I left the house at {count} and came back after dark.",
    "Please hand in the right {thing} at the front desk by {weekday}.",
    "The unit price went up by {age} percent in {month}.",
    "She left her {thing} on the back of a chair.",
    "Turn right at the second corner and walk for {count} minutes.",
    "He has been at the head of the queue since {weekday}.",
    "We waited {count} hours before anyone called us.",
    "I trust the staff here, and they always answer by {weekday}.",
    "Does anybody know whether the car park is open on {weekday}?",
    "The meeting in {month} was short and everyone agreed.",
    "Thanks for all the kind replies in {month}, they really helped me.",
    "It rained all {weekday}, so the garden party was cancelled.",
    "The {thing} has {age} pages and very small print.",
    "My next appointment is in {count} weeks.",
    "There were only {count} chairs left in the waiting room.",
    "You were right to ask for a second opinion.",
    "The new director will be named in {count} weeks.",
    "Take the tablets {often} with a glass of water.",
    "Nobody could find the {thing} that I had sent in {month}.",
    "Room {age} is at the top of the stairs, on the left.",
)

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


def _parsed(templates: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Each template as literal text and slot names by turns, literal first."""
    return tuple(tuple(_SLOT.split(template)) for template in templates)


_KINDS = tuple(_parsed(templates) for templates in (PATIENT, CLINIC, PEOPLE, WITHOUT))
_KIND_OF_TEN = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3)


def sentence(voice: Voice) -> Phrase:
    """One sentence of a kind, template and filling drawn by the voice, of a length people write."""
    while True:
        drawn = _filled(voice.pick(_KINDS[voice.pick(_KIND_OF_TEN)]), voice)
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
