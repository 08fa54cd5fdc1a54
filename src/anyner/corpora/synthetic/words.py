"""The words of the synthetic corpus and which split may use which combination of them.

Every word occurs in train, but the combinations (first name + surname, side + body part, start + end of a drug's
name …) are assigned to train, dev and test once and for all: whatever the sizes, those of test never occur in train.
A few words belong to dev or test alone.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal, get_args

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
Pair = tuple[str, str]

_SPLIT_OF_TEN: tuple[Split, ...] = ("train",) * 6 + ("dev",) * 2 + ("test",) * 2


def read_lines(name: str) -> list[str]:
    """The lines of a file of this folder, without the explanation above its first blank line."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text.partition("\n\n")[2].splitlines()


@cache
def words() -> dict[str, tuple[str, ...]]:
    """The lists of `words.txt` by name."""
    named = (line.split(": ") for line in read_lines("words.txt") if line)
    return {name: tuple(listed.split(", ")) for name, listed in named}


@cache
def pairs(split: Split, firsts: str, seconds: str) -> tuple[Pair, ...]:
    """The combinations of two lists that belong to the split."""
    return tuple(
        (first, second)
        for row, first in enumerate(words()[firsts])
        for column, second in enumerate(words()[seconds])
        if _owner(row, column) == split
    )


@cache
def couples(split: Split, firsts: str, seconds: str) -> tuple[tuple[str, str, str], ...]:
    """Triples for "one and other second": one combination belongs to the split, the other to the split or to train."""
    listed = words()[firsts]
    return tuple(
        (one, other, second)
        for column, second in enumerate(words()[seconds])
        for row, one in enumerate(listed)
        for later, other in enumerate(listed[row + 1 :], row + 1)
        if split in (owners := {_owner(row, column), _owner(later, column)}) and owners <= {split, "train"}
    )


def _owner(row: int, column: int) -> Split:
    """The split that owns a combination: neighbours in a row or a column go to different splits."""
    return _SPLIT_OF_TEN[(5 * row + 3 * column + row // 2) % 10]


@cache
def names(split: Split) -> tuple[Pair, ...]:
    """First names with surnames."""
    only = [(first, last) for first in words()["first names"][::3] for last in words().get(f"{split} surnames", ())]
    return (*pairs(split, "first names", "surnames"), *only)


@cache
def towns(split: Split) -> tuple[str, ...]:
    return (*map("".join, pairs(split, "town starts", "town ends")), *words().get(f"{split} towns", ()))


@cache
def drugs(split: Split) -> tuple[str, ...]:
    only = [start + end for end in words()["drug ends"][:2] for start in words().get(f"{split} drug starts", ())]
    return (*map("".join, pairs(split, "drug starts", "drug ends")), *only)
