"""A recognizer for Presidio's analyzer: `registry.add_recognizer(PresidioRecognizer("general-en", {"PER": "PERSON"}))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from presidio_analyzer import EntityRecognizer, RecognizerResult

from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load


class PresidioRecognizer(EntityRecognizer):  # type: ignore[misc]  # the library has no types
    """Results of a model. Every fragment of a discontinuous entity is a result of its own, without the text in between."""

    def __init__(
        self,
        model: str | Path | Recognizer = "general-en",
        names: Mapping[str, str] | None = None,
        supported_language: str = "en",
        **chosen: Any,
    ) -> None:
        """`names`: Presidio's entity type for a label; other labels are kept. `chosen`: keyword arguments of `predict`."""
        self._ner = model if isinstance(model, Recognizer) else load(model)
        self._names = {label: (names or {}).get(label, label) for label in self._ner.config.labels}
        self._chosen = chosen
        super().__init__(sorted(set(self._names.values())), name="anyner", supported_language=supported_language)

    def load(self) -> None:
        """Does nothing: the model is already loaded."""

    def analyze(self, text: str, entities: Sequence[str], nlp_artifacts: object = None) -> list[RecognizerResult]:
        """The results of the given entity types; of all types if none is given."""
        return [
            RecognizerResult(self._names[entity.label], start, end, entity.score, None, {"recognizer_name": self.name})
            for entity in self._ner.predict(text, **self._chosen).entities
            if not entities or self._names[entity.label] in entities
            for start, end in entity.fragments
        ]
