"""The words of the synthetic corpus and who may use which combination of them.

Every word occurs in train, but the combinations (first name + surname, side + body part, start + end of a drug's
name …) are dealt out to train, dev and test once and for all: whatever the sizes, train never shows those of test.
A few words belong to dev or test alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

Split = Literal["train", "dev", "test"]
Pair = tuple[str, str]

_SPLIT_OF_TEN: tuple[Split, ...] = ("train",) * 6 + ("dev",) * 2 + ("test",) * 2


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


FIRST_NAMES = _words(
    "Maren Paul Ingrid Tomas Aisha Callum Priya Stefan Noor Hugo Elsie Kwame Rosa Dmitri Hanna Owen Leila Marcus "
    "Greta Samir Alice Bruno Yara Felix"
)
SURNAMES = _words(
    "Holloway Okafor Lindqvist Barrow Castellan Devries Fairbank Grigson Hathaway Ivarson Jelbert Kerrigan Lathom "
    "Marchetti Norwood Oduya Pemberton Quillon Rasmus Sandoval Tilney Umarov Vickery Winslade Yardley Zeller "
    "Lowe-Barton O'Dell Brannock Culver"
)
ONLY_SURNAMES: dict[Split, tuple[str, ...]] = {
    "train": (),
    "dev": _words("Ashdown Fenwright Moravec"),
    "test": _words("Thackwood Ellerby Sorensky"),
}
TITLES = _words("Dr Nurse Professor")
SURNAME_TITLES = _words("Dr Nurse Professor Mr Mrs Ms")
"""titles that may stand before a bare surname"""
TOWN_STARTS = _words("Ash Bram Thorn Kel Mar Hol Stan Lang Brack Fen Wil Ows Haver Dun Cold Rother")
TOWN_ENDS = _words("ford wick bury ley mere stead combe dale bridge field")
ONLY_TOWNS: dict[Split, tuple[str, ...]] = {
    "train": (),
    "dev": _words("Pendleham Arkholt"),
    "test": _words("Cresswater Ullingham"),
}
STREET_STARTS = _words("Mill Church Station Abbey Orchard Harbour Chapel Bridge Castle Meadow")
STREET_ENDS = _words("Lane Road Street Square")
DRUG_STARTS = _words("Zela Brumo Quori Vexi Nalto Fendu Orbi Kesta Lumi Drava Ystro Pelqua Cindo Marvi Tuvo Sorba")
DRUG_ENDS = _words("prin dolex zumine statol vandine mivone traxin cloril")
ONLY_DRUG_STARTS: dict[Split, tuple[str, ...]] = {"train": (), "dev": ("Jorve", "Ombri"), "test": ("Welda", "Cryo")}
AMOUNTS = _words("5 10 15 20 25 30 40 50 75 100 2.5 7.5")
SAINTS = _words("Agnes Brendan Cuthbert Dunstan Edith Gerard Hilda Ita Kevin Monica Oswald Ursula")
SAINT_KINDS = ("Hospital", "Hospice", "Clinic")
TOWN_KINDS = ("Infirmary", "General Hospital", "Medical Centre", "Royal Hospital", "Health Centre", "Eye Hospital")
FUND_KINDS = ("Foundation", "Institute", "Trust", "Laboratory")
SPECIALTIES = _words(
    "cardiology neurology dermatology oncology paediatric rheumatology respiratory maternity surgical renal allergy sleep"
)
DEPARTMENT_KINDS = _words("unit ward clinic department team")
ROLES = ("head", "director", "deputy head", "manager", "secretary", "founder", "chief nurse", "new director")
SIDES = ("left", "right")
SIDED_PARTS = _words(
    "knee shoulder hip elbow wrist ankle arm leg foot hand ear eye thigh calf heel thumb forearm shin cheek temple "
    "collarbone eyelid armpit groin"
)
OTHER_PARTS = ("chest", "stomach", "neck", "jaw", "lower back", "upper back", "throat", "scalp", "abdomen", "forehead")
PLURAL_PARTS = _words("feet hands knees legs ankles eyes fingers toes gums shoulders elbows wrists")
REGIONS = ("back of", "side of")
PARTS_WITH_REGIONS = frozenset(_words("knee shoulder hip elbow wrist ankle arm leg foot hand ear thigh calf heel thumb forearm"))
STATES = _words("swollen burning itchy numb sore tender stiff bruised tingling aching puffy blistered")
QUALITIES = _words("severe sharp dull constant sudden mild throbbing stabbing nagging intense persistent occasional")
LOCAL_SYMPTOMS = _words("pain cramps swelling numbness stiffness weakness itching soreness tenderness spasms discomfort bruising")
DEGREES = _words("severe constant sudden mild extreme slight terrible persistent occasional frequent")
GENERAL_SYMPTOMS = _words("dizziness nausea fatigue insomnia confusion drowsiness vomiting fever heartburn breathlessness")
PHRASED_SYMPTOMS = ("shortness of breath", "loss of appetite", "blurred vision", "night sweats", "trouble sleeping")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The combinations one split may use."""

    split: Split
    names: tuple[Pair, ...]
    """first name, surname"""
    towns: tuple[str, ...]
    streets: tuple[Pair, ...]
    drugs: tuple[str, ...]
    saints: tuple[Pair, ...]
    funds: tuple[Pair, ...]
    departments: tuple[Pair, ...]
    department_couples: tuple[tuple[str, str, str], ...]
    """two specialties and the kind of department both go with; train never says what belongs to dev or test"""
    sided_parts: tuple[Pair, ...]
    two_sided_parts: tuple[str, ...]
    """parts that may follow "left and right" """
    states: tuple[Pair, ...]
    state_couples: tuple[tuple[str, str, str], ...]
    """two states and the plural part both go with"""
    qualities: tuple[Pair, ...]
    degrees: tuple[Pair, ...]


