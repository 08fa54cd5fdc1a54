"""Models of format 2: their settings and weights have today's names."""

from typing import Any

import pytest
from diffusion_batches import head_of

from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.errors import AnynerError
from anyner.storage.format import current_name, upgraded

HEAD: dict[str, Any] = {
    "spans": 60, "stretch": 32, "schedule": "cosine", "diffusion_steps": 1000, "state": "width", "scale": 1.0, "width": 128,
    "layers": 1, "heads": 4, "feed_forward": 512, "dropout": 0.1, "span_features": "boundaries", "slot_embedding": False,
    "time": "add", "time_in_attention": True, "word_positions": True, "type_reads": "boundaries", "pairs": 64,
    "pairs_dropout": 0.3, "everywhere_weight": 40.0, "self_attention": True, "cross_attention": True, "pointer": "bilinear",
    "boundary_prior": 0.075, "expansion": "moved", "assignment": "repeat", "matching": "inputs", "tie": 1.0, "apart": "nothing",
    "type_target": "pointed", "none_weight": 1.0, "boundary_weight": 1.0, "type_weight": 1.0,
}  # fmt: skip
OPTIONS = {
    "spans": 60,
    "steps": 5,
    "eta": 1.0,
    "samples": 1,
    "every_step": True,
    "voting": True,
    "check_share": 0.4,
    "renewal": False,
}
OLD = {
    "among": ("norm", "asking", "keys", "values", "output"),
    "to_words": ("norm", "asking", "keys", "values", "output"),
    "feed": ("0", "3"),
}


def old(**head: Any) -> dict[str, Any]:
    return {"format": 2, "architecture": "diffusion_ner", "head": {**HEAD, **head}, "options": dict(OPTIONS)}


def test_settings_of_format_2_are_read() -> None:
    new = upgraded(old(), "model")
    config, options = Config.of(new["head"], "head"), DiffusionOptions.of(new["options"], "options")
    classifier = {"width": 64, "dropout": 0.3, "loss_weight": 40.0}
    assert config == Config.of({"segment_words": 32, "width": 128, "span_classifier": classifier}, "head")
    assert options == DiffusionOptions(score_share=0.4)


def test_a_model_that_used_a_deleted_part_of_the_network_is_refused() -> None:
    with pytest.raises(AnynerError, match=r"head\.time is 'scale_shift'"):
        upgraded(old(time="scale_shift"), "model")


@pytest.mark.parametrize(("denoiser", "key", "value"), [
    ("default", "heads", 8), ("default", "layers", 2), ("paper", "heads", 4), ("paper", "pointer", "bilinear"),
])  # fmt: skip
def test_sizes_are_those_of_the_denoiser(denoiser: str, key: str, value: object) -> None:
    papers = {"layers": 2, "heads": 8, "feed_forward": 1024, "slot_embedding": True, "pointer": "additive"}
    fitting = {"denoiser": denoiser} | (papers if denoiser == "paper" else {})
    assert Config.of(upgraded(old(**fitting), "model")["head"], "head").denoiser == denoiser
    with pytest.raises(AnynerError, match=rf"head\.{key} is {value!r}, and anyner no longer has this setting"):
        upgraded(old(**(fitting | {key: value})), "model")


def test_weights_of_format_2_have_a_place() -> None:
    layers = [f"layers.{n}.{part}.{name}" for n in range(1) for part, names in OLD.items() for name in names]
    layers += [f"layers.{n}.norm" for n in range(1)]
    pointers = [f"{side}_pointer.{name}" for side in ("left", "right") for name in ("of_words", "of_spans")]
    both = ["words", "normalised", "of_span", "types", "pairs.boundaries", "pairs.linear", *layers, *pointers]
    both += [f"{name}.layers.{n}" for name in ("time", "position") for n in (0, 2)]
    names = [f"{name}.{kind}" for name in both for kind in ("weight", "bias")]
    names += [f"{name}.weight" for name in ("left", "right", "of_left", "of_right", "pairs.length")]
    names += ["left_pointer.bias", "right_pointer.bias", "pairs.bilinear"]
    found = {current_name("diffusion_ner", f"head.denoiser.{name}") for name in names}
    assert found == {f"head.{name}" for name in head_of().state_dict()}
