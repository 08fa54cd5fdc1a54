"""The models of a server, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from anyner.architectures.settings import visible_shapes
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.recognizer import Recognizer
from anyner.overlap import POLICIES
from anyner.serve.answers import RefusedError
from anyner.serve.batcher import Batcher, Call
from anyner.serve.metrics import Metrics
from anyner.serve.schema import Choices, ModelAnswer, ThresholdAnswer
from anyner.serve.settings import ServeSettings


class Service:
    """The models by name; each is added as soon as it is loaded."""

    def __init__(self, names: Sequence[str], settings: ServeSettings) -> None:
        """`names` in the order in which clients see them; the first is the default."""
        self.names, self.settings, self.metrics = tuple(names), settings, Metrics()
        self.stopping = asyncio.Event()
        """Set at shutdown: no new requests; accepted ones are finished."""
        self._batchers: dict[str, Batcher] = {}

    def add(self, name: str, recognizer: Recognizer) -> None:
        self._batchers[name] = Batcher(recognizer, self.settings, self.metrics)

    @property
    def ready(self) -> bool:
        """Whether all models are loaded."""
        return len(self._batchers) == len(self.names)

    @property
    def queued(self) -> dict[str, int]:
        """Texts that wait or run, by model."""
        return {name: self._batchers[name].texts if name in self._batchers else 0 for name in self.names}

    def recognizer(self, name: str | None) -> Recognizer:
        return self._batcher(name).recognizer

    def close(self) -> None:
        for batcher in self._batchers.values():
            batcher.close()

    async def predict(self, documents: Sequence[Document], choices: Choices, *, patient: bool = False) -> list[Document]:
        """As `Recognizer.predict`, with the requested labels. If the queue is full, patient requests wait; others are refused."""
        batcher = self._batcher(choices.model)
        call = self.call(choices)
        found = await batcher.predict(documents, call, patient=patient)
        if choices.labels is not None:
            found = [_with_labels(document, frozenset(choices.labels)) for document in found]
        self.metrics.answered(self.named(choices.model), len(found), sum(len(document.entities) for document in found))
        return found

    def named(self, name: str | None) -> str:
        """The model's name; the default's if none is given."""
        if name is not None and name not in self.names:
            raise RefusedError(400, f"unknown model {name!r}; available: {', '.join(self.names)}")
        return self.names[0] if name is None else name

    def call(self, choices: Choices) -> Call:
        """The choices, checked against the model."""
        recognizer = self.recognizer(choices.model)
        for label in choices.labels or ():
            if label not in recognizer.config.labels:
                raise AnynerError(f"unknown label {label!r}; the model has: {', '.join(recognizer.config.labels)}")
        for name, value in (choices.options or {}).items():
            if isinstance(value, int | float) and value > self.settings.option_number:
                raise AnynerError(f"option {name}: expected at most {self.settings.option_number}, got {value!r}")
        chosen: dict[str, Any] = choices.model_dump(include={"thresholds", "overlap", "options"}, exclude_none=True)
        if not chosen:
            return Call(None, chosen)
        decoding = recognizer.decoding(**chosen)
        return Call((sorted(decoding.thresholds.items()), decoding.label_thresholds, decoding.policy, decoding.options), chosen)

    def models(self) -> list[ModelAnswer]:
        """The loaded models."""
        return [_described(name, self._batchers[name].recognizer) for name in self.names if name in self._batchers]

    def documents(self, texts: Sequence[str], named: Callable[[int], str] = "texts[{}]".format) -> list[Document]:
        """The texts as documents, checked; `named` gives the name of a text in errors, from its index."""
        most, longest = self.settings.texts, self.settings.text_characters
        if len(texts) > most:
            raise RefusedError(413, f"a request has at most {most} texts, got {len(texts)}")
        documents = []
        for place, text in enumerate(texts):
            if len(text) > longest:
                raise RefusedError(413, f"{named(place)}: a text has at most {longest} characters, got {len(text)}")
            try:
                documents.append(Document(text))
            except InvalidInputError as error:
                raise InvalidInputError(f"{named(place)}: {error}") from None
        return documents

    def _batcher(self, name: str | None) -> Batcher:
        name = self.named(name)
        if name not in self._batchers:
            raise RefusedError(503, f"the model {name} is still being loaded", 1)
        return self._batchers[name]


def _with_labels(document: Document, labels: frozenset[str]) -> Document:
    entities = [entity for entity in document.entities if entity.label in labels]
    return document.with_entities(entities, document.coverage, document.unknown)


def _described(name: str, recognizer: Recognizer) -> ModelAnswer:
    decoding, config = recognizer.decoding(), recognizer.config
    return ModelAnswer(
        name=name,
        architecture=config.architecture,
        labels=list(config.labels),
        shapes=visible_shapes(decoding.config, decoding.policy),
        thresholds={
            threshold.name: ThresholdAnswer(value=config.thresholds[threshold.name], lowest=threshold.loosest)
            for threshold in decoding.config.thresholds()
        },
        overlap=decoding.policy,
        policies=list(POLICIES),
        options=decoding.options.model_dump(mode="json"),
        steps="steps" in type(decoding.options).model_fields,
    )
