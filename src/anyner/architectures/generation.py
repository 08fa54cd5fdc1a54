"""Settings and decoding that architectures with a decoder have in common. Imports no torch, and numpy only to compute."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from anyner.architectures.settings import (
    CorpusStatistics,
    Decoding,
    HeadConfig,
    RescoringSpanClassifierConfig,
    Shape,
    SpanClassifierOptions,
    Threshold,
)
from anyner.overlap import resolve
from anyner.settings import recorded
from anyner.text.align import WordEntity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    Integers = NDArray[np.int64]

PRETRAINED_RATE = 0.05
"""Share of `training.head_lr` at which a pretrained decoder learns."""
MOST_AT_ONE_WORD = 8
"""Entities at one word that are told apart at most when the corpus decides."""


class GenerationOptions(SpanClassifierOptions):
    more: Annotated[float, Field(ge=0.0, le=1.0)] | Literal["argmax"] = 0.25
    """How many entities a start word has: one more as long as its probability, given those before it, reaches this; argmax: the
    most probable number (the papers)."""

    def number_of_entities(self, counts: Tensor) -> Tensor:
        """At words where any start, from the logits of 0, 1 … entities (…, O + 1): (…)."""
        if self.more == "argmax":
            return counts[..., 1:].argmax(-1) + 1
        reached = counts[..., 1:].softmax(-1).flip(-1).cumsum(-1).flip(-1)  # (…, O) that 1, 2 … or more start there
        return 1 + (reached[..., 1:] >= self.more * reached[..., :-1]).long().cumprod(-1).sum(-1)


def number_of_entities(counts: NDArray[np.float32], more: float | Literal["argmax"]) -> Integers:
    """`GenerationOptions.number_of_entities` in numpy."""
    import numpy as np

    from anyner.architectures.numpy_spans import softmax

    if more == "argmax":
        likeliest: Integers = counts[..., 1:].argmax(-1) + 1
        return likeliest
    reached = softmax(counts[..., 1:], -1)[..., ::-1].cumsum(-1)[..., ::-1]  # (…, O) that 1, 2 … or more start there
    number: Integers = 1 + np.cumprod(reached[..., 1:] >= more * reached[..., :-1], axis=-1).sum(-1)
    return number


class GenerationConfig(HeadConfig):
    FARTHEST_IN_WORDS: ClassVar[bool]
    """Whether `farthest` counts words even where entities are spelt in pieces."""

    decoder: Literal["pretrained", "encoder", "new"] | None = None
    """Where the decoder starts from: the encoder's other half (BART and T5 kinds), the encoder's upper layers (BERT kinds), or
    nothing. Left open: pretrained where the encoder has another half, else new."""
    layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder; left open: 2, of a pretrained one all."""
    width: int | None = Field(default=None, ge=8)
    """Width of a new decoder; left open: that of the word vectors."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    span_classifier: RescoringSpanClassifierConfig = RescoringSpanClassifierConfig()

    longest: int | None = recorded(ge=1)
    """Most units (words or pieces) of an entity."""
    farthest: int | None = recorded(ge=1)
    """Most units from an entity's first to its last: half more than in the training corpus."""
    most_at_one_word: int | None = recorded(ge=1)
    """Most entities that one word begins, O_max: as in the training corpus, at most 8."""
    contiguous: bool | None = recorded()
    """Whether all entities of the training corpus are contiguous: then the search is simpler and exact."""
    most_units: int | None = recorded(ge=1)
    """Most units of a window, for the size of position tables: what the encoder can take."""

    @property
    @abstractmethod
    def spelt_in(self) -> Literal["words", "pieces"]:
        """The units that sequences consist of."""

    def fitted_with(self, statistics: CorpusStatistics, own: Mapping[str, Any]) -> Self:
        """The settings with every open value chosen: those of an architecture's `own`, and what all measure alike."""
        chosen = {
            "farthest": half_more(statistics.spans, statistics),
            "most_at_one_word": min(max(statistics.most_at_one_word, 1), MOST_AT_ONE_WORD),
            "contiguous": not statistics.discontinuous,
            "most_units": statistics.most_words,
            **own,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def decoder_kind(self, statistics: CorpusStatistics) -> Literal["pretrained", "encoder", "new"]:
        return self.decoder or ("pretrained" if statistics.encoder_decoder else "new")

    def expressible(self, first: Integers, last: Integers, units: Integers) -> NDArray[np.bool_]:
        """Which entities from a first to a last unit, of so many units, can be written; others would be impossible targets."""
        import numpy as np

        reach = last - first + 1
        whole = reach == units if self.contiguous else np.ones_like(reach, dtype=bool)
        return whole & (reach <= self.farthest) if self.farthest is not None else whole

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons, begun = super().unreachable(entities, pieces), Counter[int]()
        sizes = pieces if self.spelt_in == "pieces" else [1] * len(pieces)
        for place, entity in enumerate(entities):
            if reasons[place] is None:
                reasons[place] = self._too_large(entity, sizes)
            if reasons[place] is None:
                begun[entity.first] += 1
                if self.most_at_one_word and begun[entity.first] > self.most_at_one_word:
                    reasons[place] = f"more than head.most_at_one_word, {self.most_at_one_word}, begin at its first word"
        return reasons

    def _too_large(self, entity: WordEntity, sizes: Sequence[int]) -> str | None:
        """Why an entity cannot be written in units, of which each word has so many."""
        if self.longest and sum(sizes[word] for word in entity.word_indices) > self.longest:
            return f"longer than head.longest, {self.longest} {self.spelt_in}"
        reach = entity.last - entity.first + 1 if self.FARTHEST_IN_WORDS else sum(sizes[entity.first : entity.last + 1])
        return f"reaches over more than head.farthest, {self.farthest}" if self.farthest and reach > self.farthest else None

    def score_thresholds(self, first: str | None) -> tuple[Threshold, ...]:
        """Of a word's probability to start entities, if `first` names one, and of scores.

        Discontinuous entities have a threshold of their own: they are few and score low, and the best threshold for all entities
        hides half of them.
        """
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        scores = Threshold("score", 0.05, 0.3, grid), Threshold("discontinuous", 0.05, 0.3, grid, tuned_on="discontinuous")
        return (*([Threshold(first, 0.05, 0.5, grid, of_score=False)] if first else []), *scores[: 1 if self.contiguous else 2])

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"} if self.contiguous else {"flat", "nested", "crossing", "discontinuous"})


def resolved(found: Sequence[Mapping[tuple[int, ...], float]], decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence, from the scores of their labels and words, with overlaps resolved by the policy."""
    return [
        resolve([WordEntity.of_words(decoding.labels[key[0]], key[1:], own[key]) for key in sorted(own)], decoding.policy)
        for own in found
    ]


def half_more(sizes: Sequence[int], statistics: CorpusStatistics) -> int:
    """Half more than the largest, as far as a window reaches: what is longer could never be written."""
    size = max(sizes, default=1)
    return min(size + (size + 1) // 2, statistics.most_words)
