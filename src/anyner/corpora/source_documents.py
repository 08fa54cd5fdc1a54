"""Source documents, identified by `doc` and `sentence`: kept distinct across files, and read as context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, takewhile

from anyner.corpora.corpus import Corpus, Problem
from anyner.document import Document
from anyner.errors import AnynerError

_Sentences = dict[int, str]
"""The text of each sentence of a source document; of two with the same number, the last one."""


def with_distinct_docs(files: Sequence[tuple[str, Corpus]]) -> list[Corpus]:
    """The corpora of files, given with their names. A `doc` whose name an earlier file uses, with another text at the same
    `sentence`, gets a new name, which is reported as a problem.

    Readers number the documents of a file that does not name them, so two such files use the same names: sentences would get
    neighbours from the other file.
    """
    known: dict[str, _Sentences] = defaultdict(dict)
    result = []
    for path, corpus in files:
        sources = _sources(corpus)
        new: dict[str, str] = {}
        for doc, sentences in sources.items():
            if not _agree(sentences, known[doc]):
                # the first name that is unused, or that an earlier file uses for the same document
                names = (f"{doc} ({number})" for number in count(2))
                new[doc] = next(name for name in names if name not in sources and _agree(sentences, known[name]))
        documents = tuple(replace(one, doc=new[one.doc]) if one.doc in new else one for one in corpus)
        for doc, sentences in _sources(documents).items():
            known[doc].update(sentences)
        problems = list(corpus.problems)
        if new:
            old, name = next(iter(new.items()))
            what = f"`doc` names that an earlier file uses for other texts: {len(new)} renamed, e.g. {old!r} to {name!r}"
            problems.append(Problem(path, 1, what, kept=True))
        result.append(Corpus(documents, tuple(problems)))
    return result


def _sources(documents: Iterable[Document]) -> dict[str, _Sentences]:
    sources: dict[str, _Sentences] = defaultdict(dict)
    for one in documents:
        if one.doc is not None and one.sentence is not None:
            sources[one.doc][one.sentence] = one.text
    return sources


def _agree(some: _Sentences, others: _Sentences) -> bool:
    """Whether both can belong to one document."""
    return all(others.get(sentence, text) == text for sentence, text in some.items())


def neighbours_attached(documents: Sequence[Document], sentences: int, pool: Sequence[Document] = ()) -> tuple[Document, ...]:
    """The documents with up to `sentences` neighbours on each side as `before` and `after`.

    Neighbours have the same `doc` and consecutive numbers; they are looked up in the documents and the pool.
    A document that already has context, or has no `doc` or `sentence`, stays unchanged.
    """
    if sentences < 0:
        raise AnynerError(f"the number of neighbouring sentences cannot be negative, got {sentences}")
    texts = {(one.doc, one.sentence): one.text for one in (*pool, *documents)}
    return tuple(_with_neighbours(document, sentences, texts) for document in documents)


def _with_neighbours(document: Document, sentences: int, texts: dict[tuple[str | None, int | None], str]) -> Document:
    if document.doc is None or document.sentence is None or document.before or document.after:
        return document
    place = document.sentence
    before = _run(document.doc, range(place - 1, place - 1 - sentences, -1), texts)
    after = _run(document.doc, range(place + 1, place + 1 + sentences), texts)
    if not before and not after:
        return document
    return replace(document, before=" ".join(reversed(before)), after=" ".join(after))


def _run(doc: str, places: Iterable[int], texts: dict[tuple[str | None, int | None], str]) -> list[str]:
    return [texts[key] for key in takewhile(texts.__contains__, ((doc, place) for place in places))]
