"""Answers in JSON, errors among them."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from fastapi import Response
from pydantic import BaseModel, ValidationError

from anyner.document import Document
from anyner.errors import AnynerError

Body = TypeVar("Body", bound=BaseModel)
_BRANCHES = ("str", "list[str]", "int")
"""What pydantic adds to the location of an error besides keys: the types of a union."""


class RefusedError(AnynerError):
    """The error of a refused request: it becomes the answer `{"error": …}` with this status."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def json_bytes(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json_bytes(content), status, headers, "application/json")


def error_answer(error: Exception) -> Response:
    """The answer to an error of the client; 400 unless the error has another status."""
    if isinstance(error, RefusedError):
        return json_answer({"error": str(error)}, error.status, error.headers)
    return json_answer({"error": str(error)}, 400)


def plain(document: Document) -> dict[str, Any]:
    """A predicted document as clients get it, without its id: ids are the client's own."""
    fields = document.to_json()
    del fields["id"]
    return fields


def validated(schema: type[Body], body: Any, where: str = "") -> Body:
    """The body of a request, validated against the schema; `where` is the prefix of the error message."""
    if not isinstance(body, dict):
        raise RefusedError(422, f"{where}expected a JSON object")
    try:
        return schema.model_validate(body)
    except ValidationError as error:
        fault = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))  # the deepest is the most specific
        place = ".".join(str(part) for part in fault["loc"] if part not in _BRANCHES)
        message = fault["msg"].replace("\n", " ")
        raise RefusedError(422, where + (f"{place}: {message}" if place else message)) from None
