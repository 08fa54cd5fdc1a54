"""Base of everything that can be set: frozen, unknown keys refused, errors that name the key in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from anyner.errors import AnynerError


class Settings(BaseModel):
    """A frozen group of settings; `of` builds one from plain data and says which key is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None, where: str) -> Self:
        """Validated settings; `where` (a file or a key) opens the one-line error."""
        try:
            return cls.model_validate(dict(plain or {}))
        except ValidationError as error:
            raise AnynerError(f"{where}: {_first_fault(error)}") from None

    def updated(self, changes: Mapping[str, Any], where: str) -> Self:
        """A copy with some keys changed, validated again."""
        return type(self).of({**self.model_dump(), **changes}, where) if changes else self


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    key = ".".join(str(part) for part in fault["loc"]) or "the settings"
    if fault["type"] == "extra_forbidden":
        return f"unknown key '{key}'"
    message = str(fault["msg"]).removeprefix("Value error, ").replace("\n", " ")
    given = f", got {fault['input']!r}" if isinstance(fault.get("input"), str | int | float | bool | None) else ""
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"'{key}': {message}{given}{more}"
