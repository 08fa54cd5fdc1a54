"""Thresholds tuned on dev documents from proposals that are made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyner.architectures.settings import Decoding
from anyner.document import Document
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
        self._gold = [{entity.key for entity in document.entities} for document in documents]
        self._windows = recognizer.windows(documents)

    def tune(self, batch_tokens: int = BATCH_TOKENS) -> Tuned:
        """The thresholds with the best strict F1, one after the other, in each from coarse to fine."""
        head = self._recognizer.model.head
        decoding = replace(self._recognizer.decoding(Choice()), thresholds=head.default_thresholds())
        proposed = list(self._recognizer.proposer.propose(self._windows, decoding.options, batch_tokens))
        best = Tuned(decoding.thresholds, self._score(proposed, decoding))
        for threshold in head.thresholds:
            candidates = threshold.candidates
            coarse = range(0, len(candidates), 4)
            best, at = self._best_of(proposed, decoding, threshold.name, [candidates[i] for i in coarse], best)
            near = min(range(len(candidates)), key=lambda i, at=at: abs(candidates[i] - at))  # type: ignore[misc]
            fine = [candidates[i] for i in range(max(0, near - 3), min(len(candidates), near + 4))]
            best, _ = self._best_of(proposed, decoding, threshold.name, fine, best)
            decoding = replace(decoding, thresholds=best.thresholds)
        return best

    def _best_of(
        self, proposed: Sequence[Proposed], decoding: Decoding, name: str, candidates: Sequence[float], best: Tuned
    ) -> tuple[Tuned, float]:
        for candidate in candidates:
            if candidate == best.thresholds[name]:
                continue
            thresholds = {**decoding.thresholds, name: candidate}
            score = self._score(proposed, replace(decoding, thresholds=thresholds))
            if score.f1 > best.score.f1:
                best = Tuned(thresholds, score)
        return best, best.thresholds[name]

    def _score(self, proposed: Sequence[Proposed], decoding: Decoding) -> Score:
        decode = self._recognizer.model.head.decode
        found: dict[int, list[WordEntity]] = {}
        for batch in proposed:
            found.update(zip(batch.places, decode(batch.proposals, len(batch.places), decoding), strict=True))
        mergers: dict[int, WindowMerger] = {}
        for place, window in enumerate(self._windows):
            mergers.setdefault(window.document, WindowMerger()).add(window, found[place])
        correct = predicted = 0
        for number, merger in mergers.items():
            keys = {entity.key for entity in merger.entities(decoding.policy)}
            correct += len(keys & self._gold[number])
            predicted += len(keys)
        return Score(correct, predicted, sum(map(len, self._gold)))
