"""Tunes thresholds on dev documents, from proposals that are computed once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from anyner.architectures.decode import HostProposals
from anyner.architectures.settings import Decoding
from anyner.document import Document, Entity
from anyner.evaluation.scores import NOTHING, Score
from anyner.fragments import Fragments
from anyner.inference.batching import batches, longest_first, window_size
from anyner.inference.recognizer import Recognizer
from anyner.inference.runtime import Runtime, decoded
from anyner.text.align import WordEntity
from anyner.text.windows import Window, WindowMerger

_FEW = 20
"""Up to this number, all candidates of a threshold are tried."""
_MOST_BATCH_TOKENS = 16_384
"""Batches are small even on a GPU: an untrained head proposes nearly everything."""
RECALL_WEIGHTS = {"all": 1.0, "discontinuous": 0.5}
"""Thresholds are tuned for F1; for discontinuous entities precision counts twice: a wrong one also lowers the F1 of all."""

_Key = tuple[str, Fragments]
_Scores = Mapping[str, Score]
"""The scores of `all` entities and of the `discontinuous` ones, as `Threshold.tuned_on` names them."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of one batch, on the host; `places` are the indices of its windows."""

    places: tuple[int, ...]
    proposals: HostProposals


@dataclass(frozen=True, slots=True)
class Tuned:
    thresholds: Mapping[str, float]
    score: Score
    """Strict score on the documents at these thresholds."""
    discontinuous: Score
    """The score of discontinuous entities alone."""


class Tuner:
    """Dev documents, cut into windows once and scored every epoch."""

    def __init__(self, recognizer: Recognizer, documents: Sequence[Document]) -> None:
        self._recognizer = recognizer
        self._gold = [_Gold.of(document) for document in documents]
        self._windows = recognizer.windows(documents)

    @property
    def words(self) -> int:
        """Number of words read for every tuning."""
        return sum(len(window.words) for window in self._windows)

    def tune(self) -> Tuned:
        """Thresholds tuned for strict F1 on the documents."""
        return tuned_on([self.read()])

    def read(self) -> DocumentsRead:
        """The current model's proposals at the loosest thresholds."""
        return self.documents_read(self.share(0, 1))

    def share(self, number: int, of: int) -> list[Proposed]:
        """The proposals for one of `of` equal shares of the windows."""
        batch_tokens = min(_MOST_BATCH_TOKENS, self._recognizer.batch_tokens)
        own = self._recognizer.decoding()
        loosest = replace(own, thresholds={one.name: one.loosest for one in own.config.thresholds()})
        found = proposed(self._recognizer, self._windows[number::of], loosest, batch_tokens)
        return [Proposed(tuple(number + of * place for place in batch.places), batch.proposals) for batch in found]

    def documents_read(self, proposed: Sequence[Proposed]) -> DocumentsRead:
        """The documents, with the proposals of all shares."""
        return DocumentsRead(self._recognizer.runtime, self._recognizer.decoding(), self._gold, self._windows, proposed)


def proposed(recognizer: Recognizer, windows: Sequence[Window], decoding: Decoding, batch_tokens: int) -> Iterator[Proposed]:
    """Proposals of the windows, in batches of similar length, longest first."""
    sizes = [window_size(window) + recognizer.vocabulary.frame.special for window in windows]
    padded = recognizer.runtime.padded
    # No second thread: both would run Python, and passing the GIL costs more than the wait it hides.
    for places in batches(sizes, longest_first(windows, padded), batch_tokens, padded=padded):
        yield Proposed(tuple(places), recognizer.runtime.propose([windows[place] for place in places], decoding))


