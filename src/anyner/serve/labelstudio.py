"""The answers of a Label Studio ML backend, so that Label Studio projects get predictions from this server.

Label Studio has no discontinuous regions: every fragment becomes a region, and relations join those of one entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field

from anyner.corpora.formats.label_studio import results_of
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer

_LONGEST_CONFIG = 100_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class LabelStudioTask(_Body):
    """A task; other keys of Label Studio are ignored."""

    data: dict[str, Any]
    id: int | None = None


class LabelStudioRequest(_Body):
    """What Label Studio sends to /predict."""

    tasks: list[LabelStudioTask] = Field(min_length=1)
    label_config: str | None = Field(default=None, max_length=_LONGEST_CONFIG, description="The project's XML.")


class LabelStudioSetup(_Body):
    """What Label Studio sends to /setup. The schema is the project's XML."""

    label_schema: str | None = Field(default=None, alias="schema", max_length=_LONGEST_CONFIG)


class LabelStudioPrediction(BaseModel):
    result: list[dict[str, Any]]
    score: float | None = Field(default=None, description="The lowest score of the entities.")
    model_version: str


class LabelStudioAnswer(BaseModel):
    results: list[LabelStudioPrediction]
    model_version: str


class LabelStudioVersion(BaseModel):
    model_version: str


@dataclass(frozen=True, slots=True)
class Tags:
    """Names of a project's tags, and its labels where it lists them."""

    from_name: str = "label"
    to_name: str = "text"
    key: str = "text"
    """Key of the text in a task's data."""
    labels: frozenset[str] | None = None


def tags_of(config: str | None) -> Tags:
    """The first `Labels` tag of a labelling config that labels a `Text`; without a config, the names of Label Studio's template.

    >>> tags_of('<View><Labels name="ner" toName="t"><Label value="PER"/></Labels><Text name="t" value="$body"/></View>').key
    'body'
    """
    if not config or not config.strip():
        return Tags()
    if "<!DOCTYPE" in config or "<!ENTITY" in config:
        raise AnynerError("label_config: XML entities are not allowed")  # they can grow without bound
    try:
        tree = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise AnynerError(f"label_config: not XML: {error}") from None
    texts = {tag.get("name"): tag.get("value", "") for tag in tree.iter() if tag.tag in ("Text", "HyperText", "Paragraphs")}
    for tag in tree.iter("Labels"):
        name, to_name = tag.get("name"), tag.get("toName")
        if name and to_name and texts.get(to_name, "").startswith("$"):
            labels = frozenset(value for one in tag.iter("Label") if (value := one.get("value")))
            return Tags(name, to_name, texts[to_name][1:], labels or None)
    raise AnynerError('label_config: no <Labels name="…" toName="…"> of a <Text name="…" value="$…">')


def texts_of(request: LabelStudioRequest, tags: Tags) -> list[str]:
    texts = []
    for place, task in enumerate(request.tasks):
        text = task.data.get(tags.key)
        if not isinstance(text, str):
            raise AnynerError(f"tasks[{place}]: data has no text {tags.key!r}")
        texts.append(text)
    return texts


def version_of(name: str, recognizer: Recognizer) -> str:
    """A version that changes with the weights, so that Label Studio requests new predictions."""
    checksum = recognizer.config.weights_sha256
    return f"{name}-{checksum[:12]}" if checksum else name


def predictions(found: Sequence[Document], tags: Tags, version: str) -> dict[str, Any]:
    """The answer to /predict: entities whose label the project has."""
    return {"results": [_prediction(document, tags, version) for document in found], "model_version": version}


def _prediction(document: Document, tags: Tags, version: str) -> dict[str, Any]:
    entities = [entity for entity in document.entities if tags.labels is None or entity.label in tags.labels]
    regions = list(results_of(entities, document.text, tags.from_name, tags.to_name))
    scores = [entity.score for entity in entities if entity.score is not None]
    sure = {"score": round(min(scores), 6)} if scores else {}
    return {"result": regions, **sure, "model_version": version}
