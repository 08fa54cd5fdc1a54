"""Settings and decoding shared by architectures with a decoder. Imports no torch, and numpy only inside functions."""

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
"""Learning rate of a pretrained decoder, as a share of `training.head_lr`."""
MOST_AT_ONE_WORD = 8
"""Upper limit of `most_at_one_word` when it is chosen from the corpus."""


class GenerationOptions(SpanClassifierOptions):
    more: Annotated[float, Field(ge=0.0, le=1.0)] | Literal["argmax"] = 0.25
    """Number of entities at a start word: one more as long as its probability, given the ones before, reaches this. argmax: the
    most probable number (the papers)."""

    def number_of_entities(self, counts: Tensor) -> Tensor:
        """Number of entities (…) at words that start any, from the logits (…, O + 1) of 0, 1 … entities."""
        if self.more == "argmax":
            return counts[..., 1:].argmax(-1) + 1
        at_least = counts[..., 1:].softmax(-1).flip(-1).cumsum(-1).flip(-1)  # (…, O) probability of at least 1, 2 … entities
        return 1 + (at_least[..., 1:] >= self.more * at_least[..., :-1]).long().cumprod(-1).sum(-1)


def number_of_entities(counts: NDArray[np.float32], more: float | Literal["argmax"]) -> Integers:
    """`GenerationOptions.number_of_entities` in numpy."""
    import numpy as np

    from anyner.architectures.numpy_spans import softmax

    if more == "argmax":
        likeliest: Integers = counts[..., 1:].argmax(-1) + 1
        return likeliest
    at_least = softmax(counts[..., 1:], -1)[..., ::-1].cumsum(-1)[..., ::-1]  # (…, O) probability of at least 1, 2 … entities
    number: Integers = 1 + np.cumprod(at_least[..., 1:] >= more * at_least[..., :-1], axis=-1).sum(-1)
    return number


class GenerationConfig(HeadConfig):
    FARTHEST_IN_WORDS: ClassVar[bool]
    """Whether `farthest` counts words even if the units are pieces."""

    decoder: Literal["pretrained", "encoder", "new"] | None = None
    """Initial weights of the decoder: from the checkpoint's decoder (BART, mBART, T5), from the encoder's upper layers
    (BERT-like), or random. Unset: pretrained if the checkpoint has a decoder, else new."""
    layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder. Unset: 2, or all of a pretrained one."""
    width: int | None = Field(default=None, ge=8)
    """Hidden size of a new decoder. Unset: that of the word vectors."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    span_classifier: RescoringSpanClassifierConfig = RescoringSpanClassifierConfig()

    longest: int | None = recorded(ge=1)
    """Maximum units (words or pieces) of an entity."""
    farthest: int | None = recorded(ge=1)
    """Maximum units from an entity's first to its last: 1.5 times that of the training corpus."""
    most_at_one_word: int | None = recorded(ge=1)
    """Maximum entities that start at one word, O_max: that of the training corpus, at most 8."""
    contiguous: bool | None = recorded()
    """Whether all entities of the training corpus are contiguous: then the search is simpler and exact."""
    most_units: int | None = recorded(ge=1)
    """Maximum units of a window, the encoder's limit: the size of position tables."""

    @property
    @abstractmethod
    def unit_kind(self) -> Literal["words", "pieces"]:
        """The units that sequences consist of."""

    def fitted_with(self, statistics: CorpusStatistics, own: Mapping[str, Any]) -> Self:
        """The settings with every unset value chosen: `own`, those of the architecture, and those common to all."""
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
        """Which entities (first unit, last unit, number of units) can be generated; others would be impossible targets."""
        import numpy as np

        reach = last - first + 1
        whole = reach == units if self.contiguous else np.ones_like(reach, dtype=bool)
        return whole & (reach <= self.farthest) if self.farthest is not None else whole

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons, started = super().unreachable(entities, pieces), Counter[int]()
        sizes = pieces if self.unit_kind == "pieces" else [1] * len(pieces)
        for place, entity in enumerate(entities):
            if reasons[place] is None:
                reasons[place] = self._too_large(entity, sizes)
            if reasons[place] is None:
                started[entity.first] += 1
                if self.most_at_one_word and started[entity.first] > self.most_at_one_word:
                    reasons[place] = f"more than head.most_at_one_word, {self.most_at_one_word}, start at its first word"
        return reasons

    def _too_large(self, entity: WordEntity, sizes: Sequence[int]) -> str | None:
        """Why an entity is too large to generate, given the number of units of each word; None if it is not."""
        if self.longest and sum(sizes[word] for word in entity.word_indices) > self.longest:
            return f"longer than head.longest, {self.longest} {self.unit_kind}"
        reach = entity.last - entity.first + 1 if self.FARTHEST_IN_WORDS else sum(sizes[entity.first : entity.last + 1])
        return f"spans more than head.farthest, {self.farthest}" if self.farthest and reach > self.farthest else None

    def score_thresholds(self, first: str | None) -> tuple[Threshold, ...]:
        """Thresholds on a word's probability of starting entities, called `first` if not None, and on scores.

        Discontinuous entities have a threshold of their own: they are few and score low, and the best threshold for all entities
        drops half of them.
        """
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        scores = Threshold("score", 0.05, 0.3, grid), Threshold("discontinuous", 0.05, 0.3, grid, tuned_on="discontinuous")
        return (*([Threshold(first, 0.05, 0.5, grid, of_score=False)] if first else []), *scores[: 1 if self.contiguous else 2])

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"} if self.contiguous else {"flat", "nested", "crossing", "discontinuous"})


def resolved(found: Sequence[Mapping[tuple[int, ...], float]], decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence, from scores by (label, *words), with overlaps resolved by the policy."""
    return [
        resolve([WordEntity.of_words(decoding.labels[key[0]], key[1:], own[key]) for key in sorted(own)], decoding.policy)
        for own in found
    ]


def half_more(sizes: Sequence[int], statistics: CorpusStatistics) -> int:
    """1.5 times the largest size, at most the words of a window: nothing longer could be generated."""
    size = max(sizes, default=1)
    return min(size + (size + 1) // 2, statistics.most_words)
