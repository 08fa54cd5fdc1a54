"""The labels file of Azure custom named entity recognition: entities of text files beside it, in UTF-16 units."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import annotated, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.formats.utf16 import UNIT, UNIT_KEY, claims_in_units, entities_in_units
from anyner.corpora.jsonfiles import Item, parsed
from anyner.corpora.textfiles import BYTE_ORDER_MARK, file_names, new_folder, whole_text, write_chunks
from anyner.corpora.textform import TextRules
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

_LABELS_FILE = "labels.json"
_KIND = "CustomEntityRecognition"


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    file = path / _LABELS_FILE if path.is_dir() else path
    log.file = str(file)
    try:
        project = parsed(whole_text(file).removeprefix(BYTE_ORDER_MARK))
    except InvalidInputError as error:
        raise AnynerError(f"{file}: {error}") from None
    assets = project.get("assets") if isinstance(project, dict) else None
    entries = assets.get("documents") if isinstance(assets, dict) else None
    if not isinstance(entries, list):
        raise AnynerError(f'{file}: no "documents" in its "assets"')
    if (unit := project.get(UNIT_KEY, UNIT)) != UNIT:
        raise AnynerError(f'{file}: "{UNIT_KEY}": expected {UNIT}, got {shown(unit)}')
    for number, entry in enumerate(entries, 1):
        with log.dropping(number):
            yield _document(entry, file.parent, number, log)


def _document(entry: Any, folder: Path, number: int, log: ProblemLog) -> Document:
    """Offsets of labels count from the beginning of the text, not of their region."""
    name = entry.get("location") if isinstance(entry, dict) else None
    if not isinstance(name, str) or name != Path(name).name or not (folder / name).is_file():
        raise InvalidInputError(f"document {number}: text file {shown(name)} is not beside the labels file")
    text = whole_text(folder / name)
    regions = entry.get("entities") or []
    labels = [region.get("labels") for region in regions if isinstance(region, dict)] if isinstance(regions, list) else [None]
    if not all(isinstance(listed, list) for listed in labels):
        raise InvalidInputError(f'document {number}: "entities": expected a list of regions with labels')
    claims = claims_in_units([label for listed in labels for label in listed or ()], text, number, log)
    return annotated(Document(text, id=Path(name).stem), claims, log, in_words=False)


def _write(documents: Iterable[Document], path: Path) -> None:
    listed = list(documents)
    entries: list[Item] = []
    with new_folder(path, "azure") as folder:
        for name, document in zip(file_names([one.id for one in listed]), listed, strict=True):
            write_chunks(folder / f"{name}.txt", [document.text])
            labels = [{key: one[key] for key in ("category", "offset", "length")} for one in entities_in_units(document)]
            length = len(document.text.encode("utf-16-le")) // 2
            regions = [{"regionOffset": 0, "regionLength": length, "labels": labels}] if labels else []
            entries.append({"location": f"{name}.txt", "language": "", "entities": regions})
        categories = sorted({entity.label for document in listed for entity in document.entities})
        assets = {"projectKind": _KIND, "entities": [{"category": label} for label in categories], "documents": entries}
        project = {"projectFileVersion": "2022-05-01", UNIT_KEY: UNIT, "metadata": {"projectKind": _KIND}, "assets": assets}
        write_chunks(folder / _LABELS_FILE, [json.dumps(project, ensure_ascii=False, indent=1) + "\n"])


def _recognises(path: Path, head: str) -> bool:
    if path.is_dir():
        path = path / _LABELS_FILE
        return path.is_file() and f'"{_KIND}"' in path.read_bytes()[:4096].decode(errors="replace")
    return head.lstrip().startswith("{") and f'"{_KIND}"' in head


AZURE = Format(
    "azure",
    _documents,
    _write,
    TextRules(discontinuous=False).fit,
    _recognises,
    keeps=frozenset({"ids"}),
    signature=True,
    reads_folders=True,
    writes_folder=True,
)
