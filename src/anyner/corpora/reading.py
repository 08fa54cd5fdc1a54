"""All corpus formats, and reading a corpus in any of them; the format is detected unless the caller names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyner.corpora.corpus import Corpus, Format, grouped
from anyner.corpora.formats.arrow import DATASETS, PARQUET, PARQUET_TAGS
from anyner.corpora.formats.azure import AZURE
from anyner.corpora.formats.bioc import BIOC_JSON, BIOC_XML
from anyner.corpora.formats.brat import BRAT
from anyner.corpora.formats.conll import CONLL
from anyner.corpora.formats.dai import DAI
from anyner.corpora.formats.doccano import DOCCANO, DOCCANO_RELATIONS
from anyner.corpora.formats.jsonl import JSONL, JSONL_TOKENS
from anyner.corpora.formats.jsonlist import GLINER, SPANS, W2NER
from anyner.corpora.formats.label_studio import LABEL_STUDIO
from anyner.corpora.formats.prodigy import PRODIGY
from anyner.corpora.formats.pubtator import PUBTATOR
from anyner.corpora.formats.spacy import SPACY
from anyner.corpora.formats.utf16 import UTF16
from anyner.corpora.formats.webanno import WEBANNO
from anyner.corpora.jsonfiles import first_item
from anyner.corpora.textfiles import head_of
from anyner.errors import AnynerError

FORMATS: tuple[Format, ...] = (
    JSONL,
    JSONL_TOKENS,
    CONLL,
    BRAT,
    SPANS,
    W2NER,
    DAI,
    GLINER,
    DOCCANO,
    DOCCANO_RELATIONS,
    PRODIGY,
    LABEL_STUDIO,
    UTF16,
    AZURE,
    BIOC_XML,
    BIOC_JSON,
    PUBTATOR,
    WEBANNO,
    SPACY,
    PARQUET,
    PARQUET_TAGS,
    DATASETS,
)
"""In the order of docs/formats.md."""
_BY_NAME = {one.name: one for one in FORMATS}
_TABLES = (".csv", ".tsv", ".xls", ".xlsx")
_SPLIT_NAMES = {"train": ("train",), "dev": ("dev", "valid", "validation"), "test": ("test",)}
_SHARD = re.compile(r"-(\d+)-of-(\d+)$")
"""The end of the names of files that hold a part of a split each, as the Hugging Face Hub names them."""
_SHOWN_FILES = 5
ANNOTATIONS = "annotations.jsonl"
"""Documents annotated with `anyner serve --annotate`, used for training together with a train corpus if there is one."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The corpora of one folder; None for a missing split."""

    train: Corpus
    dev: Corpus | None
    test: Corpus | None


