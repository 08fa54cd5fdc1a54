"""The versions of a model folder: what older ones called today's settings and weights, and which settings are gone.

A model of an older version, or of an earlier release with the same version, loads unless it uses a setting that is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from anyner.architectures.registry import config_class
from anyner.architectures.settings import HeadConfig
from anyner.errors import AnynerError
from anyner.inference.config import FORMAT, ModelConfig
from anyner.storage.files import CONFIG


@dataclass(frozen=True, slots=True)
class Changes:
    """What an architecture of an older version called otherwise, or had and has no more."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Old and new key of each renamed setting."""
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Old and new values of settings, by their new key; of a renamed one None: what the new key has already stays."""
    deleted: Mapping[str, list[Any] | Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)
    """Settings that are gone, with the values that mean what the library does today, or a function from the head's settings to
    that value; []: every value, for training alone."""
    merge: Callable[[dict[str, Any]], None] | None = None
    """Makes one setting of several, in place."""
    weights: dict[str, str] = field(default_factory=dict)
    """Old and new beginning of the names of weights. No name of today begins with an old one."""


def _papers_denoiser(head: Mapping[str, Any]) -> bool:
    return head.get("denoiser") == "paper"


def _one_soft_nms(config: dict[str, Any]) -> None:
    """Whether there is soft-NMS, and from which IoU on."""
    if (iou := _taken(config, "options.decay_iou")) is not None:
        _put(config, "options.soft_nms", None if _taken(config, "options.soft_nms") is False else iou)


_DECIDED: Mapping[str, Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "diffusion_ner": {
        "head.layers": lambda head: 2 if _papers_denoiser(head) else 1,
        "head.heads": lambda head: 8 if _papers_denoiser(head) else 4,
        "head.feed_forward": lambda head: 1024 if _papers_denoiser(head) else 512,
        "head.slot_embedding": _papers_denoiser,
        "head.pointer": lambda head: "additive" if _papers_denoiser(head) else "bilinear",
    },
    "locate_label": {"head.sentence_vector": lambda head: head.get("boundary_product", True)},
    "nag_ner": {"head.causal": lambda head: head.get("loss", head.get("writing")) == "positions"},
    "set_gner": {
        "head.word_positions": lambda head: head.get("reads") == "words",
        "options.length_power": lambda head: 0.0 if head.get("constrained", True) else 1.0,
    },
}
"""Settings that are gone because others decide them: what they must have been, from the head's settings."""


def _changes() -> dict[str, Changes]:
    """The table of old names, by architecture; those of the encoder and of the text concern every one."""
    table = json.loads((files("anyner.storage") / "old_names.json").read_text(encoding="utf-8"))
    merge = {"locate_label": _one_soft_nms}
    return {
        name: Changes(
            settings=own.get("settings", {}),
            values={key: dict(pairs) for key, pairs in own.get("values", {}).items()},
            deleted={**own.get("deleted", {}), **_DECIDED.get(name, {})},
            merge=merge.get(name),
            weights=own.get("weights", {}),
        )
        for name, own in table.items()
    }


CHANGES = _changes()
_COMMON = CHANGES.pop("every architecture")

OLD_RECIPE_KEYS = {
    "chosen": "refit",
    "adapting": "anyner pretrain --epochs",
    "pretraining": "anyner pretrain --epochs",
    "data.opinions": "data.soft_labels",
    "data.coordinated": "data.augmentation",
    "data.augmentation.coordination": "data.augmentation",
    "data.synthetic.train": "data.synthetic.sentences",
    "data.gaps_repeated": "data.oversample_discontinuous",
    **_COMMON.settings,
}
"""Recipe keys of earlier versions, refused with the new name."""


def upgraded(plain: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The plain content of a `config.json` of any version, in today's form."""
    version = plain.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise AnynerError(f"{path}: written by a newer anyner (format {version}, this one knows {FORMAT}): upgrade anyner")
    config = deepcopy(dict(plain))
    if version == 1 and isinstance(config.get("text"), dict):
        config["text"] = {"mark_lines": False} | config["text"]
    for changes in (_COMMON, CHANGES.get(str(plain["architecture"]), Changes())):
        _change(config, changes, path)
    return config | ({"format": FORMAT} if type(version) is int else {})


def _change(config: dict[str, Any], changes: Changes, path: str) -> None:
    head = dict(config["head"]) if isinstance(config.get("head"), dict) else {}
    if changes.merge is not None:
        changes.merge(config)
    for key, harmless in changes.deleted.items():
        today = (harmless(head),) if callable(harmless) else harmless
        if (value := _taken(config, key)) is not None and today and value not in today:
            raise AnynerError(f"{path}: {key} is {value!r}, and anyner no longer has this setting: train the model again")
    for old, new in changes.settings.items():
        if (value := _taken(config, old)) is not None and _today(changes.values.get(new, {}), value) is not None:
            _put(config, new, value)
    for key, renamed in changes.values.items():
        if (value := _taken(config, key)) is not None:
            _put(config, key, _today(renamed, value))


def _today(renamed: Mapping[Any, Any], value: Any) -> Any:
    """A value of today; one that was not renamed stays, whatever it is."""
    return next((new for old, new in renamed.items() if old == value), value)


def _taken(config: dict[str, Any], key: str) -> Any:
    """Removes a setting, and its group if that is empty then, and returns its value; None if it is not there."""
    name, _, rest = key.partition(".")
    if not rest:
        return config.pop(name, None)
    if not isinstance(inner := config.get(name), dict):
        return None
    value = _taken(inner, rest)
    if value is not None and not inner:
        del config[name]
    return value


def _put(config: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key; where its group is not one, nothing is set, and the validation that follows refuses the group."""
    *groups, name = key.split(".")
    inner: Any = config
    for group in groups:
        inner = inner.setdefault(group, {}) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        inner[name] = value


def has_key(plain: Mapping[str, Any] | None, key: str) -> bool:
    """Whether a plain recipe has a dotted key."""
    inner: Any = plain
    for part in key.split("."):
        if not isinstance(inner, Mapping) or part not in inner:
            return False
        inner = inner[part]
    return True


def current_name(architecture: str, name: str) -> str:
    """What a stored weight is called today."""
    for old, new in (_COMMON.weights | CHANGES.get(architecture, Changes()).weights).items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def head_config_of(config: ModelConfig, folder: Path) -> HeadConfig:
    """The settings of the head, with which the thresholds must agree."""
    path = folder / CONFIG
    head = config_class(config.architecture).of(config.head, f"{path}: head")
    if config.thresholds.keys() != head.default_thresholds().keys():
        wanted = ", ".join(head.default_thresholds()) or "none"
        raise AnynerError(f"{path}: 'thresholds': {config.architecture} has {wanted}")
    return head
