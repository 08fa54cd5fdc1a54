"""Compatibility of `config.json` and `model.safetensors` with this version of the library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyner.architectures.registry import config_class
from anyner.architectures.settings import HeadConfig
from anyner.errors import AnynerError
from anyner.inference.config import FORMAT, ModelConfig
from anyner.storage.files import CONFIG

_STORED: Mapping[str, Mapping[str, str]] = {
    "biaffine": {"encoder.word_layer.features.": "encoder.word_layer.", "head.pairs.": "head.span_scores."},
    "set_gner": {
        "head.check.fragments.pairs.": "head.span_classifier.fragments.",
        "head.check.pairs.": "head.span_classifier.spans.",
        "head.forwards.detector.": "head.network.",
        "head.forwards.generator.asking.": "head.network.query.",
        "head.forwards.generator.pointed.": "head.network.key.",
        "head.forwards.generator.": "head.network.",
    },
}
"""Prefixes of weight names in the bundled models, whose files are too large to be rewritten, and the current prefixes."""


def check_format(plain: Mapping[str, Any], path: Path) -> None:
    version = plain.get("format", FORMAT)
    if type(version) is int and version != FORMAT:
        writer, remedy = "a newer anyner", "upgrade anyner"
        if version < FORMAT:
            writer, remedy = "anyner before its first release", "train the model again"
        raise AnynerError(f"{path}: written by {writer} (format {version}, this one knows {FORMAT}): {remedy}")


def current_name(architecture: str, name: str) -> str:
    """The current name of a stored weight."""
    for stored, current in _STORED.get(architecture, {}).items():
        if name.startswith(stored):
            return current + name.removeprefix(stored)
    return name


def head_config_of(config: ModelConfig, folder: Path) -> HeadConfig:
    """The settings of the head, checked against the thresholds."""
    path = folder / CONFIG
    head = config_class(config.architecture).of(config.head, f"{path}: head")
    if config.thresholds.keys() != head.default_thresholds().keys():
        expected = ", ".join(head.default_thresholds()) or "none"
        raise AnynerError(f"{path}: 'thresholds': expected those of {config.architecture}: {expected}")
    return head
