"""A model folder, a bundled model or a hub id -> `Recognizer`. Nothing but the hub form ever touches the network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import PreTrainedModel

from anyner.architectures.registry import head_class
from anyner.encoding.encoder import Encoder
from anyner.encoding.features import FEATURES, VECTOR_WORDS, FeatureVocabulary
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config
from anyner.errors import AnynerError
from anyner.inference.config import FORMAT, ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.model import NerModel
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.files import CONFIG, WEIGHTS
from anyner.storage.quantized import from_stored
from anyner.storage.unfilled import Unfilled

_HUB_FILES = [CONFIG, WEIGHTS, "tokenizer.json", "tokenizer_config.json", FEATURES, VECTOR_WORDS]


def load(name: str | Path, device: str | torch.device | None = None, precision: Precision = "auto") -> Recognizer:
    """The model in a folder, a bundled one by its name, or one from the hub by `owner/name`; on a GPU when there is one."""
    where = _device(device)
    if precision not in get_args(Precision):
        raise AnynerError(f"there is no precision {precision!r}: {', '.join(get_args(Precision))}")
    folder = find(name)
    config = read_config(folder)
    model, vocabulary = _model(config, folder / WEIGHTS), PieceVocabulary.load(folder)
    pieces, known = vocabulary.tokenizer.get_vocab_size(), model.encoder.tables.tokens.num_embeddings
    if pieces > known:
        raise AnynerError(f"{folder}: its tokenizer has {pieces:,} pieces, its encoder knows {known:,}: they are of two models")
    return Recognizer(model.to(where).eval(), vocabulary, config, precision)


def _device(named: str | torch.device | None) -> torch.device:
    if named is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=named).device
    except (RuntimeError, AssertionError) as error:  # an AssertionError is what a torch without CUDA raises
        raise AnynerError(f"device {str(named)!r} cannot be used: {_first_line(error)}") from None


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
            raise AnynerError(f"{name}: not a folder, and not to be had from the hub: {_first_line(error)}") from None
    if folder.is_file():
        raise AnynerError(f"{name}: is a file, not a model folder")
    known = f"; bundled models: {', '.join(bundled_names())}" if bundled_names() else ""
    raise AnynerError(f"there is no model {name}: no such folder{known}")


def is_model_folder(folder: Path) -> bool:
    """Whether a model of this package lies there: folders of other libraries have files of the same names."""
    path = folder / CONFIG
    return (
        path.is_file()
        and (folder / WEIGHTS).is_file()
        and '"anyner_version"' in path.read_text(encoding="utf-8", errors="replace")
    )


def read_config(folder: Path) -> ModelConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise AnynerError(f"{folder} is not a model folder: no {CONFIG} (an unfinished training? see its metrics.jsonl)")
    try:
        plain: Any = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError) as error:
        raise AnynerError(f"{path}: not valid JSON: {_first_line(error)}") from None
    if not isinstance(plain, dict) or "architecture" not in plain:
        raise AnynerError(f"{path}: not the config of an anyner model")
    if isinstance(plain.get("format"), int) and plain["format"] > FORMAT:
        raise AnynerError(
            f"{path}: written by a newer anyner (format {plain['format']}, this one knows {FORMAT}): upgrade anyner"
        )
    if plain.get("format") == 1 and isinstance(plain.get("text"), dict):
        plain["text"] = {"mark_lines": False} | plain["text"]
    return ModelConfig.of(plain, str(path))


def _model(config: ModelConfig, path: Path) -> NerModel:
    head_type = head_class(config.architecture)
    head_config = head_type.Config.of(config.head, f"{path.parent / CONFIG}: head")
    if config.thresholds.keys() != head_config.default_thresholds().keys():
        wanted = ", ".join(head_config.default_thresholds()) or "none"
        raise AnynerError(f"{path.parent / CONFIG}: 'thresholds': {config.architecture} has {wanted}")
    features = FeatureVocabulary.load(path.parent, config.encoder.features) if config.encoder.features.used else None
    with Unfilled():
        encoder = Encoder(config.encoder, _pretrained(config, path.parent / CONFIG), features)
        try:
            model = NerModel(encoder, head_type(head_config, config.labels, encoder))
        except AssertionError:  # settings that a training fills in
            raise AnynerError(f"{path.parent / CONFIG}: 'head' lacks settings that every trained model has") from None
    weights = _weights(path)
    try:
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except RuntimeError as error:  # a shape: the first line only says that something is wrong
        reason = " ".join(str(error).splitlines()[1:2]).strip()
        raise AnynerError(f"{path}: does not fit {CONFIG}: {reason}") from None
    if missing or unexpected:
        name = (missing or unexpected)[0]
        raise AnynerError(f"{path}: does not fit {CONFIG}: {name} is {'missing' if missing else 'unexpected'}")
    return model


def _pretrained(config: ModelConfig, path: Path) -> PreTrainedModel:
    try:
        return encoder_from_config(config.pretrained)
    except AnynerError as error:
        raise AnynerError(f"{path.parent}: {error}") from None
    except Exception as error:  # every encoder checks its settings in its own way
        raise AnynerError(f"{path}: 'pretrained': no encoder can be built: {_first_line(error)}") from None


def _weights(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise AnynerError(f"{path.parent}: no {WEIGHTS} (weights in other forms, pickles above all, are never read)")
    try:
        return from_stored(load_file(path), str(path))
    except (SafetensorError, OSError) as error:
        raise AnynerError(f"{path}: not a whole safetensors file (pickles are refused): {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