@cache
def lexicon(split: Split) -> Lexicon:
    """The lexicon of a split; always the same."""
    towns = [start + end for start, end in _dealt(split, TOWN_STARTS, TOWN_ENDS)]
    drugs = [start + end for start, end in _dealt(split, DRUG_STARTS, DRUG_ENDS)]
    only_drugs = [start + end for end in DRUG_ENDS[:2] for start in ONLY_DRUG_STARTS[split]]
    only_names = [(first, last) for first in FIRST_NAMES[::3] for last in ONLY_SURNAMES[split]]
    return Lexicon(
        split=split,
        names=(*_dealt(split, FIRST_NAMES, SURNAMES), *only_names),
        towns=(*towns, *ONLY_TOWNS[split]),
        streets=_dealt(split, STREET_STARTS, STREET_ENDS),
        drugs=(*drugs, *only_drugs),
        saints=_dealt(split, SAINTS, SAINT_KINDS),
        funds=_dealt(split, SURNAMES, FUND_KINDS),
        departments=_dealt(split, SPECIALTIES, DEPARTMENT_KINDS),
        department_couples=_coupled(split, SPECIALTIES, DEPARTMENT_KINDS),
        sided_parts=_dealt(split, SIDES, SIDED_PARTS),
        two_sided_parts=tuple(part for _, _, part in _coupled(split, SIDES, SIDED_PARTS)),
        states=_dealt(split, STATES, PLURAL_PARTS),
        state_couples=_coupled(split, STATES, PLURAL_PARTS),
        qualities=_dealt(split, QUALITIES, LOCAL_SYMPTOMS),
        degrees=_dealt(split, DEGREES, GENERAL_SYMPTOMS),
    )


def split_of(row: int, column: int) -> Split:
    """Whose the combination of these two words is: neighbours in a row and in a column go to different splits."""
    return _SPLIT_OF_TEN[(5 * row + 3 * column + row // 2) % 10]


def _dealt(split: Split, firsts: Sequence[str], seconds: Sequence[str]) -> tuple[Pair, ...]:
    return tuple(
        (first, second)
        for row, first in enumerate(firsts)
        for column, second in enumerate(seconds)
        if split_of(row, column) == split
    )


def _coupled(split: Split, firsts: Sequence[str], seconds: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """What the split may say as "one and other second": a combination is its own, and the other its own or train's."""
    return tuple(
        (one, other, second)
        for column, second in enumerate(seconds)
        for row, one in enumerate(firsts)
        for later, other in enumerate(firsts[row + 1 :], row + 1)
        if split in (owners := {split_of(row, column), split_of(later, column)}) and owners <= {split, "train"}
    )
