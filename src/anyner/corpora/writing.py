"""Writing documents in any format, without losing anything unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from anyner.corpora.annotation import is_unicode, shown
from anyner.corpora.corpus import Fit, Format, Loss, Problem
from anyner.corpora.reading import format_named
from anyner.document import Document, checked_documents
from anyner.errors import AnynerError


def write(
    documents: Iterable[Document],
    path: str | Path,
    format: str,  # noqa: A002
    lossy: bool = False,
) -> tuple[Problem, ...]:
    """Write all documents, or nothing: what the format cannot hold is refused.

    With `lossy` what can be held is written, and what was lost is returned; there `line` is the document's number.
    """
    chosen = format_named(format)
    lost: list[Problem] = []
    chosen.write(_fitted(documents, chosen, Path(path), lossy, lost), Path(path))
    return tuple(lost)


def _fitted(documents: Iterable[Document], chosen: Format, path: Path, lossy: bool, lost: list[Problem]) -> Iterator[Document]:
    for number, document in enumerate(checked_documents(documents), 1):
        fit = _unwritable(document) or chosen.fit(document)
        name = f"document {number}" + (f" ({shown(document.id)})" if document.id else "")
        if fit.lost and not lossy:
            raise AnynerError(f"{path}: format {chosen.name} cannot hold {name}: {fit.lost[0].what}")
        lost += [Problem(str(path), number, f"{name}: {loss.what}", loss.kept) for loss in fit.lost]
        if fit.document is not None:
            yield fit.document


def _unwritable(document: Document) -> Fit | None:
    strings = [document.id, document.doc or "", document.before, document.after, *(document.labels or ())]
    strings += [entity.label for entity in document.entities]
    for string in strings:
        if not is_unicode(string):
            return Fit(None, (Loss(f"{shown(string)} has a lone surrogate", kept=False),))
    return None
