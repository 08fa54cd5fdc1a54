"""spaCy's DocBin (`.spacy`): entities in `doc.ents` and in the span groups of `doc.spans`. Needs spaCy."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from anyner.corpora.annotation import Claim, annotated
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import head_bytes, whole_bytes, write_bytes
from anyner.corpora.textform import TextRules
from anyner.document import Document
from anyner.errors import AnynerError, first_line

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

_GROUP = "sc"
"""The default span group of spaCy's span categorizer."""
_LARGEST, _LARGEST_RATIO = 1_000_000_000, 50
"""Maximum unpacked size: bytes, or a multiple of the file's size if that is more: columns of equal numbers pack well."""
_PIECE = re.compile(r"\S+|\s+")


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    data = whole_bytes(path)
    _check_size(path, data)
    number = 0
    try:
        for number, doc in enumerate(DocBin().from_bytes(data).get_docs(Vocab()), 1):
            with log.dropping(number):
                yield _document(doc, number, log)
    except AnynerError:
        raise
    except Exception as error:  # a damaged file fails anywhere in spaCy, in many ways
        raise AnynerError(f"{path}: document {number + 1}: cannot be read by spaCy: {first_line(error)}") from error


def _check_size(path: Path, data: bytes) -> None:
    limit = max(_LARGEST, _LARGEST_RATIO * len(data))
    unpacker = zlib.decompressobj()
    size, rest = 0, data
    try:
        while rest and not unpacker.eof:
            size += len(unpacker.decompress(rest, 1 << 20))
            rest = unpacker.unconsumed_tail
            if size > limit:
                raise AnynerError(f"{path}: unpacks to more than {limit / 1e9:g} GB")
    except zlib.error as error:
        raise AnynerError(f"{path}: cannot be read: {error}") from None


def _document(doc: Doc, number: int, log: ProblemLog) -> Document:
    """Entities from all span groups and from `doc.ents`; one that is in both counts once."""
    claims: dict[tuple[object, object], Claim] = {}
    for group in doc.spans.values():
        scores = group.attrs.get("scores")
        scores = list(scores) if scores is not None and len(scores) == len(group) else [None] * len(group)
        for span, score in zip(group, scores, strict=True):
            claim = _claim(span, number, _score(score))
            claims.setdefault((claim.label, str(claim.fragments)), claim)
    for span in doc.ents:
        claim = _claim(span, number, None)
        claims.setdefault((claim.label, str(claim.fragments)), claim)
    if not doc.spans and len(doc) and not doc.has_annotation("ENT_IOB"):
        log.kept(number, "neither doc.ents nor doc.spans is annotated: read without entities")
    return annotated(Document(doc.text), claims.values(), log, in_words=False)


def _score(score: object) -> float | None:
    """NaN marks an entity without a score among others that have one."""
    return None if not isinstance(score, float) or math.isnan(score) else float(score)


def _claim(span: Span, number: int, score: float | None) -> Claim:
    return Claim(number, span.label_, [(span.start_char, span.end_char)], score)


def _write(documents: Iterable[Document], path: Path) -> None:
    import spacy
    from spacy.tokens import DocBin

    language = spacy.blank("xx")
    made = DocBin(attrs=["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE"])
    for document in documents:
        made.add(_doc(document, language))
    write_bytes(path, [made.to_bytes()])


def _doc(document: Document, language: Language) -> Doc:
    """All entities are in the span group; also in `doc.ents`, unless some overlap, which spaCy does not allow there."""
    from spacy.tokens import Doc, SpanGroup

    words, spaces = _tokens(document, language)
    doc = Doc(language.vocab, words=words, spaces=spaces)
    spans = [doc.char_span(entity.start, entity.end, label=entity.label) for entity in document.entities]
    scores = [entity.score for entity in document.entities]
    scored = any(score is not None for score in scores)
    attrs = {"scores": [math.nan if score is None else score for score in scores]} if scored else {}
    doc.spans[_GROUP] = SpanGroup(doc, name=_GROUP, spans=spans, attrs=attrs)
    if not any(one.end > other.start for one, other in pairwise(document.entities)):
        doc.set_ents(spans, default="outside")
    return doc


def _tokens(document: Document, language: Language) -> tuple[list[str], list[bool]]:
    """The words, given or spaCy's, split at entity boundaries, and whether a space that is not a token follows each."""
    text = document.text
    given = document.words
    if given is None:
        given = tuple((token.idx, token.idx + len(token)) for token in language.make_doc(text))
    starts, ends = ({getattr(entity, side) for entity in document.entities} for side in ("start", "end"))
    cuts = sorted({0, len(text), *(place for word in given for place in word), *starts, *ends})
    words: list[str] = []
    spaces: list[bool] = []
    for begin, end in pairwise(cuts):
        for piece in _PIECE.finditer(text, begin, end):
            free = piece.start() not in starts and piece.end() not in ends
            if piece[0] == " " and free and words and not spaces[-1]:
                spaces[-1] = True
            else:
                words.append(piece[0])
                spaces.append(False)
    return words, spaces


def _recognises(path: Path, head: str) -> bool:
    if not head.startswith("x"):  # the first byte of zlib data
        return False
    try:
        return b"\xa7version" in zlib.decompressobj().decompress(head_bytes(path), 16)
    except zlib.error:
        return False


SPACY = Format(
    "spacy",
    _documents,
    _write,
    TextRules(discontinuous=False).fit,
    _recognises,
    keeps=frozenset({"scores"}),
    signature=True,
    needs="spacy",
)
