"""`anyner convert`: a corpus from one format into another."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import checked_splitter
from anyner.cli.corpus import CORPUS_HELP, read_corpus, tell_problems
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus, Problem

_BY_ENDING = {".jsonl": "jsonl", **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".iobes"), "conll")}


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=CORPUS_HELP)],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, a new folder for brat, or - for stdout.")],
    *,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN. Default: told from its content.")
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="jsonl, jsonl-tokens, conll, brat, spans, w2ner or dai. Default: by ending."),
    ] = None,
    splitter: Annotated[
        str | None,
        typer.Option(metavar="S", help="unicode, whitespace or cjk: cut the texts into words first, for formats of words."),
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Write what the format can hold, and list what is lost.")] = False,
) -> None:
    """Write a corpus in another format. What the format cannot hold is refused, unless --lossy.

    A format of words holds no white space of its own: with --splitter, words are set apart by one space each.

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
        typer.echo(f"{len(lost)} losses ({gone} of them entities or documents that are gone):", err=True)
        for loss in lost:
            typer.echo(f"  {loss.what} ({'changed' if loss.kept else 'gone'})", err=True)


def _in_words(corpus: Corpus, splitter: str) -> Corpus:
    """The documents cut into words; entities that do not sit on them are widened, and that is a problem to tell."""
    from anyner.corpora.corpus import Corpus, Problem
    from anyner.document import Document, Entity
    from anyner.text.align import to_words
    from anyner.text.words import iterate_words

    name = checked_splitter(splitter)
    documents, problems = [], []
    for number, document in enumerate(corpus, 1):
        words = list(iterate_words(document.text, name))
        aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
        problems += [Problem(document.id or "document", number, str(one), one.widened is not None) for one in aligned.misaligned]
        entities = [Entity(one.label, one.fragments, one.score) for one in aligned.entities]
        gone = sum(one.widened is None for one in aligned.misaligned)
        if merged := len(document.entities) - gone - len(entities):
            problems.append(Problem(document.id or "document", number, f"{merged} entities became equal to others", False))
        kept = ("id", "doc", "sentence", "labels", "before", "after")
        cut = Document.from_words(
            [document.text[start:end] for start, end in words], entities, **{name: getattr(document, name) for name in kept}
        )
        if document.pos is not None:
            if document.words == tuple(words):
                cut = replace(cut, pos=document.pos)
            else:
                problems.append(Problem(document.id or "document", number, "tags of other words are left out", False))
        documents.append(cut)
    return Corpus(tuple(documents), tuple(problems))


def _format_of(target: str) -> str:
    path = Path(target)
    ending = path.with_suffix("").suffix if path.suffix in (".gz", ".xz") else path.suffix
    if ending.lower() in _BY_ENDING:
        return _BY_ENDING[ending.lower()]
    from anyner.corpora.registry import FORMATS

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
