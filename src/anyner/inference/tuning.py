"""Thresholds tuned on dev documents from proposals that are made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyner.architectures.settings import Decoding, Threshold
from anyner.document import Document, Fragments
from anyner.evaluation.scores import Score
from anyner.inference.proposing import Proposed
from anyner.inference.recognizer import BATCH_TOKENS, Choice, Recognizer
from anyner.text.align import WordEntity
from anyner.text.windows import WindowMerger

_Key = tuple[str, Fragments]


@dataclass(frozen=True, slots=True)
class Tuned:
    thresholds: Mapping[str, float]
    score: Score
    """Strict score on the documents at these thresholds."""


class Tuner:
    """Holds dev documents cut into windows, so that they are cut once and scored every epoch."""

    def __init__(self, recognizer: Recognizer, documents: Sequence[Document]) -> None:
        self._recognizer = recognizer
        self._gold = [_Gold.of(document) for document in documents]
        self._windows = recognizer.windows(documents)

    def tune(self, batch_tokens: int = BATCH_TOKENS) -> Tuned:
        """The thresholds with the best strict F1, one after the other, in each from coarse to fine.

        Batches are small on a GPU, too: a head that has learned little yet proposes nearly everything.
        """
        config = self._recognizer.model.head.config
        asked = self._recognizer.decoding(Choice())
        loosest = {threshold.name: threshold.loosest for threshold in config.thresholds()}
        proposed = list(self._recognizer.proposer.propose(self._windows, replace(asked, thresholds=loosest), batch_tokens))
        decoding = replace(asked, thresholds=config.default_thresholds())
        best = self._tried(proposed, decoding)
        for threshold in config.thresholds():
            candidates = threshold.candidates
            best = self._best_of(proposed, decoding, threshold, candidates[::4], best)
            near = min(range(len(candidates)), key=lambda i: abs(candidates[i] - best.thresholds[threshold.name]))
            best = self._best_of(proposed, decoding, threshold, candidates[max(0, near - 3) : near + 4], best)
            decoding = replace(decoding, thresholds=best.thresholds)
        return Tuned(best.thresholds, best.everything)

    def _best_of(
        self, proposed: Sequence[Proposed], decoding: Decoding, threshold: Threshold, candidates: Sequence[float], best: _Trial
    ) -> _Trial:
        for candidate in candidates:
            if candidate == best.thresholds[threshold.name]:
                continue
            trial = self._tried(proposed, replace(decoding, thresholds={**decoding.thresholds, threshold.name: candidate}))
            if trial.f1(threshold) > best.f1(threshold):
                best = trial
        return best

    def _tried(self, proposed: Sequence[Proposed], decoding: Decoding) -> _Trial:
        decode = self._recognizer.model.head.decode
        found: dict[int, list[WordEntity]] = {}
        for batch in proposed:
            found.update(zip(batch.places, decode(batch.proposals, len(batch.places), decoding), strict=True))
        mergers: dict[int, WindowMerger] = {}
        for place, window in enumerate(self._windows):
            mergers.setdefault(window.document, WindowMerger(decoding.policy)).add(window, found[place])
        everything = [(self._gold[n].judged({e.key for e in merger.entities()}), n) for n, merger in mergers.items()]
        return _Trial(decoding.thresholds, self._score(everything, 1), self._score(everything, 2))

    def _score(self, found: Sequence[tuple[set[_Key], int]], fragments: int) -> Score:
        """Of entities with so many fragments or more."""
        correct = predicted = 0
        for keys, number in found:
            counted = {key for key in keys if len(key[1]) >= fragments}
            correct += len(counted & self._gold[number].keys)
            predicted += len(counted)
        return Score(correct, predicted, sum(len(key[1]) >= fragments for gold in self._gold for key in gold.keys))


@dataclass(frozen=True, slots=True)
class _Trial:
    """What some thresholds gave."""

    thresholds: Mapping[str, float]
    everything: Score
    discontinuous: Score

    def f1(self, threshold: Threshold) -> float:
        """What this threshold is judged by."""
        return (self.everything if threshold.tuned_on == "all" else self.discontinuous).f1


@dataclass(frozen=True, slots=True)
class _Gold:
    """A dev document's entities; predictions of labels that it does not annotate are not judged, as in evaluation."""

    keys: frozenset[_Key]
    labels: frozenset[str] | None

    @classmethod
    def of(cls, document: Document) -> _Gold:
        keys = frozenset(entity.key for entity in document.entities)
        return cls(keys, None if document.labels is None else document.labels | {label for label, _ in keys})

    def judged(self, keys: set[_Key]) -> set[_Key]:
        return keys if self.labels is None else {key for key in keys if key[0] in self.labels}
