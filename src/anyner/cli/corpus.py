"""How a command names a corpus: a file, a folder, `-` for stdin, or the embedded `synthetic[:contiguous][:SPLIT]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyner.cli.output import say
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus, Problem
    from anyner.corpora.synthetic.words import Split
    from anyner.document import Document

STDIN = "standard input"
CORPUS_HELP = "A file, a brat or datasets folder, - for stdin, or synthetic[:contiguous][:train|dev|test], the embedded corpus."
SYSTEM_HELP = "A model (folder, bundled name or hub id), or a file or brat folder with predictions for the documents of CORPUS."
_SPLITS: dict[str, Split] = {"train": "train", "dev": "dev", "test": "test"}
_SIZES = {"train": 1500, "dev": 200, "test": 400}
_SHOWN_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class _Embedded:
    contiguous: bool
    split: Split | None

    def corpus(self, split: Split) -> Corpus:
        from anyner.corpora.synthetic import synthetic

        return synthetic(_SIZES[split], contiguous=self.contiguous, split=split)


def read_corpus(name: str, format: str | None = None, split: Split = "test") -> Corpus:  # noqa: A002
    """Reads the corpus of that name and prints its problems; `split`: the default split of the embedded corpus."""
    with running(f"reading {_shown(name)}"):
        corpus = _read(name, format, split)
    print_problems(corpus.problems)
    return corpus


@contextmanager
def running(what: str) -> Iterator[None]:
    """Says on stderr what runs, if it takes more than a few seconds: reading a large corpus takes minutes."""
    from anyner.training.progress import TerminalListener

    with TerminalListener() as listener, listener.running(what):
        yield


def _read(name: str, format: str | None, split: Split = "test") -> Corpus:  # noqa: A002
    from anyner.corpora.reading import read

    if embedded := _embedded(name):
        return embedded.corpus(embedded.split or split)
    return _read_stdin(format) if name == "-" else read(name, format)


def read_parts(name: str, format: str | None = None) -> dict[str, Corpus]:  # noqa: A002
    """Reads every split of a folder or of the embedded corpus, by split; else the one corpus, by its name."""
    with running(f"reading {_shown(name)}"):
        return _read_parts(name, format)


def _read_parts(name: str, format: str | None) -> dict[str, Corpus]:  # noqa: A002
    from anyner.corpora.reading import is_corpus_folder, read_splits

    embedded, folder = _embedded(name), Path(name)
    if embedded and embedded.split is None:
        return {split: embedded.corpus(split) for split in _SPLITS.values()}
    if not embedded and folder.is_dir() and not is_corpus_folder(folder):
        splits = read_splits(folder, format)
        return {split: corpus for split in _SPLITS if (corpus := getattr(splits, split)) is not None}
    return {name: _read(name, format)}


def read_predictions(name: str, gold: Sequence[Document]) -> Sequence[Document] | None:
    """Predictions for the gold documents, read from a file or a brat folder; None for a model."""
    from anyner.corpora.reading import is_corpus_folder
    from anyner.storage.load import find

    path = Path(name)
    if not path.is_file() and not is_corpus_folder(path):
        find(name)
        return None
    predicted = read_corpus(name).documents
    if len(predicted) != len(gold):
        raise AnynerError(f"{name}: {len(predicted)} documents, but the corpus has {len(gold)}: they are paired by position")
    other = next((place for place, (one, two) in enumerate(zip(gold, predicted, strict=True)) if one.text != two.text), None)
    if other is not None:
        raise AnynerError(f"{name}: the text of document {other + 1} differs from the corpus: they are paired by position")
    return predicted


def recipe_data(name: str) -> dict[str, Any]:
    """The `data` section of a recipe that trains on the corpus of that name."""
    embedded = _embedded(name)
    if embedded is None and Path(name).is_file():
        raise AnynerError(
            f"--data {name}: is a file: give a folder with a file train.* (and dev.*: without it, a tenth of train is held out)"
        )
    if embedded is None:
        return {"folder": name}
    if embedded.split:
        raise AnynerError(f"--data {name}: training uses train and dev of the embedded corpus: remove ':{embedded.split}'")
    return {"synthetic": {"contiguous": embedded.contiguous}}


def print_problems(problems: Sequence[Problem]) -> None:
    """Prints their number and the first few to stderr, equal ones grouped."""
    from anyner.corpora.corpus import counted, grouped

    if not problems:
        return
    dropped = sum(not problem.kept for problem in problems)
    say(f"{counted(len(problems), 'problem')} while reading ({dropped:,} dropped):", err=True)
    groups = grouped(problems)
    for group in groups[:_SHOWN_PROBLEMS]:
        say(f"  {group}", err=True)
    if rest := sum(group.count for group in groups[_SHOWN_PROBLEMS:]):
        say(f"  and {rest:,} more: anyner inspect --problems lists them", err=True)


def check_exists(name: str) -> None:
    """Raises an error unless the name is stdin, the embedded corpus, or an existing file or folder."""
    if name != "-" and _embedded(name) is None and not Path(name).exists():
        raise AnynerError(f"{name}: no such file or folder")


def _shown(name: str) -> str:
    return STDIN if name == "-" else name


def _embedded(name: str) -> _Embedded | None:
    first, *rest = name.split(":")
    if first != "synthetic":
        return None
    contiguous = rest[:1] == ["contiguous"]
    rest = rest[contiguous:]
    if len(rest) > 1 or (rest and rest[0] not in _SPLITS):
        raise AnynerError(f"{name}: the embedded corpus is named synthetic[:contiguous][:train|dev|test]")
    return _Embedded(contiguous, _SPLITS[rest[0]] if rest else None)


def _read_stdin(format: str | None) -> Corpus:  # noqa: A002
    import tempfile

    from anyner.corpora.reading import read

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        path.write_bytes(sys.stdin.buffer.read())
        try:
            corpus = read(path, format)
        except AnynerError as error:
            raise AnynerError(str(error).replace(str(path), STDIN)) from None
    return replace(corpus, problems=tuple(replace(problem, file=STDIN) for problem in corpus.problems))
