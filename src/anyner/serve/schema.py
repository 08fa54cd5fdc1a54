"""The JSON of requests and responses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from anyner.overlap import Policy


class Body(BaseModel):
    """What clients send."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Choices(Body):
    """The settings of a request."""

    model: str | None = Field(default=None, description="One of /models; the first is the default.")
    labels: list[str] | None = Field(default=None, description="Only entities with these labels.")
    thresholds: dict[str, float] | None = Field(default=None, description="Thresholds instead of the tuned ones.")
    overlap: Policy | None = Field(default=None, description="Which overlapping entities are kept.")
    options: dict[str, Any] | None = Field(default=None, description="Options of the model's architecture.")


class PredictRequest(Choices):
    texts: str | list[str] = Field(description="One text or several.")


class FoundEntity(BaseModel):
    label: str
    fragments: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, description="[start, end) of each fragment, in Unicode characters."
    )
    text: str
    score: float | None = None


class FoundDocument(BaseModel):
    text: str
    entities: list[FoundEntity]
    id: str | None = Field(default=None, description="The id of the NDJSON line, if it has one.")
    coverage: float | None = Field(default=None, description="The share of words that were read in full, if not all.")
    unknown: float | None = Field(default=None, description="The share of words that are not in the model's vocabulary, if any.")


class PredictAnswer(BaseModel):
    model: str
    documents: list[FoundDocument]


class ThresholdAnswer(BaseModel):
    value: float
    lowest: float


class ModelAnswer(BaseModel):
    name: str
    architecture: str
    labels: list[str]
    shapes: list[str]
    thresholds: dict[str, ThresholdAnswer]
    overlap: str
    policies: list[str]
    options: dict[str, Any]
    steps: bool = Field(description="Whether predictions are made in steps that can be shown.")


class ModelsAnswer(BaseModel):
    models: list[ModelAnswer] = Field(description="The first is the default.")


class HealthAnswer(BaseModel):
    status: str
    version: str


class ErrorAnswer(BaseModel):
    error: str
