"""What the training corpus tells an architecture before it is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from anyner.architectures.settings import CorpusFacts, Shape
from anyner.document import Document
from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import is_encoder_half
from anyner.inference.recognizer import window_pieces
from anyner.overlap import Policy, Relation, sharing_pairs
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import PieceCutter, words_of
from anyner.training.data import Splits


def corpus_facts(
    data: Splits,
    per_document: Sequence[Sequence[WordEntity]],
    *,
    text: TextConfig,
    encoder: Encoder,
    cut: PieceCutter,
) -> CorpusFacts:
    every = [entity for entities in per_document for entity in entities]
    pieces = (count for pair in zip(data.train, per_document, strict=True) for count in _piece_lengths(*pair, text, cut))
    return CorpusFacts(
        labels=data.labels,
        lengths=tuple(len(entity.word_indices) for entity in every),
        spans=tuple(entity.last - entity.first + 1 for entity in every),
        piece_lengths=tuple(pieces),
        most_at_one_word=_most_at_one_word(per_document),
        most_in_a_document=max(map(len, per_document), default=0),
        most_words=window_pieces(encoder, text),
        encoder_decoder=is_encoder_half(encoder.pretrained),
        discontinuous=any(len(entity.fragments) > 1 for entity in every),
    )


def _piece_lengths(document: Document, entities: Sequence[WordEntity], text: TextConfig, cut: PieceCutter) -> Iterator[int]:
    if entities:
        sizes = [len(pieces) for pieces in cut([document.text[start:end] for start, end in words_of(document, text)])]
        yield from (sum(sizes[word] for word in entity.word_indices) for entity in entities)


def _most_at_one_word(per_document: Iterable[Sequence[WordEntity]]) -> int:
    return max((count for own in per_document for count in Counter(entity.first for entity in own).values()), default=0)


def strictest_policy(per_document: Iterable[Sequence[WordEntity]], shapes: Collection[Shape]) -> Policy:
    """The strictest overlap policy that the corpus keeps; discontinuous entities count only for a model that can express them.

    Where entities share words only with discontinuous ones, of contiguous spans that do so at most one is right.
    """
    gaps = "discontinuous" in shapes
    expressible = ([e.fragments for e in own if gaps or len(e.fragments) == 1] for own in per_document)
    relations = {relation for own in expressible for *_, relation in sharing_pairs(own)}
    if Relation.CROSSING in relations:
        return "all"
    return "nested" if relations else "flat"
