"""`anyner convert`: a corpus from one format to another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.corpus import CORPUS_HELP, print_problems, read_corpus, running
from anyner.cli.output import check_writable, say
from anyner.errors import AnynerError
from anyner.text.words import SplitterName

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus, Problem
    from anyner.document import Document


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=CORPUS_HELP)],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, a new folder for brat and datasets, or - for stdout.")],
    *,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN. Default: detected from its content.")
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Format of OUT: jsonl, conll, brat, spacy, … Default: by its ending."),
    ] = None,
    splitter: Annotated[
        SplitterName | None, typer.Option(metavar="S", help="Split the texts into words first: unicode, whitespace, thai or cjk.")
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Write what the format can hold, and say what is lost.")] = False,
) -> None:
    """Write a corpus in another format. Fails if texts or entities would be lost or changed, unless --lossy.

    Word-based formats do not keep white space: with --splitter, words are separated by one space.

    \b
    Examples:
      anyner convert genia.conll genia.jsonl
      anyner convert cadec.jsonl cadec-brat --to brat
      anyner convert export.json train.spacy
      anyner convert synthetic:train flat.conll --lossy
      anyner convert reports.jsonl reports.json --to w2ner --splitter unicode
    """
    from anyner.corpora.reading import FORMATS
    from anyner.corpora.textfiles import format_of
    from anyner.corpora.writing import BY_ENDING

    if not Path(target).is_dir():
        check_writable(Path(target), [source])
    chosen = target_format or format_of(Path(target), BY_ENDING, "--to", (one.name for one in FORMATS))
    corpus = read_corpus(source, source_format)
    if splitter is not None:
        with running("splitting the texts into words"):
            corpus = _in_words(corpus, splitter)
        print_problems(corpus.problems)
    with running(f"writing {target}"):
        lost = _written(corpus, target, chosen, lossy)
    if lost:
        _print_lost(lost)
    _print_left_out(corpus, chosen)


def _print_lost(lost: Sequence[Problem]) -> None:
    """Every kind of loss, with its first case and the number of cases."""
    from anyner.corpora.corpus import counted, grouped

    gone = sum(not loss.kept for loss in lost)
    say(f"{counted(len(lost), 'loss', 'losses')} ({gone:,} of them entities or documents that are gone):", err=True)
    for group in grouped(lost):
        say(f"  {group.first.what} ({'changed' if group.first.kept else 'gone'}){group.more}", err=True)


def _in_words(corpus: Corpus, splitter: SplitterName) -> Corpus:
    """The documents split into words; entities that are not on word boundaries are reported as problems."""
    from anyner.corpora.corpus import Corpus, Problem

    documents, problems = [], []
    for number, document in enumerate(corpus, 1):
        cut, changes = _cut(document, splitter)
        documents.append(cut)
        problems += [Problem(document.id or "document", number, what, kept) for what, kept in changes]
    return Corpus(tuple(documents), tuple(problems))


def _cut(document: Document, splitter: SplitterName) -> tuple[Document, list[tuple[str, bool]]]:
    """The document split into words, entities widened to them, and each change with whether its entity was kept."""
    from anyner.corpora.corpus import counted
    from anyner.document import Document, Entity
    from anyner.text.align import to_words
    from anyner.text.words import iterate_words

    words = list(iterate_words(document.text, splitter))
    aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
    changes = [(str(one), one.widened is not None) for one in aligned.misaligned]
    gone = sum(not kept for _, kept in changes)
    if merged := len(document.entities) - gone - len(aligned.entities):
        changes.append((f"{counted(merged, 'entity', 'entities')} became equal to others", False))
    cut = Document.from_words(
        [document.text[start:end] for start, end in words],
        [Entity(one.label, one.fragments, one.score) for one in aligned.entities],
        **{field: getattr(document, field) for field in ("id", "doc", "sentence", "labels", "before", "after")},
    )
    return cut, changes


def _print_left_out(corpus: Corpus, chosen: str) -> None:
    from anyner.corpora.reading import format_named
    from anyner.corpora.writing import left_out

    if numbers := left_out(corpus, format_named(chosen)):
        say(f"{chosen} has no place for: {', '.join(f'{what} ({number:,})' for what, number in numbers.items())}", err=True)


def _written(corpus: Corpus, target: str, chosen: str, lossy: bool) -> tuple[Problem, ...]:
    """Writes to a file, a folder or stdout, and returns what was lost."""
    import shutil
    import tempfile

    from anyner.corpora.reading import format_named
    from anyner.corpora.writing import write

    if target != "-":
        return write(corpus, target, chosen, lossy)
    if format_named(chosen).writes_folder:
        raise AnynerError(f"{chosen} is written to a folder, not to stdout")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdout"
        try:
            lost = write(corpus, path, chosen, lossy)
        except AnynerError as error:
            raise AnynerError(str(error).replace(str(path), "standard output")) from None
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return lost
