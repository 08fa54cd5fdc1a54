"""`anyner convert`: a corpus from one format into another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import checked_splitter
from anyner.cli.corpus import CORPUS_HELP, read_corpus, tell_problems
from anyner.cli.output import say
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus, Problem
    from anyner.document import Document
    from anyner.text.words import SplitterName

_BY_ENDING = {".jsonl": "jsonl", **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".iobes"), "conll")}


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=CORPUS_HELP)],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, a new folder for brat, or - for stdout.")],
    *,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN. Default: detected from its content.")
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="jsonl, jsonl-tokens, conll, brat, spans, w2ner or dai. Default: by ending."),
    ] = None,
    splitter: Annotated[
        str | None,
        typer.Option(metavar="S", help="unicode, whitespace or cjk: split the texts into words first."),
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Write what the format can hold, and list what is lost.")] = False,
) -> None:
    """Write a corpus in another format. What the format cannot hold is refused, unless --lossy.

    Word-based formats keep no white space: with --splitter, words are separated by one space.

    \b
    Examples:
      anyner convert genia.conll genia.jsonl
      anyner convert cadec.jsonl cadec-brat --to brat
      anyner convert synthetic:train flat.conll --lossy
      anyner convert reports.jsonl reports.json --to w2ner --splitter unicode
    """
    chosen = target_format or _format_of(target)
    corpus = read_corpus(source, source_format)
    tell_problems(corpus.problems)
    if splitter is not None:
        corpus = _in_words(corpus, splitter)
        tell_problems(corpus.problems)
    lost = _to_stdout(corpus, chosen, lossy) if target == "-" else _written(corpus, Path(target), chosen, lossy)
    if lost:
        gone = sum(not loss.kept for loss in lost)
        say(f"{len(lost)} losses ({gone} of them entities or documents that are gone):", err=True)
        for loss in lost:
            say(f"  {loss.what} ({'changed' if loss.kept else 'gone'})", err=True)


def _in_words(corpus: Corpus, splitter: str) -> Corpus:
    """The documents cut into words; what does not sit on them is a problem to tell."""
    from anyner.corpora.corpus import Corpus, Problem

    name = checked_splitter(splitter)
    documents, problems = [], []
    for number, document in enumerate(corpus, 1):
        cut, told = _cut(document, name)
        documents.append(cut)
        problems += [Problem(document.id or "document", number, what, kept) for what, kept in told]
    return Corpus(tuple(documents), tuple(problems))


def _cut(document: Document, splitter: SplitterName) -> tuple[Document, list[tuple[str, bool]]]:
    """The document in words, entities widened to them; and what became of those and of tags, with whether it was kept."""
    from anyner.document import Document, Entity
    from anyner.text.align import to_words
    from anyner.text.words import iterate_words

    words = list(iterate_words(document.text, splitter))
    aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
    told = [(str(one), one.widened is not None) for one in aligned.misaligned]
    gone = sum(not kept for _, kept in told)
    if merged := len(document.entities) - gone - len(aligned.entities):
        told.append((f"{merged} entities became equal to others", False))
    same_words = document.words == tuple(words)
    if document.pos is not None and not same_words:
        told.append(("tags of other words are left out", False))
    cut = Document.from_words(
        [document.text[start:end] for start, end in words],
        [Entity(one.label, one.fragments, one.score) for one in aligned.entities],
        pos=document.pos if same_words else None,
        **{field: getattr(document, field) for field in ("id", "doc", "sentence", "labels", "before", "after")},
    )
    return cut, told


def _format_of(target: str) -> str:
    path = Path(target)
    ending = path.with_suffix("").suffix if path.suffix in (".gz", ".xz") else path.suffix
    if ending.lower() in _BY_ENDING:
        return _BY_ENDING[ending.lower()]
    from anyner.corpora.reading import FORMATS

    raise AnynerError(f"{target}: its name does not say which format: add --to, one of {', '.join(f.name for f in FORMATS)}")


def _written(corpus: Corpus, path: Path, chosen: str, lossy: bool) -> tuple[Problem, ...]:
    from anyner.corpora.writing import write

    return write(corpus, path, chosen, lossy)


def _to_stdout(corpus: Corpus, chosen: str, lossy: bool) -> tuple[Problem, ...]:
    import shutil
    import tempfile

    if chosen == "brat":
        raise AnynerError("brat is written to a folder, not to stdout")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdout"
        try:
            lost = _written(corpus, path, chosen, lossy)
        except AnynerError as error:
            raise AnynerError(str(error).replace(str(path), "standard output")) from None
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)
    return lost
