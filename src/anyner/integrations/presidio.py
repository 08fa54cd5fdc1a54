"""A recognizer for Presidio's analyzer: `registry.add_recognizer(PresidioRecognizer("general-en", {"PER": "PERSON"}))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from presidio_analyzer import EntityRecognizer, RecognizerResult

from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load


class PresidioRecognizer(EntityRecognizer):  # type: ignore[misc]  # the library has no types
    """Results of a model, each fragment of a discontinuous entity as one of its own: what lies between them is no part of it."""

    def __init__(
        self,
        model: str | Path | Recognizer = "general-en",
        names: Mapping[str, str] | None = None,
        supported_language: str = "en",
        **chosen: Any,
    ) -> None:
        """`names`: what Presidio calls a label; others keep theirs. `chosen`: as `predict` takes them."""
        self._ner = model if isinstance(model, Recognizer) else load(model)
        self._names = {label: (names or {}).get(label, label) for label in self._ner.config.labels}
        self._chosen = chosen
        super().__init__(sorted(set(self._names.values())), name="anyner", supported_language=supported_language)

    def load(self) -> None:
        """The model is loaded already."""

    def analyze(self, text: str, entities: Sequence[str], nlp_artifacts: object = None) -> list[RecognizerResult]:
        """The results of the kinds that are asked for; of all kinds if none is named."""
        return [
            RecognizerResult(self._names[entity.label], start, end, entity.score, None, {"recognizer_name": self.name})
            for entity in self._ner.predict(text, **self._chosen).entities
            if not entities or self._names[entity.label] in entities
            for start, end in entity.fragments
        ]