@dataclass(frozen=True, slots=True)
class DocumentsRead:
    """One model's proposals for documents, to try thresholds on."""

    runtime: Runtime
    decoding: Decoding
    gold: Sequence[_Gold]
    windows: Sequence[Window]
    proposed: Sequence[Proposed]

    def entities(self, decoding: Decoding) -> dict[int, list[Entity]]:
        """The entities found with these settings, by the number of the document; documents without words have no entry."""
        found: dict[int, list[WordEntity]] = {}
        for batch in self.proposed:
            found.update(zip(batch.places, decoded(self.runtime, batch.proposals, len(batch.places), decoding), strict=True))
        mergers: dict[int, WindowMerger] = {}
        for place, window in enumerate(self.windows):
            mergers.setdefault(window.document, WindowMerger(decoding.policy)).add(window, found[place])
        return {number: merger.entities() for number, merger in mergers.items()}

    def tried(self, thresholds: Mapping[str, float]) -> _Scores:
        found = self.entities(replace(self.decoding, thresholds=thresholds))
        everything = [(self.gold[number].judged({e.key for e in own}), number) for number, own in found.items()]
        return {"all": self._score(everything, 1), "discontinuous": self._score(everything, 2)}

    def _score(self, found: Sequence[tuple[set[_Key], int]], fragments: int) -> Score:
        """Score of the entities with at least this number of fragments."""
        correct = predicted = 0
        for keys, number in found:
            counted = {key for key in keys if len(key[1]) >= fragments}
            correct += len(counted & self.gold[number].keys)
            predicted += len(counted)
        return Score(correct, predicted, sum(len(key[1]) >= fragments for gold in self.gold for key in gold.keys))


def tuned_on(parts: Sequence[DocumentsRead]) -> Tuned:
    """One set of thresholds for all parts, each read by its own model. Thresholds are tuned one after another; each is set to
    the middle of the range in which F1 hardly changes."""
    known = max((part.runtime.head.config for part in parts), key=lambda config: len(config.thresholds()))
    chosen = dict(known.default_thresholds())
    taken = _all_tried(parts, chosen)
    for threshold in known.thresholds():
        tried = {
            place: _all_tried(parts, {**chosen, threshold.name: threshold.candidates[place]})
            for place in _tried_places(len(threshold.candidates))
        }
        own = {place: scores[threshold.tuned_on] for place, scores in tried.items()}
        middle = middle_place(own, RECALL_WEIGHTS[threshold.tuned_on])
        if middle is None:
            continue  # no candidate finds anything: keep the default
        chosen[threshold.name] = threshold.candidates[middle]
        taken = tried.get(middle) or _all_tried(parts, chosen)
    return Tuned(chosen, taken["all"], taken["discontinuous"])


def _all_tried(parts: Sequence[DocumentsRead], thresholds: Mapping[str, float]) -> _Scores:
    trials = [part.tried(thresholds) for part in parts]
    return {name: sum((scores[name] for scores in trials), NOTHING) for name in ("all", "discontinuous")}


def _tried_places(count: int) -> list[int]:
    """Indices of the candidates to try: all, or every second one and the last if there are many."""
    return sorted({*range(0, count, 1 if count <= _FEW else 2), count - 1})


def middle_place(scores: Mapping[int, Score], recall_weight: float = 1.0) -> int | None:
    """The middle of the range around the best candidate whose F-score is within its standard error; None if nothing is correct.

    The best candidate itself is partly luck: on other documents the middle scores better, especially if dev is small.
    """
    reached = {place: score.f(recall_weight) for place, score in scores.items()}
    places = list(reached)
    best = max(places, key=reached.__getitem__)
    if not reached[best]:
        return None
    least = reached[best] - math.sqrt(reached[best] * (1 - reached[best]) / scores[best].gold)
    number = places.index(best)
    below, above = list(reversed(places[:number])), places[number + 1 :]
    near = [list(takewhile(lambda place: reached[place] >= least, side)) for side in (below, above)]
    first, last = (side[-1] if side else best for side in near)
    return (first + last) // 2


@dataclass(frozen=True, slots=True)
class _Gold:
    """A dev document's entities; predictions of labels that it does not annotate are not scored, as in evaluation."""

    keys: frozenset[_Key]
    labels: frozenset[str] | None

    @classmethod
    def of(cls, document: Document) -> _Gold:
        keys = frozenset(entity.key for entity in document.entities)
        return cls(keys, None if document.labels is None else document.labels | {label for label, _ in keys})

    def judged(self, keys: set[_Key]) -> set[_Key]:
        return keys if self.labels is None else {key for key in keys if key[0] in self.labels}
