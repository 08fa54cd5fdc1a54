"""Contiguous regions that relations join into discontinuous entities, as in Label Studio and doccano."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from anyner.corpora.annotation import Claim

LINK = "discontinuous"
"""The type of a relation between two regions that are fragments of one entity. Other types are not read."""

Link = tuple[Hashable, Hashable]


@dataclass(frozen=True, slots=True)
class Region:
    """A span of text with one or several labels, not yet validated."""

    name: Hashable
    labels: tuple[object, ...]
    start: object
    end: object
    score: object = None
    text: object = None


def claims_of(regions: Sequence[Region], links: Iterable[Link], line: int) -> Iterator[Claim]:
    """An entity for each label of a region; linked regions with the same label form one entity."""
    neighbours: dict[Hashable, list[Hashable]] = defaultdict(list)
    for one, other in links:
        neighbours[one].append(other)
        neighbours[other].append(one)
    by_name = {region.name: region for region in regions}
    done: set[tuple[Hashable, object]] = set()
    for region in regions:
        for label in region.labels or (None,):
            if not neighbours.get(region.name):
                yield Claim(line, label, [[region.start, region.end]], region.score, region.text)
            elif isinstance(label, str) and (region.name, label) not in done:
                group = _linked(region.name, label, by_name, neighbours)
                done.update((name, label) for name in group)
                yield _joined([by_name[name] for name in group], label, line)


def _linked(
    start: Hashable, label: str, regions: dict[Hashable, Region], neighbours: dict[Hashable, list[Hashable]]
) -> list[Hashable]:
    """The names of all regions with the label that are reachable from the first through links."""
    found = [start]
    seen = {start}
    for name in found:
        others = (other for other in neighbours.get(name, ()) if other in regions and other not in seen)
        new = [other for other in others if label in regions[other].labels]
        seen.update(new)
        found.extend(dict.fromkeys(new))
    return found


def _joined(group: list[Region], label: str, line: int) -> Claim:
    if all(type(region.start) is int for region in group):
        group = sorted(group, key=lambda region: (region.start, str(region.end)))
    texts = [region.text for region in group]
    copy = " ".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None
    return Claim(line, label, [[region.start, region.end] for region in group], group[0].score, copy)
