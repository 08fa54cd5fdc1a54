"""Larger documents of several files: equal names need not mean the same one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from anyner.corpora.corpus import Corpus, Problem
from anyner.document import Document

_Sentences = dict[int, str]
"""The text of each sentence of a larger document; of two with the same number the last."""


def told_apart(files: Sequence[tuple[str, Corpus]]) -> list[Corpus]:
    """The corpora of files with their names. Where a `doc` has the name of one in an earlier file, but another text at the
    same `sentence`, it gets a name of its own, and a problem says so.

    Readers number the documents of a file that does not name them, so that two files of equal names have the same ones.
    Without this a sentence would get neighbours from the other file.
    """
    known: dict[str, _Sentences] = defaultdict(dict)
    result = []
    for path, corpus in files:
        homes = _homes(corpus)
        strange = [doc for doc, sentences in homes.items() if not _agree(sentences, known[doc])]
        new = {
            doc: next(name for name in _names(doc) if name not in homes and _agree(homes[doc], known[name])) for doc in strange
        }
        documents = tuple(replace(one, doc=new[one.doc]) if one.doc in new else one for one in corpus)
        for doc, sentences in _homes(documents).items():
            known[doc].update(sentences)
        told = [Problem(path, 1, _message(new), kept=True)] if new else []
        result.append(Corpus(documents, (*corpus.problems, *told)))
    return result


def _homes(documents: Iterable[Document]) -> dict[str, _Sentences]:
    homes: dict[str, _Sentences] = defaultdict(dict)
    for one in documents:
        if one.doc is not None and one.sentence is not None:
            homes[one.doc][one.sentence] = one.text
    return homes


def _agree(some: _Sentences, others: _Sentences) -> bool:
    """Whether both can be sentences of one document."""
    return all(others.get(sentence, text) == text for sentence, text in some.items())


def _names(doc: str) -> Iterator[str]:
    """The first that is free is taken, or that of the same document in an earlier file."""
    return (f"{doc} ({number})" for number in count(2))


def _message(new: Mapping[str, str]) -> str:
    first = next(iter(new))
    return f"{len(new)} `doc`s have the names of others in an earlier file, the first {first!r}: taken as {new[first]!r}"
