"""Loads the torch model of a model folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from anyner.architectures.registry import head_class
from anyner.encoding.budget import Budget, budget_of
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config
from anyner.encoding.shapes import ShapeVocabulary
from anyner.errors import AnynerError, first_line, printable
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import torch_recognizer
from anyner.model import NerModel
from anyner.storage.files import CONFIG
from anyner.storage.format import current_name, head_config_of
from anyner.storage.weights import Weights, weights_file

_PARTS = {"pretrained": "encoder", "encoder": "word layer", "head": "head"}
_LONGEST_NAME = 300
_FILLING = frozenset(
    {"normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_"}
)
"""By name: they are methods of tensors, functions of torch.nn.init, and the replacements of these by transformers."""


class Unfilled(TorchFunctionMode):
    """A context that skips the random initialization of tensors: only for weights that are all replaced.

    Drawing random weights takes longer than reading the stored ones.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__name__", "") in _FILLING:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def loaded(folder: Path, config: ModelConfig, device: str | torch.device | None, precision: Precision) -> Recognizer:
    """The model of a folder, on a GPU if there is one."""
    where = usable_device(device)
    model, vocabulary = model_in(folder, config), PieceVocabulary.load(folder)
    vocabulary.check_fits(model.encoder.tables.tokens.num_embeddings, str(folder))
    return torch_recognizer(model.to(where).eval(), vocabulary, config, precision)


def usable_device(named: str | torch.device | None) -> torch.device:
    if named is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=named).device
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises an AssertionError
        raise AnynerError(f"cannot use device {str(named)!r}: {first_line(error)}") from None


def model_in(folder: Path, config: ModelConfig) -> NerModel:
    """Builds the model, no larger than the stored weights, compares names and shapes, and then copies the weights."""
    path = weights_file(folder)
    file = Weights(path)
    names = {current_name(config.architecture, name): name for name in file}
    stored = {name: file.shapes[own] for name, own in names.items()}
    model = _built(config, folder, budget_of(stored.values()))
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    for name in (*expected, *stored):
        if stored.get(name) != expected.get(name):
            raise AnynerError(f"{path}: does not fit {CONFIG}: {_difference(name, stored.get(name), expected.get(name))}")
    file.check(config.weights_sha256)
    for name, own in model.state_dict().items():
        weight = file[names[name]]
        if own.is_floating_point() != (weight.dtype.kind == "f"):
            raise AnynerError(f"{path}: does not fit {CONFIG}: {name} is stored as {weight.dtype}")
        own.copy_(torch.from_numpy(weight))
    return model


def _difference(name: str, stored: tuple[int, ...] | None, expected: tuple[int, ...] | None) -> str:
    if stored is None or expected is None:
        return f"{printable(name[:_LONGEST_NAME])} is {'missing' if stored is None else 'unexpected'}"
    return f"size mismatch for {name}: expected {list(expected)}, got {list(stored)}"


def _built(config: ModelConfig, folder: Path, budget: Budget) -> NerModel:
    path = folder / CONFIG
    head_type = head_class(config.architecture)
    head_config = head_config_of(config, folder)
    shapes = ShapeVocabulary.load(folder) if config.encoder.word_shapes else None
    part = "pretrained"
    try:
        with budget, Unfilled():
            pretrained = encoder_from_config(config.pretrained)
            part = "encoder"
            encoder = Encoder(config.encoder, pretrained, shapes)
            part = "head"
            return NerModel(encoder, head_type(head_config, config.labels, encoder))
    except AnynerError as error:
        raise AnynerError(f"{folder}: {error}") from None
    except Exception as error:  # every encoder checks its settings in its own way
        if part == "head" and isinstance(error, AssertionError):  # settings that a training fills in
            raise AnynerError(f"{path}: 'head' lacks settings that every trained model has") from None
        raise AnynerError(f"{path}: {part!r}: cannot build the {_PARTS[part]}: {first_line(error)}") from None
