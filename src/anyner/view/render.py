"""`anyner.render`: documents drawn, for a notebook, a page, a picture or a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from anyner.corpora.textfiles import write_chunks
from anyner.document import Document, checked_documents
from anyner.errors import AnynerError
from anyner.view import html as pages
from anyner.view import svg as pictures
from anyner.view.terminal import draw


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """Documents as a drawing. A notebook shows it, `print` draws it as text."""

    documents: tuple[Document, ...]

    def html(self, title: str = "Entities") -> str:
        """A self-contained page."""
        return pages.render(self.documents, title)

    def svg(self, width: int = 800) -> str:
        """A picture, `width` pixels wide."""
        return pictures.render(self.documents, width)

    def text(self, width: int = 100, colour: bool = False) -> str:
        return "\n\n".join(draw(document, width, colour) for document in self.documents)

    def save(self, path: str | Path) -> None:
        """Writes .html, .svg or .txt, as the file name ends."""
        makers: dict[str, Callable[[], str]] = {".html": self.html, ".svg": self.svg, ".txt": lambda: self.text() + "\n"}
        maker = makers.get(Path(path).suffix.lower())
        if maker is None:
            raise AnynerError(f"{path}: expected a file name that ends in {', '.join(makers)}")
        write_chunks(Path(path), [maker()])

    def _repr_html_(self) -> str:
        return pages.piece(self.documents)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def render(documents: Document | Iterable[Document]) -> Drawing:
    """Draws one or several documents; a notebook shows the result."""
    return Drawing((documents,) if isinstance(documents, Document) else tuple(checked_documents(documents)))
