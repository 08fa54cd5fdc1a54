"""The application: routes in, JSON out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from anyner import __version__
from anyner.errors import AnynerError
from anyner.serve.annotate import AnnotationFolder, annotation_routes
from anyner.serve.answers import RefusedError, error_answer, json_answer, plain, validated
from anyner.serve.gate import NDJSON, NDJSON_PATH, Gate, media_type
from anyner.serve.labelstudio import (
    LabelStudioAnswer,
    LabelStudioRequest,
    LabelStudioSetup,
    LabelStudioVersion,
    predictions,
    tags_of,
    texts_of,
    version_of,
)
from anyner.serve.ndjson import NdjsonAnswer
from anyner.serve.page import page_routes
from anyner.serve.schema import Choices, ErrorAnswer, HealthAnswer, ModelsAnswer, PredictAnswer, PredictRequest
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

Result = TypeVar("Result")
_STATUSES = {
    400: "A value that the model does not accept",
    401: "The key is missing or wrong",
    408: "The body did not arrive in time",
    413: "Too large",
    415: "Not JSON",
    422: "The body does not match the schema",
    503: "The queue is full, or models are being loaded; Retry-After gives the seconds to wait",
    504: "Not finished in time",
}
_IN_QUERY = ("model", "labels", "overlap", "thresholds", "options")


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, for its schema; all of them by default."""
    chosen = statuses or tuple(_STATUSES)
    return {status: {"model": ErrorAnswer, "description": _STATUSES[status]} for status in chosen}


def create_app(service: Service, settings: ServeSettings, annotation: AnnotationFolder | None = None) -> FastAPI:
    """The application with all routes, on the models of a service."""
    # The documentation pages of FastAPI load their scripts from elsewhere: only the schema is served.
    app = FastAPI(title="anyner", version=__version__, docs_url=None, redoc_url=None)
    app.add_middleware(Gate, settings=settings, metrics=service.metrics)
    _handle_errors(app)
    _add_state(app, service)
    _add_predict(app, service)
    _add_setup(app, service)
    app.include_router(page_routes(service, annotating=annotation is not None))
    if annotation is not None:
        app.include_router(annotation_routes(annotation, service))
    return app


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/models", response_model=ModelsAnswer, responses=refusals(400, 401))
    async def models() -> Response:
        """The loaded models, their labels and the settings of a request."""
        return json_answer({"models": [model.model_dump() for model in service.models()]})

    @app.get("/health", response_model=HealthAnswer, responses=refusals(400))
    async def health() -> Response:
        """Whether the server is running. Label Studio requests this as well."""
        return json_answer({"status": "UP", "version": __version__})

    @app.get("/ready", response_model=HealthAnswer, responses=refusals(400, 503))
    async def ready() -> Response:
        """Whether all models are loaded."""
        if service.stopping.is_set():
            raise RefusedError(503, "the server is shutting down", 1)
        if not service.ready:
            raise RefusedError(503, "models are being loaded", 1)
        return json_answer({"status": "READY", "version": __version__})

    text: dict[int | str, dict[str, Any]] = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Text format of Prometheus"}
    }

    @app.get("/metrics", response_class=Response, responses={**text, **refusals(400, 401)})
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(service.metrics.text(service.queued), media_type="text/plain; version=0.0.4")


def _add_predict(app: FastAPI, service: Service) -> None:
    bodies = [PredictRequest.model_json_schema(), inlined(LabelStudioRequest)]
    content = {
        "application/json": {"schema": {"anyOf": bodies}},
        NDJSON: {"schema": {"type": "string", "description": 'One text per line: "…" or {"id": …, "text": "…"}.'}},
    }
    lines: dict[int | str, dict[str, Any]] = {
        200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "Entities"}
    }

    @app.post(
        NDJSON_PATH,
        response_model=PredictAnswer | LabelStudioAnswer,
        responses={**lines, **refusals()},
        openapi_extra={"requestBody": {"required": True, "content": content}, "parameters": _query_parameters()},
    )
    async def predict(request: Request) -> Response:
        """Entities of one or several texts, of NDJSON lines, or of Label Studio tasks.

        For NDJSON, the settings are query parameters, thresholds and options as JSON.
        """
        if media_type(request.headers.raw) == NDJSON:
            return NdjsonAnswer(service, choices_in_query(request))
        if request.query_params:
            raise RefusedError(422, f"query: with JSON, settings belong in the body, got {next(iter(request.query_params))!r}")
        body = await json_body(request)
        if isinstance(body, dict) and "tasks" in body:
            return await _labelled(request, service, validated(LabelStudioRequest, body))
        asked = validated(PredictRequest, body)
        texts = [asked.texts] if isinstance(asked.texts, str) else asked.texts
        found = await unless_gone(request, service.predict(service.documents(texts), asked))
        return json_answer({"model": service.named(asked.model), "documents": list(map(plain, found))})


