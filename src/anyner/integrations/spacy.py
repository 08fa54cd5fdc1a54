"""The spaCy component `anyner`: `nlp.add_pipe("anyner", config={"model": …})`.

spaCy finds the factory by the entry point of the package. The model reads words split as in training; every span is widened to
whole spaCy tokens.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from anyner.document import Document, Entity, unchecked_entity
from anyner.inference import RuntimeName
from anyner.inference.recognizer import Recognizer
from anyner.overlap import checked_policy, resolve
from anyner.storage.load import copy_model, find, load
from anyner.text.align import to_words

NAME = "anyner"
DEFAULTS: dict[str, Any] = {
    "model": "general-en",
    "spans_key": NAME,
    "ents": "flat",
    "overlap": None,
    "thresholds": None,
    "runtime": "auto",
    "device": None,
}
_FOLDER = "model"
"""The model folder inside the folder of the component."""


class SpacyComponent:
    """Puts entities into a span group with their scores, non-overlapping ones into `doc.ents`, and all into `doc._.anyner`."""

    def __init__(
        self,
        nlp: Language,
        name: str,
        *,
        model: str,
        spans_key: str,
        ents: str | None,
        overlap: str | None,
        thresholds: dict[str, float] | None,
        runtime: RuntimeName,
        device: str | None,
    ) -> None:
        """`ents`: the overlap policy of `doc.ents`; None leaves `doc.ents` unchanged. The others are those of `anyner.load` and
        `predict`."""
        self.model, self.spans_key = model, spans_key
        self.ents = None if ents is None else checked_policy(ents)
        self._chosen: dict[str, Any] = {"overlap": overlap, "thresholds": thresholds}
        self._runtime, self._device = runtime, device
        self._loaded: dict[int, Recognizer] = {}  # by process: freeing the parent's would wait for threads not forked

    @property
    def recognizer(self) -> Recognizer:
        """Loaded on first use, since `from_disk` brings its own model. A forked process loads it again, as a fork does not have
        the threads of the runtime."""
        process = os.getpid()
        if process not in self._loaded:
            self._loaded[process] = load(self.model, self._device, runtime=self._runtime)
        return self._loaded[process]

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], **_: object) -> Iterator[Doc]:
        """`Recognizer.stream` makes its own batches, by text length: spaCy's `batch_size` is ignored."""
        waiting: deque[Doc] = deque()

        def documents() -> Iterator[Document]:
            for doc in docs:
                waiting.append(doc)
                yield document_of(doc)

        for document in self.recognizer.stream(documents(), **self._chosen):
            yield self._annotated(waiting.popleft(), document.entities)

    def _annotated(self, doc: Doc, entities: tuple[Entity, ...]) -> Doc:
        doc.user_data[NAME] = [[entity.label, entity.fragments, entity.score] for entity in entities]
        placed = to_words(entities, [token.idx for token in doc], [token.idx + len(token) for token in doc]).entities
        spans = {one: Span(doc, one.first, one.last + 1, one.label) for one in placed if len(one.fragments) == 1}
        scores = {"scores": [one.score for one in spans]}
        doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=list(spans.values()), attrs=scores)
        if self.ents is not None:
            taken = {token.i for span in doc.ents for token in span}
            kept = [spans[one] for one in resolve(list(spans), self.ents) if taken.isdisjoint(one.word_indices)]
            doc.ents = [*doc.ents, *kept]
        return doc

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Includes a copy of the model, so that the folder of a pipeline is self-contained."""
        copy_model(find(self.model), Path(path) / _FOLDER)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> SpacyComponent:
        self.model, self._loaded = str(Path(path) / _FOLDER), {}
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Only the name of the model: with its weights, every copy would be as large as the model."""
        return json.dumps({"model": self.model}).encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> SpacyComponent:
        self.model, self._loaded = json.loads(data)["model"], {}
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For processes that are not forked: they load the model themselves."""
        return self.__dict__ | {"_loaded": {}}


def document_of(doc: Doc) -> Document:
    """The text, with its tokens as words for models that were trained on given words; white space tokens are left out."""
    return Document(doc.text, words=tuple((token.idx, token.idx + len(token)) for token in doc if not token.is_space))


def _entities(doc: Doc) -> tuple[Entity, ...]:
    """The getter of `doc._.anyner`. The Doc itself holds plain lists, so that it can be serialized."""
    text, found = doc.text, doc.user_data.get(NAME, ())
    return tuple(unchecked_entity(label, tuple(map(tuple, fragments)), score, source=text) for label, fragments, score in found)


Doc.set_extension(NAME, getter=_entities, force=True)
Language.factory(NAME, default_config=DEFAULTS, assigns=["doc.ents", "doc.spans", f"doc._.{NAME}"], func=SpacyComponent)
