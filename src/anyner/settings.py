"""Base of everything that can be set: frozen, unknown keys refused, errors that name the key in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from anyner.errors import AnynerError


class Settings(BaseModel):
    """A frozen group of settings; `of` builds one from plain data and says which key is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _no_yes_for_a_number(cls, plain: Any) -> Any:
        """YAML reads `yes` as true, and pydantic true as 1."""
        for name, value in plain.items() if isinstance(plain, Mapping) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field is not None and not _takes(field.annotation, bool):
                raise ValueError(f"{name} is no switch, got {str(value).lower()}")
        return plain

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


def _takes(annotation: Any, kind: type) -> bool:
    return annotation in (kind, Any) or any(_takes(part, kind) for part in get_args(annotation))


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    key = ".".join(str(part) for part in fault["loc"]) or "the settings"
    if fault["type"] == "extra_forbidden":
        return f"unknown key '{key}'"
    message = str(fault["msg"]).removeprefix("Value error, ").replace("\n", " ")
    given = f", got {fault['input']!r}" if isinstance(fault.get("input"), str | int | float | bool | None) else ""
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"'{key}': {message}{given}{more}"
