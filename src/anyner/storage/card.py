"""The model card, `README.md` of a model folder: generated from the training, with metadata for the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from anyner.inference.config import ModelConfig

_TASK = "token-classification"
_FRONT = re.compile(r"\A---\r?\n(.*?)^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)


def card(config: ModelConfig, metrics: Mapping[str, Any], recipe: str, documents: int, picture: str | None = None) -> str:
    """Renders the template `card.md`; `picture` is the file with the training curves."""
    source = files("anyner.storage").joinpath("card.md").read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, trim_blocks=True)
    encoder = config.encoder.source.rstrip("/").rsplit("/", 1)[-1]
    shown = {"dev": metrics["dev"], "training": metrics["training"], "recipe": recipe, "documents": documents, "picture": picture}
    body = environment.from_string(source).render(config=config, encoder=encoder, **shown)
    return with_metadata(body, {**metadata(config), **_figures(f"{config.architecture} on {encoder}", metrics["dev"])})


def metadata(config: ModelConfig) -> dict[str, Any]:
    """Metadata for the model's page on the hub and for search."""
    tags = ["anyner", "named-entity-recognition", config.architecture]
    return {"library_name": "anyner", "pipeline_tag": _TASK, "tags": tags}


def _figures(name: str, dev: Mapping[str, float] | None) -> dict[str, Any]:
    if dev is None:  # a refit, which is not scored
        return {}
    named = {"precision": "Strict precision", "recall": "Strict recall", "f1": "Strict F1"}
    metrics = [{"type": kind, "name": name, "value": round(dev[kind], 4)} for kind, name in named.items()]
    corpus = {"type": "dev", "name": "Dev documents, on which epoch and thresholds were chosen"}
    task = {"type": _TASK, "name": "Named entity recognition"}
    return {"model-index": [{"name": name, "results": [{"task": task, "dataset": corpus, "metrics": metrics}]}]}


def with_metadata(text: str, added: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    """The card with metadata on top: its own keys override `defaults`, `added` overrides both. A block between `---` that is
    not metadata stays in the text."""
    front = _FRONT.match(text)
    try:
        known = yaml.safe_load(front[1]) if front else None
    except yaml.YAMLError:
        known = None
    body = text[front.end() :] if front and isinstance(known, dict) else text
    merged = {**(defaults or {}), **(known if isinstance(known, dict) else {}), **added}
    return f"---\n{yaml.safe_dump(merged, sort_keys=False, allow_unicode=True)}---\n{body}"
