"""A model folder, a bundled model or a hub id -> `Recognizer`. Nothing but the hub form ever touches the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.overrides import TorchFunctionMode

from anyner.architectures.registry import head_class
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config
from anyner.encoding.shapes import SHAPES, ShapeVocabulary
from anyner.encoding.stored import budget_of, not_finite, stored_shapes
from anyner.encoding.untrusted import Budget, check_size, read_json
from anyner.errors import AnynerError, first_line, printable
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.model import NerModel
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.files import CONFIG, WEIGHTS
from anyner.storage.format import current_name, upgraded
from anyner.storage.quantized import from_stored, sha256_of, whole_shapes

_PARTS = {"pretrained": "encoder", "encoder": "word layer", "head": "head"}
_LONGEST_NAME = 300
_LARGEST = {"head": 100_000, "encoder": 1_000_000, "text": 1_000_000, "options": 1_000}
"""Of the numbers in a model's settings: options say how much is computed for each sentence, and a call may ask for more."""
_LOOKED_AT = 4 << 20
_HUB_FILES = [CONFIG, WEIGHTS, "tokenizer.json", "tokenizer_config.json", SHAPES]


_FILLING = frozenset(
    {"normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_"}
)
"""By name: they are methods of tensors, functions of torch.nn.init, and what transformers puts in place of these."""


class Unfilled(TorchFunctionMode):
    """Inside, tensors that would be filled with random numbers stay as they are: only for weights that are all replaced.

    Drawing random weights takes longer than reading the stored ones.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__name__", "") in _FILLING:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def load(name: str | Path, device: str | torch.device | None = None, precision: Precision = "auto") -> Recognizer:
    """The model in a folder, a bundled one by its name, or one from the hub by `owner/name`; on a GPU when there is one."""
    where = _device(device)
    if precision not in get_args(Precision):
        raise AnynerError(f"there is no precision {precision!r}: {', '.join(get_args(Precision))}")
    folder = find(name)
    config = read_config(folder)
    model, vocabulary = _model(config, folder / WEIGHTS), PieceVocabulary.load(folder)
    vocabulary.check_fits(model.encoder.tables.tokens.num_embeddings, str(folder))
    return Recognizer(model.to(where).eval(), vocabulary, config, precision)


def _device(named: str | torch.device | None) -> torch.device:
    if named is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=named).device
    except (RuntimeError, AssertionError) as error:  # an AssertionError is what a torch without CUDA raises
        raise AnynerError(f"device {str(named)!r} cannot be used: {first_line(error)}") from None


def find(name: str | Path) -> Path:
    """The folder a name stands for."""
    if not isinstance(name, str | Path):
        raise AnynerError(f"a model is named by a folder, a bundled name or a hub id, not by {type(name).__name__}")
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if bundled := bundled_folder(str(name).removeprefix(BUNDLED)):
        return bundled
    if re.fullmatch(r"[\w-]+(\.[\w-]+)*/[\w.-]+", str(name)) and not folder.parent.is_dir():
        try:
            return Path(snapshot_download(str(name), allow_patterns=_HUB_FILES))
        except Exception as error:  # the hub client raises many kinds, all with many lines
            raise AnynerError(
                f"{name}: no such folder, and it could not be downloaded from the Hugging Face Hub: {first_line(error)}"
            ) from None
    if folder.is_file():
        raise AnynerError(f"{name}: is a file, not a model folder")
    known = f"; bundled models: {', '.join(bundled_names())}" if bundled_names() else ""
    raise AnynerError(f"there is no model {name}: no such folder{known}")


def is_model_folder(folder: Path) -> bool:
    """Whether a model of this package lies there: folders of other libraries have files of the same names."""
    path = folder / CONFIG
    if not path.is_file() or not (folder / WEIGHTS).is_file():
        return False
    with path.open("rb") as file:
        return b'"anyner_version"' in file.read(_LOOKED_AT)


def read_config(folder: Path) -> ModelConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise AnynerError(f"{folder} is not a model folder: no {CONFIG} (an unfinished training? see its metrics.jsonl)")
    plain: Any = read_json(path)
    if not isinstance(plain, dict) or "architecture" not in plain:
        raise AnynerError(f"{path}: not the config of an anyner model")
    plain = upgraded(plain, str(path))
    for group, largest in _LARGEST.items():
        for key, value in plain[group].items() if isinstance(plain.get(group), dict) else ():
            check_size(key, value, largest, f"{path}: {group}:")
    return ModelConfig.of(plain, str(path))


def _model(config: ModelConfig, path: Path) -> NerModel:
    """Built only as large as the stored weights are, compared with them by name and shape, and then filled."""
    if not path.is_file():
        raise AnynerError(f"{path.parent}: no {WEIGHTS} (weights in other forms, pickles above all, are never read)")
    shapes = whole_shapes(stored_shapes(path), str(path))
    stored = {current_name(config.architecture, name): shape for name, shape in shapes.items()}
    model = _built(config, path.parent, budget_of(stored.values()))
    wanted = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    for name in (*wanted, *stored):
        if stored.get(name) != wanted.get(name):
            raise AnynerError(f"{path}: does not fit {CONFIG}: {_difference(name, stored.get(name), wanted.get(name))}")
    weights = {current_name(config.architecture, name): own for name, own in _weights(path, config.weights_sha256).items()}
    for name, own in model.state_dict().items():
        if own.is_floating_point() != weights[name].is_floating_point():
            dtype = str(weights[name].dtype).removeprefix("torch.")
            raise AnynerError(f"{path}: does not fit {CONFIG}: {name} is stored as {dtype}")
    model.load_state_dict(weights)
    return model


def _difference(name: str, stored: tuple[int, ...] | None, wanted: tuple[int, ...] | None) -> str:
    if stored is None or wanted is None:
        return f"{printable(name[:_LONGEST_NAME])} is {'missing' if stored is None else 'unexpected'}"
    return f"size mismatch for {name}: {list(stored)} is stored, not {list(wanted)}"


def _built(config: ModelConfig, folder: Path, budget: Budget) -> NerModel:
    path = folder / CONFIG
    head_type = head_class(config.architecture)
    head_config = head_type.Config.of(config.head, f"{path}: head")
    if config.thresholds.keys() != head_config.default_thresholds().keys():
        wanted = ", ".join(head_config.default_thresholds()) or "none"
        raise AnynerError(f"{path}: 'thresholds': {config.architecture} has {wanted}")
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
        raise AnynerError(f"{path}: {part!r}: no {_PARTS[part]} can be built: {first_line(error)}") from None


def _weights(path: Path, expected: str | None) -> dict[str, torch.Tensor]:
    try:
        weights = from_stored(load_file(path), str(path))
        if expected is not None and sha256_of(path) != expected:
            raise AnynerError(f"{path}: not the file that {CONFIG} was saved with, or damaged: its sha256 differs")
    except (SafetensorError, OSError) as error:
        raise AnynerError(f"{path}: not a whole safetensors file (pickles are refused): {first_line(error)}") from None
    if broken := not_finite(weights):
        raise AnynerError(f"{path}: {broken} holds values that are not finite: the training went wrong, or the file is damaged")
    return weights
