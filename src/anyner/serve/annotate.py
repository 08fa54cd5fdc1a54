"""Annotation of a folder: its texts, least confident first, and corrections that are stored beside them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from anyner.corpora.corpus import Corpus, Problem
from anyner.corpora.reading import ANNOTATIONS, is_split, read
from anyner.corpora.textfiles import BYTE_ORDER_MARK, whole_text
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.inference.config import Calibration
from anyner.serve.answers import RefusedError
from anyner.serve.page import REFUSED, GivenEntities, entities_of
from anyner.serve.schema import Body, Choices, FoundEntity
from anyner.serve.service import Service

_AT_ONCE = 64
"""Texts that are scored in one request to the model."""


@dataclass(frozen=True, slots=True)
class FolderText:
    """One text of a folder. Its name is for display: the file's, with a number if the file holds several."""

    name: str
    document: Document


class AnnotationFolder:
    """The texts of a folder (`*.txt`, and documents of `*.jsonl`) and the corrections in its `annotations.jsonl`.

    A correction belongs to its text, wherever that is in the folder. Files named train, dev or test are corpora that are already
    annotated, and are left alone.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise AnynerError(f"{self.folder}: no such folder")
        self.problems: list[Problem] = []
        """Problems in the files of texts, and corrections whose text is no longer in them."""
        self.texts = tuple(_texts(self.folder, self.problems))
        if not self.texts:
            raise AnynerError(f"{self.folder}: has no texts to annotate (*.txt, *.jsonl)")
        self._lock = threading.Lock()
        self._current = {text.document.text for text in self.texts}
        self._ids = Counter(text.document.id for text in self.texts)
        gone = "the annotated text is no longer in the folder; training still uses it"
        # read now: a broken file is reported before anybody works on it
        for number, document in enumerate(self._stored(), 1):
            if document.text not in self._current:
                self.problems.append(Problem(str(self.path), number, gone, kept=True))

    @property
    def path(self) -> Path:
        return self.folder / ANNOTATIONS

    def annotated(self) -> dict[str, Document]:
        """The corrected documents by text."""
        return {document.text: document for document in self._stored()}

    def _stored(self) -> tuple[Document, ...]:
        if not self.path.exists():
            return ()
        corpus = read(self.path, "jsonl")
        if corpus.problems:
            raise AnynerError(f"{corpus.problems[0]}: repair the file first, so that nothing is lost")
        return corpus.documents

    def store(self, text: FolderText, document: Document) -> None:
        """Stores the corrected document: when this returns it is on the disk; until then the old file is."""
        stored = replace(text.document, entities=tuple(replace(entity, score=None) for entity in document.entities))
        with self._lock:
            others = [one for one in self._stored() if one.text != stored.text and not self._older(one, stored)]
            waiting = self.path.with_name(f".{ANNOTATIONS}.new")
            write([*others, stored], waiting, "jsonl")
            _to_disk(waiting)
            waiting.replace(self.path)
            _to_disk(self.folder)

    def _older(self, one: Document, new: Document) -> bool:
        """Whether one has an older text of the same document: the id is the same, and no other text has it."""
        return bool(new.id) and one.id == new.id and self._ids[new.id] == 1 and one.text not in self._current


def _texts(folder: Path, problems: list[Problem]) -> Iterator[FolderText]:
    """The texts, in the order of file names."""
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.name == ANNOTATIONS or path.name.startswith(".") or is_split(path):
            continue
        if path.suffix == ".jsonl":
            corpus = read(path, "jsonl")
        elif path.suffix == ".txt" and path.with_suffix(".ann").exists():
            corpus = read(path, "brat")
        elif path.suffix == ".txt":
            corpus = Corpus((Document(whole_text(path).removeprefix(BYTE_ORDER_MARK)),))
        else:
            continue
        problems += corpus.problems
        for number, document in enumerate(corpus, 1):
            if document.text.strip():
                if path.suffix == ".txt":
                    yield FolderText(path.name, replace(document, id=path.name))
                else:
                    yield FolderText(f"{path.name} {number}", document)


def _to_disk(path: Path) -> None:
    """Waits until what was written is on the disk (fsync). Some systems cannot open folders."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def margin(document: Document, thresholds: Mapping[str, float], calibration: Calibration | None = None) -> float:
    """The smallest distance of a candidate's score from its threshold; 1 without candidates. Calibrated scores are compared with
    calibrated thresholds."""

    def threshold(entity: Entity) -> float:
        if calibration is not None and entity.label in calibration.thresholds:
            return calibration.thresholds[entity.label]
        whole = thresholds.get("score", 0.5)
        own = thresholds.get("discontinuous", whole) if entity.discontinuous else whole
        return own if calibration is None else calibration.probability(own)

    return round(min((abs((one.score or 0.0) - threshold(one)) for one in document.entities), default=1.0), 4)


