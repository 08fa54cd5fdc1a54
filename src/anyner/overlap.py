"""How two entities relate, how deeply they nest, and which of them a policy keeps.

Only the set of covered positions matters, in any unit: characters or words. Fragments are canonical, as
`canonical_fragments` gives them: sorted, disjoint, adjacent ones joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import inf
from typing import Literal, Protocol, TypeVar, get_args

from anyner.errors import InvalidInputError
from anyner.fragments import Fragments

Policy = Literal["all", "nested", "flat", "longest", "nested_spans", "flat_spans"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
_OF_SPANS = ("nested_spans", "flat_spans")


class Relation(StrEnum):
    """How the positions of one entity relate to those of another; exactly one relation holds for every pair."""

    EQUAL = "equal"
    """the same positions"""
    INSIDE = "inside"
    """its positions are a proper subset of the other's"""
    AROUND = "around"
    """its positions are a proper superset of the other's"""
    CROSSING = "crossing"
    """they share positions, and each has positions of its own"""
    APART = "apart"
    """they share no position"""


class Annotated(Protocol):
    """What a policy needs of an entity, in characters (`Entity`) or words. No score ranks below every score."""

    @property
    def label(self) -> str: ...
    @property
    def fragments(self) -> Fragments: ...
    @property
    def score(self) -> float | None: ...


Item = TypeVar("Item", bound=Annotated)


def size(fragments: Fragments) -> int:
    """Number of covered positions."""
    return sum(end - start for start, end in fragments)


def relation(one: Fragments, other: Fragments) -> Relation:
    """How `one` relates to `other`.

    >>> relation(((0, 4), (9, 12)), ((0, 12),))
    <Relation.INSIDE: 'inside'>
    """
    if one[-1][1] <= other[0][0] or other[-1][1] <= one[0][0]:
        return Relation.APART
    if one == other:
        return Relation.EQUAL
    if len(one) == len(other) == 1:
        (start, end), (other_start, other_end) = one[0], other[0]
        inside, around = other_start <= start and end <= other_end, start <= other_start and other_end <= end
    else:
        shared = _shared(one, other)
        if not shared:
            return Relation.APART
        inside, around = shared == size(one), shared == size(other)
    if inside:
        return Relation.INSIDE
    return Relation.AROUND if around else Relation.CROSSING


def _shared(one: Fragments, other: Fragments) -> int:
    """Number of positions that both cover, in one pass over the two sorted lists."""
    shared = here = there = 0
    while here < len(one) and there < len(other):
        start, end = one[here]
        other_start, other_end = other[there]
        common = min(end, other_end) - max(start, other_start)
        if common > 0:
            shared += common
        if end <= other_end:
            here += 1
        else:
            there += 1
    return shared


def sharing_pairs(fragments: Sequence[Fragments]) -> Iterator[tuple[int, int, Relation]]:
    """Every pair of entities that share a position, once: their indices, and how the first relates to the second.

    A sweep over the starts: the cost grows with the pairs whose extents overlap, not with all pairs.
    """
    open_now: list[int] = []
    for index in sorted(range(len(fragments)), key=lambda i: fragments[i][0][0]):
        start = fragments[index][0][0]
        open_now = [earlier for earlier in open_now if fragments[earlier][-1][1] > start]
        for earlier in open_now:
            found = relation(fragments[earlier], fragments[index])
            if found is not Relation.APART:
                yield earlier, index, found
        open_now.append(index)


def nesting_depth(fragments: Sequence[Fragments]) -> list[int]:
    """For each entity, the length of the longest chain of entities nested strictly around it; 0 if it is inside no other.

    >>> nesting_depth([((0, 9),), ((2, 5),), ((2, 3),), ((20, 22),)])
    [0, 1, 2, 0]
    """
    around: dict[int, list[int]] = {}
    for first, second, found in sharing_pairs(fragments):
        if found is Relation.INSIDE:
            around.setdefault(first, []).append(second)
        elif found is Relation.AROUND:
            around.setdefault(second, []).append(first)
    depth = [0] * len(fragments)
    # An outer entity covers more positions, so in order of falling size its depth is known before it is needed.
    for index in sorted(around, key=lambda i: -size(fragments[i])):
        depth[index] = 1 + max(depth[outer] for outer in around[index])
    return depth


def checked_policy(name: str) -> Policy:
    """The policy with this name; an unknown name is refused."""
    if name not in POLICIES:
        raise InvalidInputError(f"unknown overlap policy {name!r}: choose one of {', '.join(POLICIES)}")
    return name


def resolve(items: Sequence[Item], policy: Policy) -> list[Item]:
    """The items that the policy keeps, in the order of `items`; that order does not affect the choice.

    `all` keeps everything. `nested` takes items by falling score and drops those that cross one already kept; `flat` drops
    those that share a position with one already kept. `longest` is `flat` with the most positions first, then the highest
    score. `nested_spans` and `flat_spans` keep every discontinuous entity, and compare contiguous ones only with each other.
    Ties: more positions, then the earlier start, then the fragments, then the label. Nothing is merged: of items that are
    equal in all of these, `nested` keeps all.
    """
    if policy == "all":
        return list(items)
    checked_policy(policy)
    compared = [index for index, item in enumerate(items) if len(item.fragments) == 1 or policy not in _OF_SPANS]
    dropped = {index for group in _overlapping_groups(items, compared) for index in _dropped(items, group, policy)}
    return [item for index, item in enumerate(items) if index not in dropped]


def _overlapping_groups(items: Sequence[Annotated], compared: Sequence[int]) -> Iterator[list[int]]:
    """Groups of compared items whose extents overlap in a chain: items of different groups do not affect each other."""
    group: list[int] = []
    position = 0
    for index in sorted(compared, key=lambda i: items[i].fragments[0][0]):
        fragments = items[index].fragments
        if fragments[0][0] >= position:
            if len(group) > 1:
                yield group
            group = []
        group.append(index)
        position = max(position, fragments[-1][1])
    if len(group) > 1:
        yield group


def _dropped(items: Sequence[Annotated], group: list[int], policy: Policy) -> Iterator[int]:
    """Compares each item only with those kept nearby, not all pairs: where many cross, few are kept."""
    extents = {index: (items[index].fragments[0][0], items[index].fragments[-1][1]) for index in group}
    width = max(1, sum(end - start for start, end in extents.values()) // len(group))
    kept: dict[int, list[Fragments]] = {}  # by stretch of `width` positions
    rivals = [Relation.CROSSING] if policy.startswith("nested") else [kind for kind in Relation if kind is not Relation.APART]
    for index in sorted(group, key=lambda i: _rank(items[i], policy == "longest")):
        fragments, (start, end) = items[index].fragments, extents[index]
        stretches = range(start // width, (end - 1) // width + 1)
        if any(relation(fragments, other) in rivals for stretch in stretches for other in kept.get(stretch, ())):
            yield index
        else:
            for stretch in stretches:
                kept.setdefault(stretch, []).append(fragments)


def _rank(item: Annotated, by_size: bool) -> tuple[float, float, int, Fragments, str]:
    fragments = item.fragments
    covered = -size(fragments)
    score = item.score
    # NaN would make the result depend on the input order; it ranks last, like no score.
    strength = inf if score is None or score != score else -score  # noqa: PLR0124
    first, second = (covered, strength) if by_size else (strength, covered)
    return (first, second, fragments[0][0], fragments, item.label)
