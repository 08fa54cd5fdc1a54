"""The versions of a model folder: what older ones called today's settings and weights, and which settings are gone.

A model of an older version loads unless it uses a setting that is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anyner.errors import AnynerError
from anyner.inference.config import FORMAT


@dataclass(frozen=True, slots=True)
class Changes:
    """What an architecture of an older version called otherwise, or had and has no more."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Old and new key of each renamed setting."""
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Old and new values of settings, by their new key."""
    deleted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Settings that are gone, with the values that mean what the library does today; (): every value, for training alone."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """Old and new beginning of the names of weights. No name of today begins with an old one."""


_BIAFFINE = Changes(weights={"head.pairs.": "head.span_scores."})


_DIFFUSION_NER = Changes(
    settings={
        "head.pairs": "head.span_classifier.width",
        "head.pairs_dropout": "head.span_classifier.dropout",
        "head.everywhere_weight": "head.span_classifier.loss_weight",
        "head.stretch": "head.segment_words",
        "options.check_share": "options.score_share",
    },
    values={"head.expansion": {"moved": "shifted"}},
    deleted={
        "head.state": ("width",),
        "head.time": ("add",),
        "head.time_in_attention": (True,),
        "head.word_positions": (True,),
        "head.type_reads": ("boundaries",),
        "head.self_attention": (True,),
        "head.cross_attention": (True,),
        "options.renewal": (False,),
        "options.every_step": (True,),
        "head.boundary_prior": (),
        "head.assignment": (),
        "head.tie": (),
        "head.apart": (),
        "head.type_target": (),
        "head.none_weight": (),
        "head.boundary_weight": (),
        "head.type_weight": (),
    },
    weights={
        "head.denoiser.pairs.": "head.span_classifier.spans.",
        "head.denoiser.normalised.": "head.denoiser.final_norm.",
        "head.denoiser.of_left.": "head.denoiser.type_left.",
        "head.denoiser.of_right.": "head.denoiser.type_right.",
        "head.denoiser.of_span.": "head.denoiser.type_span.",
        **{
            f"head.denoiser.layers.{layer}.{old}.": f"head.denoiser.layers.{layer}.{new}."
            for layer in range(12)
            for old, new in (
                ("among.asking", "self_attention.query"),
                ("among", "self_attention"),
                ("to_words.asking", "cross_attention.query"),
                ("to_words", "cross_attention"),
                ("norm", "feed_forward.norm"),
                ("feed", "feed_forward.inner"),
            )
        },
    },
)


_LOCATE_LABEL = Changes(
    settings={
        "head.pairs": "head.span_classifier.width",
        "head.pairs_dropout": "head.span_classifier.dropout",
        "head.everywhere_weight": "head.span_classifier.loss_weight",
    },
    deleted={
        "head.offsets": ("linear",),
        "head.spare_negatives": (),
        "head.softness": (),
        "head.focus": (),
        "head.classifier_loss": (),
        "head.filter_weight": (),
        "head.regressor_weight": (),
        "head.classifier_weight": (),
        "head.loss_compat": (),
    },
    weights={"head.pairs.": "head.span_classifier.spans."},
)


_NAG_NER = Changes(
    settings={
        "head.check": "head.span_classifier.width",
        "head.check_dropout": "head.span_classifier.dropout",
        "head.check_weight": "head.span_classifier.loss_weight",
        "head.check_fragments": "head.span_classifier.rescore_fragments",
        "head.writing": "head.loss",
        "head.starts": "head.start_classifier",
        "options.check_share": "options.score_share",
        "thresholds.gaps": "thresholds.discontinuous",
    },
    values={"head.loss": {"rows": "sequences"}, "head.start_classifier": {True: "mlp", False: "none"}},
    deleted={
        "head.heads": (None,),
        "head.feed_forward": (None,),
        "head.pretrained_rate": (),
        "head.opinions": (0.0,),
        "head.links": (0,),
        "head.mlm_head": (),
        "head.copy_epochs": (),
        "head.head_word": (True,),
        "head.copied": (True,),
        "head.start_positions": (True,),
        "head.spare_negatives": (),
        "options.gap": (0.0,),
        "options.alternatives": (),
        "options.doubt": (),
    },
    weights={
        "head.check.pairs.": "head.span_classifier.spans.",
        "head.check.fragments.pairs.": "head.span_classifier.fragments.",
        "head.starts.": "head.start_classifier.",
        "head.writer.of_words.": "head.network.word_projection.0.",
        "head.writer.word_norm.": "head.network.word_projection.1.",
        "head.writer.word_places": "head.network.word_positions",
        "head.writer.places": "head.network.positions",
        "head.writer.own_positions": "head.network.start_positions",
        "head.writer.of_starts.": "head.network.start_projection.",
        "head.writer.of_head.": "head.network.head_word.",
        "head.writer.of_copied.": "head.network.next_words.",
        "head.writer.out.asking.": "head.network.output.query.",
        "head.writer.out.pointed.": "head.network.output.key.",
        "head.writer.out.": "head.network.output.",
        "head.writer.gap": "head.network.gap_cost",
        "head.writer.tail.asking.": "head.network.last_word.query.",
        "head.writer.tail.pointed.": "head.network.last_word.key.",
        "head.writer.tail.": "head.network.last_word.",
        "head.writer.": "head.network.",
    },
)


_SHARES = tuple(n / 100 for n in range(101))
"""Every value of a setting that only training reads: the model is the same today."""

_SET_GNER = Changes(
    settings={
        "head.check": "head.span_classifier.width",
        "head.check_dropout": "head.span_classifier.dropout",
        "head.check_weight": "head.span_classifier.loss_weight",
        "head.check_fragments": "head.span_classifier.rescore_fragments",
        "options.check_share": "options.score_share",
        "thresholds.gaps": "thresholds.discontinuous",
    },
    values={"options.counting": {"asked": "threshold"}},
    deleted={
        "head.heads": (None,),
        "head.feed_forward": (None,),
        "head.pretrained_rate": (),
        "head.opinions": (0.0,),
        "head.token_embedding": (True,),
        "head.positions": ("adaptive",),
        "head.detector_width": (),
        "head.detector_dropout": _SHARES,
        "head.weighting": ("paper", "code"),
        "head.negatives": _SHARES,
        "head.label_prompt": (False,),
        "options.null_counts": (False,),
    },
    weights={
        "head.forwards.generator.asking.": "head.network.query.",
        "head.forwards.generator.pointed.": "head.network.key.",
        "head.forwards.generator.": "head.network.",
        "head.forwards.detector.": "head.network.",
        "head.check.pairs.": "head.span_classifier.spans.",
        "head.check.fragments.pairs.": "head.span_classifier.fragments.",
    },
)


_COMMON = Changes(
    settings={
        "encoder.fresh_layers": "encoder.scratch.layers",
        "encoder.fresh_width": "encoder.scratch.width",
        "encoder.fresh_vocabulary": "encoder.scratch.vocabulary",
    },
    deleted={"encoder.features.characters": (0,)},
    values={"encoder.source": {"fresh": "from_scratch"}},
)
"""Of every architecture: settings of the encoder and of the text."""

OLD_RECIPE_KEYS = {
    "chosen": "refit",
    "adapting": "pretraining",
    "data.opinions": "data.soft_labels",
    "data.opinion_share": "data.soft_label_weight",
    "data.coordinated": "data.augmentation.coordination",
    "data.joined": "data.augmentation.conjuncts",
    "data.gaps_repeated": "data.oversample_discontinuous",
    **_COMMON.settings,
}
"""Recipe keys of earlier versions, refused with the new name."""

CHANGES = {
    "biaffine": _BIAFFINE,
    "diffusion_ner": _DIFFUSION_NER,
    "locate_label": _LOCATE_LABEL,
    "nag_ner": _NAG_NER,
    "set_gner": _SET_GNER,
}


def upgraded(plain: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The plain content of a `config.json` of any version, in today's form."""
    version = plain.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise AnynerError(f"{path}: written by a newer anyner (format {version}, this one knows {FORMAT}): upgrade anyner")
    config = {key: dict(value) if isinstance(value, dict) else value for key, value in plain.items()}
    if version == 1 and isinstance(config.get("text"), dict):
        config["text"] = {"mark_lines": False} | config["text"]
    if version in (1, 2):
        for changes in (_COMMON, CHANGES.get(str(plain["architecture"]), Changes())):
            _change(config, changes, path)
        config["format"] = FORMAT
    return config


def _change(config: dict[str, Any], changes: Changes, path: str) -> None:
    for key, harmless in changes.deleted.items():
        if (value := _taken(config, key)) is not None and harmless and value not in harmless:
            raise AnynerError(f"{path}: {key} is {value!r}, and anyner no longer has this setting: train the model again")
    for old, new in changes.settings.items():
        if (value := _taken(config, old)) is not None:
            _put(config, new, value)
    for key, renamed in changes.values.items():
        if (value := _taken(config, key)) is not None:
            _put(config, key, renamed.get(value, value))


def _taken(config: dict[str, Any], key: str) -> Any:
    """Removes a setting and returns its value; None if it is not there."""
    *groups, name = key.split(".")
    inner: Any = config
    for group in groups:
        inner = inner.get(group) if isinstance(inner, dict) else None
    return inner.pop(name, None) if isinstance(inner, dict) else None


def _put(config: dict[str, Any], key: str, value: Any) -> None:
    *groups, name = key.split(".")
    for group in groups:
        config = config.setdefault(group, {})
    config[name] = value


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
    for old, new in CHANGES.get(architecture, Changes()).weights.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name
