"""A model folder, a bundled model or a hub id -> `Recognizer`. Nothing but the hub form ever touches the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from anyner.encoding.shapes import SHAPES
from anyner.encoding.untrusted import check_size, read_json
from anyner.errors import AnynerError, first_line
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.files import CONFIG, WEIGHTS
from anyner.storage.format import upgraded

if TYPE_CHECKING:
    import torch

_LARGEST = {"head": 100_000, "encoder": 1_000_000, "text": 1_000_000, "options": 1_000}
"""Of the numbers in a model's settings: options say how much is computed for each sentence, and a call may ask for more."""
_LOOKED_AT = 4 << 20
_HUB_FILES = [CONFIG, WEIGHTS, "tokenizer.json", "tokenizer_config.json", SHAPES]


def load(
    name: str | Path,
    device: str | torch.device | None = None,
    precision: Precision = "auto",
) -> Recognizer:
    """The model in a folder, a bundled one by its name, or one from the hub by `owner/name`; on a GPU when there is one."""
    from anyner.storage.torch_model import loaded

    if precision not in get_args(Precision):
        raise AnynerError(f"there is no precision {precision!r}: {', '.join(get_args(Precision))}")
    folder = find(name)
    return loaded(folder, read_config(folder), device, precision)


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
        from huggingface_hub import snapshot_download  # slow to import

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
