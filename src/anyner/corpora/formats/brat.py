"""brat standoff: a folder of .txt files with .ann files beside them, or one such pair."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from anyner.corpora.annotation import Claim, annotated, same_but_white_space, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import BYTE_ORDER_MARK, file_names, new_folder, numbered_lines, whole_text, write_chunks
from anyner.document import Document, Entity
from anyner.fragments import Fragments

_PLACES = r"-?\d{1,15} -?\d{1,15}"
_ENTITY = re.compile(rf"T\S*\t(\S+) ({_PLACES}(?:;{_PLACES})*)(?:\t(.*))?")
_OTHER_KINDS = {
    "#": "note", "R": "relation", "E": "event", "A": "attribute", "M": "modification", "N": "normalisation",
    "*": "equivalence",
}  # fmt: skip
_WITHOUT_LINE_BREAK = re.compile(r"[^\r\n]+")


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    if not path.is_dir():
        yield from _pair(path.with_suffix(""), log)
        return
    stems = {file.with_suffix("") for file in path.iterdir() if file.suffix in {".txt", ".ann"} and file.is_file()}
    for stem in sorted(stems, key=_natural_order):
        yield from _pair(stem, log)
    for folder in sorted(path.iterdir()):
        if folder.is_dir() and any(folder.glob("*.ann")):
            log.file = str(folder)
            log.dropped(0, "subfolders are not read: read each on its own")


def _natural_order(path: Path) -> tuple[list[str | int], str]:
    """Sort key by name with numeric parts as numbers: report-9 comes before report-10."""
    parts = re.split(r"([0-9]+)", path.name)
    return [int(part[:18]) if place % 2 else part for place, part in enumerate(parts)], path.name


def _pair(stem: Path, log: ProblemLog) -> Iterator[Document]:
    """The document of a text and its annotations, if there is a text."""
    texts, annotations = stem.with_name(stem.name + ".txt"), stem.with_name(stem.name + ".ann")
    log.file = str(annotations)
    if not texts.exists():
        log.dropped(1, f"no file {texts.name} beside it")
        return
    claims = []
    if annotations.exists():
        claims = _claims(annotations, log)
    else:
        log.kept(1, f"no such file beside {texts.name}: read without entities")
    text = _text_that_fits(whole_text(texts), claims, log)
    yield annotated(Document(text, id=stem.name), claims, log, in_words=False)


def _claims(path: Path, log: ProblemLog) -> list[Claim]:
    claims: list[Claim] = []
    skipped: dict[str, list[int]] = {}
    for number, line in numbered_lines(path):
        kind = line[:1]
        match = _ENTITY.fullmatch(line)
        if match:
            fragments = [tuple(map(int, pair.split(" "))) for pair in match[2].split(";")]
            claims.append(Claim(number, match[1], fragments, text=match[3]))
        elif kind in _OTHER_KINDS:
            skipped.setdefault(kind, []).append(number)
        elif line.strip():
            log.dropped(number, f"malformed line {shown(line)}")
    for kind, lines in skipped.items():
        log.dropped(lines[0], f"{_OTHER_KINDS[kind]} lines ({kind}) are not read: {len(lines)} skipped")
    return claims


def _text_that_fits(raw: str, claims: list[Claim], log: ProblemLog) -> str:
    """The text that the offsets fit: some tools count a byte order mark or carriage returns, some do not."""
    plain = raw.removeprefix(BYTE_ORDER_MARK)
    ways = {plain: "", raw: "the byte order mark", plain.replace("\r\n", "\n"): "line ends as one character"}
    text = max(ways, key=lambda way: sum(_agrees(claim, way) for claim in claims)) if len(ways) > 1 else plain
    if text != plain:
        log.kept(1, f"the offsets count {ways[text]}: the text is read that way")
    return text


def _agrees(claim: Claim, text: str) -> bool:
    fragments = claim.fragments if isinstance(claim.fragments, list) else []
    here = " ".join(text[max(start, 0) : max(end, 0)] for start, end in fragments)
    return isinstance(claim.text, str) and same_but_white_space(claim.text, here)


def _write(documents: Iterable[Document], path: Path) -> None:
    listed = list(documents)
    with new_folder(path, "brat") as folder:
        for name, document in zip(file_names([one.id for one in listed]), listed, strict=True):
            write_chunks(folder / f"{name}.txt", [document.text])
            write_chunks(folder / f"{name}.ann", _annotations(document))


def _annotations(document: Document) -> Iterator[str]:
    for number, entity in enumerate(document.entities, 1):
        fragments = _within_lines(entity, document.text)
        places = ";".join(f"{start} {end}" for start, end in fragments)
        copy = " ".join(document.text[start:end] for start, end in fragments)
        yield f"T{number}\t{entity.label} {places}\t{copy}\n"


def _within_lines(entity: Entity, text: str) -> Fragments:
    """The fragments cut at line breaks, as brat requires; readers merge them again."""
    return tuple(
        (begin + piece.start(), begin + piece.end())
        for begin, end in entity.fragments
        for piece in _WITHOUT_LINE_BREAK.finditer(text[begin:end])
    )


def _fit(document: Document, log: ProblemLog) -> Document:
    claims: list[Claim] = []
    for entity in document.entities:
        name = f"entity {shown(entity.label)} {shown(entity.text)}"
        fragments = _within_lines(entity, document.text)
        if entity.label.split() != [entity.label]:
            log.dropped(0, f"{name}: its label holds white space")
        elif not fragments:
            log.dropped(0, f"{name}: it consists of line breaks only")
        else:
            claims.append(Claim(0, entity.label, fragments, entity.score))
    fitted = annotated(replace(document, entities=()), claims, log, in_words=False)
    known = {entity.key for entity in document.entities}
    for entity in fitted.entities:
        if entity.key not in known:
            log.kept(0, f"entity {shown(entity.label)} {shown(entity.text)}: line breaks at its edges are cut off")
    return fitted


def _recognises(path: Path, _: str) -> bool:
    if path.is_dir():
        return next(path.glob("*.ann"), None) is not None
    return path.suffix == ".ann" or (path.suffix == ".txt" and path.with_suffix(".ann").exists())


BRAT = Format("brat", _documents, _write, _fit, _recognises, keeps=frozenset({"ids"}), reads_folders=True, writes_folder=True)
