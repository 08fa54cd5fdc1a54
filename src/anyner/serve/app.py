"""The application: routes in, JSON out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from anyner import __version__
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.serve.gate import Gate
from anyner.serve.refusal import RefusedError
from anyner.serve.schema import ErrorAnswer, HealthAnswer, ModelsAnswer, PredictAnswer, PredictRequest
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

Result = TypeVar("Result")
Body = TypeVar("Body", bound=BaseModel)
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        400: "A value that the model does not take",
        401: "The key is missing or wrong",
        408: "The body came too slowly",
        413: "Too large",
        415: "Not JSON",
        422: "The body does not fit the schema",
        503: "The queue is full, or the model is being loaded; Retry-After tells the seconds",
        504: "Not finished in time",
    }.items()
}


def create_app(service: Service, settings: ServeSettings) -> FastAPI:
    """The server's routes on the models of a service."""
    # The documentation pages of FastAPI load their scripts from elsewhere: only the schema is served.
    app = FastAPI(title="anyner", version=__version__, docs_url=None, redoc_url=None)
    app.add_middleware(Gate, settings=settings, metrics=service.metrics)
    _handle_errors(app)
    _add_state(app, service)
    _add_predict(app, service)
    return app


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/models", response_model=ModelsAnswer, responses={401: _REFUSED[401]})
    async def models() -> Response:
        """The models, their labels and what can be chosen for a call."""
        return json_answer({"models": [model.model_dump() for model in service.models()]})

    @app.get("/health", response_model=HealthAnswer)
    async def health() -> Response:
        """Whether the server runs. Label Studio asks for this as well."""
        return json_answer({"status": "UP", "version": __version__})

    @app.get("/ready", response_model=HealthAnswer, responses={503: _REFUSED[503]})
    async def ready() -> Response:
        """Whether all models are loaded."""
        if not service.ready:
            raise RefusedError(503, "models are being loaded", 1)
        return json_answer({"status": "READY", "version": __version__})

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, 401: _REFUSED[401]})
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(service.metrics.text(service.queued), media_type="text/plain; version=0.0.4")


def _add_predict(app: FastAPI, service: Service) -> None:
    content = {"application/json": {"schema": PredictRequest.model_json_schema()}}

    @app.post(
        "/predict",
        response_model=PredictAnswer,
        responses=_REFUSED,
        openapi_extra={"requestBody": {"required": True, "content": content}},
    )
    async def predict(request: Request) -> Response:
        """Entities of one or several texts."""
        asked = await body_of(request, PredictRequest)
        texts = [asked.texts] if isinstance(asked.texts, str) else asked.texts
        found = await unless_gone(request, service.predict(service.documents(texts), asked))
        return json_answer({"model": service.named(asked.model), "documents": list(map(plain, found))})


def plain(document: Document) -> dict[str, Any]:
    """A predicted document as clients get it."""
    fields = document.to_json()
    if not fields["id"]:
        del fields["id"]
    return fields


async def body_of(request: Request, schema: type[Body]) -> Body:
    """The body of a request, which must be JSON that fits the schema."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RefusedError(415, f"send Content-Type: application/json, got {media_type!r}")
    try:
        return schema.model_validate_json(await request.body())
    except ValidationError as error:
        raise RefusedError(422, first_fault(error.errors())) from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of the work, which is given up when the client goes away."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusedError(400, "the client went away")  # nobody reads it
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body.encode(), status, headers, "application/json")


def first_fault(faults: Any) -> str:
    """What is wrong with a body, in one line."""
    fault = faults[0]
    place = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"]).replace("\n", " ")
    return f"{place}: {message}" if place else message


def _handle_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        return json_answer({"error": str(error)}, error.status, error.headers)

    async def bad_value(_: Request, error: Exception) -> Response:
        return json_answer({"error": str(error)}, 400)

    async def bad_body(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return json_answer({"error": first_fault(error.errors())}, 422)

    async def no_route(_: Request, error: Any) -> Response:
        return json_answer({"error": str(error.detail)}, error.status_code, dict(error.headers or {}))

    async def failed(_: Request, error: Exception) -> Response:
        return json_answer({"error": "the server failed; its log says why"}, 500)

    for kind, handler in {
        RefusedError: refused,
        AnynerError: bad_value,
        RequestValidationError: bad_body,
        Exception: failed,
    }.items():
        app.add_exception_handler(kind, handler)
    for status in (404, 405):
        app.add_exception_handler(status, no_route)
