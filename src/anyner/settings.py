"""Base class of all settings: frozen, no unknown keys, one-line errors that name the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anyner.errors import AnynerError


class Settings(BaseModel):
    """A frozen group of settings; `of` builds one from plain data and says which key is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _reject_bool_for_a_number(cls, plain: Any) -> Any:
        """YAML reads `yes` as true, and pydantic true as 1."""
        for name, value in plain.items() if isinstance(plain, Mapping) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field is not None and not _takes(field.annotation, bool):
                raise ValueError(f"{name}: expected a number or text, got {str(value).lower()}")
        return plain

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None, where: str) -> Self:
        """Validated settings; `where` (a file or a key) opens the one-line error."""
        try:
            return cls.model_validate(dict(plain or {}))
        except ValidationError as error:
            raise AnynerError(f"{where}: {_first_fault(cls, error)}") from None

    def updated(self, changes: Mapping[str, Any], where: str) -> Self:
        """A copy with some keys changed, validated again."""
        return type(self).of({**self.model_dump(), **changes}, where) if changes else self


def recorded(**limits: Any) -> Any:
    """A field that is not a setting: training determines its value and the model stores it. A recipe cannot set it."""
    return Field(default=None, json_schema_extra={"recorded": True}, **limits)


def by_rule(default: Any, **limits: Any) -> Any:
    """A setting that training derives from the corpus unless the recipe sets it; without a corpus the default applies."""
    return Field(default=default, json_schema_extra={"by_rule": True}, **limits)


def is_by_rule(settings: type[BaseModel], name: str) -> bool:
    return _is_marked(settings, name, "by_rule")


def is_recorded(settings: type[BaseModel], name: str) -> bool:
    return _is_marked(settings, name, "recorded")


def _is_marked(settings: type[BaseModel], name: str, mark: str) -> bool:
    field = settings.model_fields.get(name)
    return field is not None and isinstance(field.json_schema_extra, dict) and mark in field.json_schema_extra


def _takes(annotation: Any, kind: type) -> bool:
    return annotation in (kind, Any) or any(_takes(part, kind) for part in get_args(annotation))


def _first_fault(settings: type[Settings], error: ValidationError) -> str:
    faults = error.errors()
    # a misspelt required key is also reported as missing: name the misspelling
    fault = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"unknown key '{key}'{_suggestion(settings, fault['loc'])}"
    message = str(fault["msg"]).removeprefix("Value error, ").replace("\n", " ")
    given = f", got {fault['input']!r}" if isinstance(fault.get("input"), str | int | float | bool | None) else ""
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    named = f"'{key}': " if key else ""
    return f"{named}{message}{given}{more}"


def _suggestion(settings: type[Settings], unknown: Sequence[int | str]) -> str:
    """A hint at the most similar key of the same group, if there is one."""
    *parents, last = unknown
    group: type[Settings] | None = settings
    for parent in parents:
        if group is not None and isinstance(parent, str):  # a number is an index into a list of groups of one kind
            group = _group_in(group.model_fields[parent].annotation) if parent in group.model_fields else None
    close = get_close_matches(str(last), group.model_fields, n=1) if group is not None else []
    return f"; did you mean '{'.'.join(map(str, [*parents, *close]))}'?" if close else ""


def _group_in(annotation: Any) -> type[Settings] | None:
    """The settings class in a type annotation: `Inner`, `Inner | None`, `tuple[Inner, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next((found for part in get_args(annotation) if (found := _group_in(part)) is not None), None)