async def _labelled(request: Request, service: Service, asked: LabelStudioRequest) -> Response:
    """Predictions for Label Studio tasks, by the default model."""
    tags = tags_of(asked.label_config)
    documents = service.documents(texts_of(asked, tags), "tasks[{}]".format)
    found = await unless_gone(request, service.predict(documents, Choices()))
    return json_answer(predictions(found, tags, version_of(service.named(None), service.recognizer(None))))


def _add_setup(app: FastAPI, service: Service) -> None:
    schema = inlined(LabelStudioSetup)

    @app.post(
        "/setup",
        response_model=LabelStudioVersion,
        responses=refusals(400, 401, 408, 413, 415, 422, 503),
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}},
    )
    async def setup(request: Request) -> Response:
        """Label Studio's check whether its project can be predicted."""
        asked = validated(LabelStudioSetup, await json_body(request))
        tags_of(asked.label_schema)
        return json_answer({"model_version": version_of(service.named(None), service.recognizer(None))})


async def json_body(request: Request) -> Any:
    """The body of a request, which must be JSON."""
    if (given := media_type(request.headers.raw)) != "application/json":
        raise RefusedError(415, f"send Content-Type: application/json, got {given!r}")
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RefusedError(422, f"the body is not JSON: {error}") from None


def choices_in_query(request: Request) -> Choices:
    """The settings of an NDJSON request."""
    query = request.query_params
    if unknown := next((name for name in query if name not in _IN_QUERY), None):
        raise RefusedError(422, f"query: unknown parameter {unknown!r}; expected one of: {', '.join(_IN_QUERY)}")
    chosen: dict[str, Any] = {name: query[name] for name in ("model", "overlap") if name in query}
    if "labels" in query:
        chosen["labels"] = query.getlist("labels")
    for name in ("thresholds", "options"):
        if name in query:
            try:
                chosen[name] = json.loads(query[name])
            except (ValueError, RecursionError):
                raise RefusedError(422, f"query: {name} is not JSON") from None
    return validated(Choices, chosen)


def _query_parameters() -> list[dict[str, Any]]:
    fields = Choices.model_json_schema()["properties"]
    as_json = {"thresholds", "options"}
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"{fields[name]['description']} For NDJSON{', as JSON' if name in as_json else ''}.",
            "schema": {"type": "string"} if name in as_json else fields[name]["anyOf"][0],
        }
        for name in _IN_QUERY
    ]


def inlined(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, without references: they would be broken inside another document."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs", {})

    def resolved(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return resolved(definitions[node["$ref"].rpartition("/")[2]])
            return {key: resolved(value) for key, value in node.items()}
        return [resolved(value) for value in node] if isinstance(node, list) else node

    inner: dict[str, Any] = resolved(schema)
    return inner


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of the work, which is cancelled if the client disconnects."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusedError(400, "the client disconnected")  # nobody reads it
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


def _handle_errors(app: FastAPI) -> None:
    async def wrong(_: Request, error: Exception) -> Response:
        return error_answer(error)

    async def wrong_body(_: Request, error: Any) -> Response:
        fault = error.errors()[0]
        return json_answer({"error": f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"}, 422)

    async def no_route(_: Request, error: Any) -> Response:
        return json_answer({"error": str(error.detail)}, error.status_code, dict(error.headers or {}))

    async def failed(_: Request, error: Exception) -> Response:
        return json_answer({"error": "internal server error: see the server's log"}, 500)

    app.add_exception_handler(AnynerError, wrong)
    app.add_exception_handler(RequestValidationError, wrong_body)
    app.add_exception_handler(Exception, failed)
    for status in (400, 404, 405):
        app.add_exception_handler(status, no_route)