async def order(folder: AnnotationFolder, service: Service) -> dict[int, float]:
    """The margin of every text, smallest first. Candidates are the entities that the model finds at half its thresholds."""
    recognizer = service.recognizer(None)
    decoding, config = recognizer.decoding(), recognizer.config
    lower = {one.name: max(decoding.thresholds[one.name] / 2, one.loosest) for one in decoding.config.thresholds()}
    margins: list[float] = []
    for start in range(0, len(folder.texts), _AT_ONCE):
        bare = [text.document.with_entities(()) for text in folder.texts[start : start + _AT_ONCE]]
        found = await service.predict(bare, Choices(thresholds=lower), patient=True)
        margins += [margin(document, config.thresholds, config.calibration) for document in found]
    return {number: margins[number] for number in sorted(range(len(margins)), key=lambda number: (margins[number], number))}


class ListedText(BaseModel):
    id: int
    name: str
    sure: float = Field(description="Smallest distance of a candidate's score from its threshold; 1 without candidates.")
    done: bool


class AnnotatedText(BaseModel):
    id: int
    name: str
    text: str
    entities: list[FoundEntity]
    done: bool


class Correction(Body):
    entities: GivenEntities


def annotation_routes(folder: AnnotationFolder, service: Service) -> APIRouter:
    """The routes to annotate a folder. Texts are identified by number, never by path."""
    router = APIRouter(prefix="/annotate/texts", responses={**REFUSED, 404: REFUSED[400]})
    margins: dict[int, float] = {}
    ordering = asyncio.Lock()

    def text_of(number: int) -> FolderText:
        if not 0 <= number < len(folder.texts):
            raise RefusedError(404, f"there is no text {number}")
        return folder.texts[number]

    def answer(number: int, document: Document, done: bool) -> dict[str, Any]:
        entities = [entity.to_json() for entity in document.entities]
        return {"id": number, "name": folder.texts[number].name, "text": document.text, "entities": entities, "done": done}

    @router.get("", response_model=list[ListedText])
    async def texts() -> list[dict[str, Any]]:
        """All texts, least confident first."""
        async with ordering:
            if not margins:
                margins.update(await order(folder, service))
        done = await asyncio.to_thread(folder.annotated)
        return [
            {"id": number, "name": text.name, "sure": margins[number], "done": text.document.text in done}
            for number, text in ((number, folder.texts[number]) for number in margins)
        ]

    @router.get("/{number}", response_model=AnnotatedText)
    async def text(number: int) -> dict[str, Any]:
        """A text with its corrected entities, else those it came with, else predicted ones."""
        own = text_of(number)
        stored = (await asyncio.to_thread(folder.annotated)).get(own.document.text)
        if stored is not None or own.document.entities:
            return answer(number, stored or own.document, stored is not None)
        (found,) = await service.predict([own.document], Choices())
        return answer(number, found, False)

    @router.put("/{number}", response_model=AnnotatedText)
    def correct(number: int, correction: Correction) -> dict[str, Any]:
        """Stores the entities of a text: all of them, as training data."""
        own = text_of(number)
        document = own.document.with_entities(Document(own.document.text, entities_of(correction.entities)).entities)
        folder.store(own, document)
        return answer(number, document, True)

    return router
