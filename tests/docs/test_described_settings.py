"""Tables in the pages say what the code says: recipe keys with defaults, settings, architectures, commands, layers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from markdown_pages import ROOT, blocks, read, table_rows
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from anyner.architectures.registry import config_class, names
from anyner.cli.main import COMMANDS
from anyner.corpora.reading import FORMATS
from anyner.serve.settings import ServeSettings
from anyner.settings import is_by_rule, is_recorded
from anyner.training.config import Recipe, RefitConfig, Source, SyntheticData

OPEN = "–"
BY_RULE = "[chosen](#what-is-chosen-from-the-corpus)"
_GROUPS = ("data", "encoder", "text", "training")


def shown(value: Any) -> str:
    """A default as the tables write it."""
    if value is None or value in ((), {}):
        return OPEN
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def defaults(settings: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, field in settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from defaults(field.annotation, f"{prefix}{name}.")
            continue
        known = BY_RULE if is_by_rule(settings, name) else shown(field.get_default(call_default_factory=True))
        yield prefix + name, OPEN if field.is_required() else known


def recipe_keys() -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, field in Recipe.model_fields.items():
        if name in _GROUPS:
            group = group_of(field)
            keys |= {key: value for key, value in defaults(group, f"{name}.") if not is_recorded(group, key.split(".")[1])}
        else:
            keys[name] = BY_RULE if is_by_rule(Recipe, name) else shown(field.get_default(call_default_factory=True))
    del keys["data.synthetic"], keys["refit"]  # groups that are not there unless asked for
    return keys | dict(defaults(SyntheticData, "data.synthetic.")) | dict(defaults(RefitConfig, "refit."))


def group_of(field: FieldInfo) -> type[BaseModel]:
    assert isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    return field.annotation


def test_every_key_of_a_recipe_is_described_with_its_default() -> None:
    described = {row[0]: row[1] for row in table_rows(read(ROOT / "docs/training.md"), "key")}
    assert described == recipe_keys()


def test_every_rule_is_described() -> None:
    described = {row[0] for row in table_rows(read(ROOT / "docs/training.md"), "chosen key")}
    assert described == {key for key, value in recipe_keys().items() if value == BY_RULE}


def test_every_key_of_a_source_is_described() -> None:
    described = {row[0]: row[1] for row in table_rows(read(ROOT / "docs/training.md"), "key of a source")}
    assert described == dict(defaults(Source))


def test_every_architecture_describes_its_settings_with_their_defaults() -> None:
    for name in names():
        page = read(ROOT / "src/anyner/architectures" / name / "README.md")
        described = {row[0]: row[1] for row in table_rows(page, "key")}
        assert described == {key: value for key, value in defaults(config_class(name)) if key != "architecture"}, name


def test_the_readme_says_which_architectures_are_available_and_what_they_express() -> None:
    rows = table_rows(read(ROOT / "README.md"), "architecture")
    listed = {re.sub(r"\[(\w+)\].*", r"\1", row[0]): row[2] for row in rows if len(row) == 3}
    how = {name: "joined fragments" if "fragments" in config_class(name).model_fields else "generated" for name in names()}
    assert listed == how


def test_a_page_lists_every_command() -> None:
    listed = {row[0] for row in table_rows(read(ROOT / "docs/start.md"), "command")}
    assert listed == {f"anyner {command}" for command in COMMANDS}


def test_every_limit_of_the_server_is_described_with_its_default() -> None:
    listed = {row[0]: row[1] for row in table_rows(read(ROOT / "docs/serve.md"), "limit")}
    set_by_options = {"key", "hosts", "batch_wait"}
    assert listed == {name: shown for name, shown in defaults(ServeSettings) if name not in set_by_options}


def test_the_formats_page_lists_every_format() -> None:
    assert [row[0] for row in table_rows(read(ROOT / "docs/formats.md"), "name")] == [one.name for one in FORMATS]


def test_the_layers_are_those_that_are_checked() -> None:
    picture = next(block.code for block in blocks(read(ROOT / "CONTRIBUTING.md")) if block.code.startswith("integrations "))
    drawn = [
        word for line in picture.splitlines() for word in (line.split() if line.startswith("settings") else line.split()[:1])
    ]
    contract = tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"][0]["layers"]
    assert drawn == [layer.removeprefix("anyner.") for layer in contract]
