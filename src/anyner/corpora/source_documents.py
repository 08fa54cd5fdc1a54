"""Source documents of several files: equal names in `doc` need not mean the same document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from anyner.corpora.corpus import Corpus, Problem
from anyner.document import Document

_Sentences = dict[int, str]
"""The text of each sentence of a source document; of two with the same number the last."""


def with_distinct_docs(files: Sequence[tuple[str, Corpus]]) -> list[Corpus]:
    """The corpora of files, given with their names. A `doc` that has the name of one in an earlier file, but another text at the
    same `sentence`, gets a new name, and a problem says so.

    Readers number the documents of a file that does not name them, so two such files have the same names. Without this a
    sentence would get neighbours from the other file.
    """
    known: dict[str, _Sentences] = defaultdict(dict)
    result = []
    for path, corpus in files:
        sources = _sources(corpus)
        clashing = [doc for doc, sentences in sources.items() if not _agree(sentences, known[doc])]
        new = {
            doc: next(name for name in _names(doc) if name not in sources and _agree(sources[doc], known[name]))
            for doc in clashing
        }
        documents = tuple(replace(one, doc=new[one.doc]) if one.doc in new else one for one in corpus)
        for doc, sentences in _sources(documents).items():
            known[doc].update(sentences)
        problems = [Problem(path, 1, _message(new), kept=True)] if new else []
        result.append(Corpus(documents, (*corpus.problems, *problems)))
    return result


def _sources(documents: Iterable[Document]) -> dict[str, _Sentences]:
    sources: dict[str, _Sentences] = defaultdict(dict)
    for one in documents:
        if one.doc is not None and one.sentence is not None:
            sources[one.doc][one.sentence] = one.text
    return sources


def _agree(some: _Sentences, others: _Sentences) -> bool:
    """Whether both can be sentences of one document."""
    return all(others.get(sentence, text) == text for sentence, text in some.items())


def _names(doc: str) -> Iterator[str]:
    """The first one that is free, or that names the same document in an earlier file, is used."""
    return (f"{doc} ({number})" for number in count(2))


def _message(new: Mapping[str, str]) -> str:
    first = next(iter(new))
    return f"{len(new)} `doc` names already name other texts in an earlier file, e.g. {first!r}: renamed to {new[first]!r}"
