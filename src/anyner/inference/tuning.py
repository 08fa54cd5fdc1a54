"""Thresholds tuned on dev documents from proposals that are made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyner.architectures.settings import Decoding
from anyner.document import Document, Fragments
from anyner.evaluation.scores import Score
from anyner.inference.proposing import Proposed
from anyner.inference.recognizer import BATCH_TOKENS, Choice, Recognizer
from anyner.text.align import WordEntity
from anyner.text.windows import WindowMerger


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
        best = Tuned(decoding.thresholds, self._score(proposed, decoding))
        for threshold in config.thresholds():
            candidates = threshold.candidates
            best = self._best_of(proposed, decoding, threshold.name, candidates[::4], best)
            near = min(range(len(candidates)), key=lambda i: abs(candidates[i] - best.thresholds[threshold.name]))
            best = self._best_of(proposed, decoding, threshold.name, candidates[max(0, near - 3) : near + 4], best)
            decoding = replace(decoding, thresholds=best.thresholds)
        return best

    def _best_of(
        self, proposed: Sequence[Proposed], decoding: Decoding, name: str, candidates: Sequence[float], best: Tuned
    ) -> Tuned:
        for candidate in candidates:
            if candidate == best.thresholds[name]:
                continue
            thresholds = {**decoding.thresholds, name: candidate}
            score = self._score(proposed, replace(decoding, thresholds=thresholds))
            if score.f1 > best.score.f1:
                best = Tuned(thresholds, score)
        return best

    def _score(self, proposed: Sequence[Proposed], decoding: Decoding) -> Score:
        decode = self._recognizer.model.head.decode
        found: dict[int, list[WordEntity]] = {}
        for batch in proposed:
            found.update(zip(batch.places, decode(batch.proposals, len(batch.places), decoding), strict=True))
        mergers: dict[int, WindowMerger] = {}
        for place, window in enumerate(self._windows):
            mergers.setdefault(window.document, WindowMerger(decoding.policy)).add(window, found[place])
        correct = predicted = 0
        for number, merger in mergers.items():
            keys = self._gold[number].judged({entity.key for entity in merger.entities()})
            correct += len(keys & self._gold[number].keys)
            predicted += len(keys)
        return Score(correct, predicted, sum(len(gold.keys) for gold in self._gold))


_Key = tuple[str, Fragments]


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
