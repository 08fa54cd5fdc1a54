"""Corpus statistics that an architecture fits its settings to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from anyner.architectures.settings import CorpusStatistics, Shape
from anyner.document import Document
from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import is_encoder_half
from anyner.inference.recognizer import window_pieces
from anyner.overlap import Policy, Relation, sharing_pairs
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import PieceCutter, words_of
from anyner.training.data.splits import Splits


def corpus_statistics(
    data: Splits,
    per_document: Sequence[Sequence[WordEntity]],
    *,
    text: TextConfig,
    encoder: Encoder,
    cut: PieceCutter,
) -> CorpusStatistics:
    """Lengths leave out entities that no window can hold: nothing is learned from them."""
    most = window_pieces(encoder, text)
    pairs = zip(data.train, per_document, strict=True)
    every = [entity for pair in pairs for entity in _sized(*pair, text, cut) if entity.reach <= most]
    return CorpusStatistics(
        labels=data.labels,
        lengths=tuple(entity.words for entity in every),
        spans=tuple(entity.span for entity in every),
        piece_lengths=tuple(entity.pieces for entity in every),
        most_at_one_word=_most_at_one_word(per_document),
        most_in_a_document=max(map(len, per_document), default=0),
        most_words=most,
        encoder_decoder=is_encoder_half(encoder.pretrained),
        discontinuous=any(len(entity.fragments) > 1 for entities in per_document for entity in entities),
    )


@dataclass(frozen=True, slots=True)
class _Size:
    """How long one entity is."""

    words: int
    span: int
    """Words from its first to its last, gaps included."""
    pieces: int
    reach: int
    """Pieces from its first to its last, gaps included."""


def _sized(document: Document, entities: Sequence[WordEntity], text: TextConfig, cut: PieceCutter) -> Iterator[_Size]:
    if not entities:
        return
    pieces = [len(own) for own in cut([document.text[start:end] for start, end in words_of(document, text)])]
    for entity in entities:
        inside = entity.word_indices
        reach = sum(pieces[entity.first : entity.last + 1])
        yield _Size(len(inside), entity.last - entity.first + 1, sum(pieces[word] for word in inside), reach)


def _most_at_one_word(per_document: Iterable[Sequence[WordEntity]]) -> int:
    return max((count for own in per_document for count in Counter(entity.first for entity in own).values()), default=0)


def strictest_policy(per_document: Iterable[Sequence[WordEntity]], shapes: Collection[Shape]) -> Policy:
    """The strictest overlap policy that the corpus keeps; discontinuous entities count only for a model that can express them.

    Contiguous entities that overlap only discontinuous ones do not overlap each other: the policy of such a model is flat.
    """
    discontinuous = "discontinuous" in shapes
    expressible = ([e.fragments for e in own if discontinuous or len(e.fragments) == 1] for own in per_document)
    relations = {relation for own in expressible for *_, relation in sharing_pairs(own)}
    if Relation.CROSSING in relations:
        return "all"
    return "nested" if relations else "flat"
