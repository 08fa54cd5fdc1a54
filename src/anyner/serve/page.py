"""The web page at `/` and its requests: drawings, exports and denoising steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError, InvalidInputError
from anyner.serve.answers import RefusedError, plain
from anyner.serve.schema import Body, Choices, ErrorAnswer, FoundDocument, FoundEntity
from anyner.serve.service import Service
from anyner.view.colours import colour_of
from anyner.view.drawing import visible
from anyner.view.html import Legend, environment, layout

MOST_ENTITIES = 5_000
"""Maximum number of entities of a text."""
MOST_BARS = 100_000
"""Maximum number of bars of a drawing. Each entity has one under every stretch between two ends of fragments or lines, so few
entities that overlap make many."""
REFUSED: dict[int | str, dict[str, Any]] = {status: {"model": ErrorAnswer} for status in (400, 401, 413, 422, 503)}
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class GivenEntity(Body):
    """An entity that a client sends."""

    label: Annotated[str, Field(min_length=1, max_length=1_000)]
    fragments: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(min_length=1)
    score: float | None = None


GivenEntities = Annotated[list[GivenEntity], Field(max_length=MOST_ENTITIES)]


class GivenDocument(Body):
    text: str
    entities: GivenEntities


class DrawingRequest(GivenDocument):
    labels: list[str] = Field(default=[], max_length=10_000, description="Further labels to return the colours of.")


class DrawnLine(BaseModel):
    start: int = Field(description="Offset of its first character in the text.")
    segments: list[Any] = Field(
        description="Of each segment: text, bars [entity, track, solid, touched] and tags [entity, track, backwards]."
    )


class DrawingAnswer(BaseModel):
    entities: list[FoundEntity] = Field(description="In reading order, as bars and tags number them.")
    colours: dict[str, int] = Field(description="The index of each label's colour in the palette.")
    lines: list[DrawnLine]


class ExportRequest(GivenDocument):
    format: Literal["jsonl", "txt", "ann"] = Field(description="JSON lines, or the text or the annotations of brat.")


class ExportAnswer(BaseModel):
    content: str


class StepsRequest(Choices):
    text: str


class StepsAnswer(BaseModel):
    documents: list[FoundDocument] = Field(description="The entities found after each step.")


def page_routes(service: Service, annotating: bool = False) -> APIRouter:
    """The page, its files and its requests."""
    router = APIRouter()
    served = _files()

    @router.get("/", include_in_schema=False)
    async def page() -> Response:
        text = served["index.html"].replace(b"<body>", b"<body data-annotate>") if annotating else served["index.html"]
        return Response(text, headers=_SECURITY, media_type="text/html")

    @router.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in served:
            raise RefusedError(404, f"there is no file {name!r}")
        return Response(served[name], headers=_SECURITY, media_type=_MEDIA_TYPES[Path(name).suffix])

    @router.post("/drawing", response_model=DrawingAnswer, responses=REFUSED)
    def drawing(request: DrawingRequest) -> dict[str, Any]:
        """A text with entities laid out as `anyner.render` draws it."""
        return drawn(document_of(request.text, request.entities, service), request.labels)

    @router.post("/export", response_model=ExportAnswer, responses=REFUSED)
    def export(request: ExportRequest) -> dict[str, str]:
        """A text with entities as a file to train on."""
        return {"content": exported(document_of(request.text, request.entities, service), request.format)}

    @router.post("/steps", response_model=StepsAnswer, response_model_exclude_none=True, responses=REFUSED)
    async def steps(request: StepsRequest) -> dict[str, Any]:
        """The entities that a model which works in steps has found after each of them."""
        options = service.recognizer(request.model).decoding(request.options).options
        if not hasattr(options, "after_step") or not hasattr(options, "steps"):
            raise RefusedError(400, f"the model {service.named(request.model)} has no steps to show")
        documents, found = service.documents([request.text]), []
        for step in range(1, options.steps + 1):
            chosen = {**(request.options or {}), "after_step": step}
            found += await service.predict(documents, request.model_copy(update={"options": chosen}))
        return {"documents": list(map(plain, found))}

    return router


def document_of(text: str, entities: Sequence[GivenEntity], service: Service) -> Document:
    """The document of a request; entities that do not fit the text are refused."""
    (document,) = service.documents([text])
    return Document(document.text, entities_of(entities))


def entities_of(given: Sequence[GivenEntity]) -> tuple[Entity, ...]:
    return tuple(Entity(one.label, tuple((start, end) for start, end in one.fragments), one.score) for one in given)


def drawn(document: Document, labels: Sequence[str] = ()) -> dict[str, Any]:
    """What the page draws: the lines of `anyner.view.html.layout` as plain lists."""
    if (bars := bars_of(document)) > MOST_BARS:
        raise RefusedError(413, f"too many overlapping entities to draw: at most {MOST_BARS:,} bars, got {bars:,}")
    lines, start = [], 0
    for text, segments in zip(document.text.split("\n"), layout(document, Legend()), strict=True):
        shown = [
            [
                visible(one.text),
                [[bar.placed.number, bar.placed.track, bar.solid, bar.touched] for bar in one.bars],
                [[tag.number, tag.track, tag.backwards] for tag in one.tags],
            ]
            for one in segments
        ]
        lines.append({"start": start, "segments": shown})
        start += len(text) + 1
    named = {*labels, *(entity.label for entity in document.entities)}
    return {
        "entities": [entity.to_json() for entity in document.entities],
        "colours": {label: colour_of(label).number for label in sorted(named)},
        "lines": lines,
    }


def bars_of(document: Document) -> int:
    """The number of bars of a drawing, counted without laying it out.

    >>> bars_of(Document("Pain in hip", (Entity("Symptom", ((0, 11),)), Entity("BodyPart", ((8, 11),)))))
    3
    """
    ends = {place for entity in document.entities for fragment in entity.fragments for place in fragment}
    ends.update(place for place, character in enumerate(document.text) if character == "\n")
    places = sorted(ends)
    return sum(bisect_left(places, entity.end) - bisect_left(places, entity.start) for entity in document.entities)


def exported(document: Document, chosen: Literal["jsonl", "txt", "ann"]) -> str:
    """The content of the file that `anyner.write` makes of it."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / "written"
        try:
            write([document], target, "jsonl" if chosen == "jsonl" else "brat")
        except AnynerError as error:
            raise InvalidInputError(str(error).removeprefix(f"{target}: ")) from None
        path = target if chosen == "jsonl" else target / f"1.{chosen}"
        return path.read_bytes().decode()


@cache
def _files() -> dict[str, bytes]:
    """The files of the page by name: nothing else is served."""
    folder = files("anyner.serve") / "static"
    served = {path.name: path.read_bytes() for path in folder.iterdir()}
    return served | {"drawing.css": environment().get_template("drawing.css").render().encode()}
