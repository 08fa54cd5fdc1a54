"""The versions of a model folder: what older ones called today's settings and weights, and which settings are gone.

A model of an older version, or of an earlier release with the same version, loads unless it uses a setting that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
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
    """Old and new values of settings, by their new key; of a renamed one None: what the new key has already stays."""
    deleted: Mapping[str, tuple[Any, ...] | Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)
    """Settings that are gone, with the values that mean what the library does today, or a function from the head's settings to
    that value; (): every value, for training alone."""
    merge: Callable[[dict[str, Any]], None] | None = None
    """Makes one setting of several, in place."""
    weights: dict[str, str] = field(default_factory=dict)
    """Old and new beginning of the names of weights. No name of today begins with an old one."""


_BIAFFINE = Changes(deleted={"head.length_buckets": (64,), "head.prior": ()}, weights={"head.pairs.": "head.span_scores."})


def _papers_denoiser(head: Mapping[str, Any]) -> bool:
    return head.get("denoiser") == "paper"


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
        "head.scale": (1.0,),
        "head.span_features": ("boundaries",),
        "options.eta": (1.0,),
        "head.layers": lambda head: 2 if _papers_denoiser(head) else 1,
        "head.heads": lambda head: 8 if _papers_denoiser(head) else 4,
        "head.feed_forward": lambda head: 1024 if _papers_denoiser(head) else 512,
        "head.slot_embedding": _papers_denoiser,
        "head.pointer": lambda head: "additive" if _papers_denoiser(head) else "bilinear",
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


def _one_soft_nms(config: dict[str, Any]) -> None:
    """Whether there is soft-NMS, and from which IoU on."""
    if (iou := _taken(config, "options.decay_iou")) is not None:
        _put(config, "options.soft_nms", None if _taken(config, "options.soft_nms") is False else iou)


_LOCATE_LABEL = Changes(
    settings={
        "head.pairs": "head.span_classifier.width",
        "head.pairs_dropout": "head.span_classifier.dropout",
        "head.everywhere_weight": "head.span_classifier.loss_weight",
        "head.boundary_product": "head.extra_features",
    },
    deleted={
        "head.width": (256,),
        "head.sentence_vector": lambda head: head.get("boundary_product", True),
        "head.positive_iou": (),
        "head.label_iou": (),
        "options.all_lengths": (True,),
        "options.decay": (0.9,),
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
    merge=_one_soft_nms,
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
        "head.most_pieces": "head.most_units",
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
        "head.one_more_block": (),
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
        "options.counting": "options.more",
    },
    values={"options.more": {"asked": None, "threshold": None, "likeliest": "argmax"}},
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
        "head.word_positions": lambda head: head.get("reads") == "words",
        "options.length_power": lambda head: 0.0 if head.get("constrained", True) else 1.0,
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
        "encoder.fresh_width": "encoder.scratch_width",
        "encoder.scratch.width": "encoder.scratch_width",
        "encoder.features.shapes": "encoder.word_shapes",
    },
    values={"encoder.source": {"fresh": "from_scratch"}},
    deleted={
        "encoder.layers": (1,),
        "encoder.lstm_width": (None,),
        "encoder.features.characters": (0,),
        "encoder.features.pos": (0,),
        "encoder.features.vectors": (None,),
        "text.overlap": (48,),
        "text.context_pieces": (96,),
        "encoder.dropout": (),
        "encoder.features.dropout": (),
        "encoder.features.pos_least_count": (),
        "encoder.fresh_layers": (),
        "encoder.fresh_vocabulary": (),
        "encoder.scratch.layers": (),
        "encoder.scratch.vocabulary": (),
    },
    weights={"encoder.word_layer.features.": "encoder.word_layer."},
)
"""Of every architecture: settings of the encoder and of the text."""

OLD_RECIPE_KEYS = {
    "chosen": "refit",
    "adapting": "pretraining",
    "data.opinions": "data.soft_labels",
    "data.coordinated": "data.augmentation",
    "data.augmentation.coordination": "data.augmentation",
    "data.synthetic.train": "data.synthetic.sentences",
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