def format_named(name: str) -> Format:
    """The format with this name."""
    if name not in _BY_NAME:
        raise AnynerError(f"unknown format {name!r}: choose one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def read(path: str | Path, format: str | None = None) -> Corpus:  # noqa: A002
    """The documents of a file or folder, and the problems found. The format is detected unless named.

    Malformed lines become problems of the corpus; a file from which nothing can be read is an error.
    """
    path = Path(path)
    if not path.exists():
        raise AnynerError(f"{path}: no such file or folder")
    chosen = recognised(path) if format is None else format_named(format)
    if path.is_dir() and not chosen.reads_folders:
        raise AnynerError(f"{path}: is a folder, but format {chosen.name} is a single file")
    corpus = chosen.read(path)
    if corpus.problems and not corpus.documents:
        raise AnynerError(f"{grouped(corpus.problems)[0]}; nothing else could be read")
    return corpus


def read_splits(folder: str | Path, format: str | None = None) -> Splits:  # noqa: A002
    """The files (for brat: folders) named train, dev or valid, and test, each of any format; annotations belong to train.

    A split may be in several files if they are numbered, as in `train-00000-of-00002.parquet`.
    """
    folder = Path(folder)
    if folder.is_file():
        raise AnynerError(f"{folder}: is a file: expected a folder with files named train.* and dev.*")
    if not folder.is_dir():
        raise AnynerError(f"{folder}: no such folder")
    corpora: dict[str, Corpus | None] = {}
    for split in _SPLIT_NAMES:
        found = _split_paths(folder, split)
        shards = [_SHARD.search(path.name.split(".")[0]) for path in found]
        if len(found) > 1 and not all(shards):
            raise AnynerError(f"{folder}: several {split} corpora: {_names(found)}: keep one, move the others away")
        if wanted := {int(shard[2]) for shard in shards if shard} - {len(found)}:
            raise AnynerError(f"{folder}: {split} has {max(wanted)} files by their names, found {len(found)}: {_names(found)}")
        corpora[split] = _joined([read(path, format) for path in found]) if found else None
    train = corpora["train"]
    if (annotations := folder / ANNOTATIONS).is_file():
        own = read(annotations, "jsonl")
        train = own if train is None else _joined([train, own])
    if train is None:
        there = _names(sorted(folder.iterdir())[:_SHOWN_FILES]) or "nothing"
        raise AnynerError(
            f"{folder}: holds no train corpus: expected a file train.*, a brat folder train, or {ANNOTATIONS}; found {there}"
        )
    return Splits(train, corpora["dev"], corpora["test"])


def is_split(path: Path) -> bool:
    """Whether the name of a file or folder says that it is train, dev or test."""
    return any(_split_name(path) in names for names in _SPLIT_NAMES.values())


def _joined(corpora: Sequence[Corpus]) -> Corpus:
    documents = tuple(document for corpus in corpora for document in corpus.documents)
    return Corpus(documents, tuple(problem for corpus in corpora for problem in corpus.problems))


def _split_name(path: Path) -> str:
    return _SHARD.sub("", path.name.split(".")[0].lower())


def _split_paths(folder: Path, split: str) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if _split_name(path) in _SPLIT_NAMES[split])
    texts = {path.with_suffix("") for path in found if path.suffix == ".txt"}
    return [path for path in found if path.suffix != ".ann" or path.with_suffix("") not in texts]


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)


def is_corpus_folder(path: Path) -> bool:
    """Whether a folder is a corpus itself: not a folder of splits or of plain texts."""
    return path.is_dir() and any(one.reads_folders and one.recognises(path, "") for one in FORMATS)


def recognised(path: Path) -> Format:
    """The format of a file or folder, detected from its content."""
    head = "" if path.is_dir() else head_of(path)
    if "\0" in head[:2]:
        raise AnynerError(f"{path}: is binary, or UTF-16 without a byte order mark: save it as UTF-8 text")
    candidates = [one for one in FORMATS if one.signature and one.recognises(path, head)]
    candidates = candidates or [one for one in FORMATS if not one.signature and one.recognises(path, head)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise AnynerError(f"{path}: could be {' or '.join(one.name for one in candidates)}: name the format")
    if path.is_dir():
        splits = [found for split in _SPLIT_NAMES for found in _split_paths(path, split)]
        if splits:
            raise AnynerError(f"{path}: is a folder of several corpora ({_names(splits)}): name one of them")
        raise AnynerError(f"{path}: is a folder without .ann files (brat), and not in the format azure, webanno or datasets")
    if path.suffix.lower() in _TABLES:
        raise AnynerError(
            f"{path}: a table is not a corpus; to predict on a column of texts, use anyner.predict_frame (pandas, Polars) "
            "or anyner predict (Parquet); to train on words with tags, write WORD, a tab and TAG per line (conll)"
        )
    if not head.strip():
        raise AnynerError(f"{path}: is empty: remove it, or put documents into it")
    if (first := first_item(head)) is not None and first.listed:
        keys = ", ".join(sorted(first.keys)[:_SHOWN_FILES])
        raise AnynerError(f'{path}: is a list of objects with the keys {keys}: expected "text" or "tokens" in each (jsonl)')
    raise AnynerError(
        f"{path}: not in a known format; known formats: {', '.join(_BY_NAME)}; plain text files must end in .txt; "
        "to name the format: anyner convert --from FORMAT"
    )
