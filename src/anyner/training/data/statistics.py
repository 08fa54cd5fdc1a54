"""Corpus statistics that an architecture fits its settings to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from anyner.architectures.settings import CorpusStatistics, Shape
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
    most = window_pieces(encoder.most_pieces, text)
    sizes: list[tuple[int, int, int]] = []  # words, words with those in gaps, pieces
    for document, entities in zip(data.train, per_document, strict=True):
        words = [document.text[start:end] for start, end in words_of(document, text)] if entities else []
        pieces = [len(own) for own in cut(words)]
        for entity in entities:
            inside = entity.word_indices
            if sum(pieces[entity.first : entity.last + 1]) <= most:
                sizes.append((len(inside), entity.last - entity.first + 1, sum(pieces[word] for word in inside)))
    starts = (count for own in per_document for count in Counter(entity.first for entity in own).values())
    lengths, spans, piece_lengths = zip(*sizes, strict=True) if sizes else ((), (), ())
    return CorpusStatistics(
        labels=data.labels,
        lengths=lengths,
        spans=spans,
        piece_lengths=piece_lengths,
        most_at_one_word=max(starts, default=0),
        most_words=most,
        encoder_decoder=is_encoder_half(encoder.pretrained),
        discontinuous=any(len(entity.fragments) > 1 for entities in per_document for entity in entities),
    )


def strictest_policy(per_document: Iterable[Sequence[WordEntity]], shapes: Collection[Shape]) -> Policy:
    """The strictest overlap policy that the corpus satisfies; discontinuous entities count only if the model can express them.

    Entities that share words with discontinuous ones ("hip and knee pain") seldom do so with each other.
    """
    of_spans: set[Relation] = set()
    of_all: set[Relation] = set()
    for fragments in ([entity.fragments for entity in own] for own in per_document):
        for first, second, relation in sharing_pairs(fragments):
            of_all.add(relation)
            if len(fragments[first]) == len(fragments[second]) == 1:
                of_spans.add(relation)
    policy = _allowing(of_spans)
    if "discontinuous" not in shapes or policy == _allowing(of_all):
        return policy
    return "nested_spans" if of_spans else "flat_spans"


def _allowing(relations: Collection[Relation]) -> Policy:
    if Relation.CROSSING in relations:
        return "all"
    return "nested" if relations else "flat"
