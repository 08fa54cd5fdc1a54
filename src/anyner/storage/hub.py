"""Downloads models from the Hugging Face Hub and pushes them. The only module of prediction that uses the network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from anyner.encoding.shapes import SHAPES
from anyner.errors import AnynerError, first_line
from anyner.inference.config import ModelConfig
from anyner.storage.files import CARD, CONFIG, EPOCHS, METRICS, RECIPE, WEIGHTS
from anyner.storage.graph import FILES, INDEX, PARITY

MODEL_FILES = (CONFIG, WEIGHTS, "tokenizer.json", "tokenizer_config.json", SHAPES, INDEX, FILES)
"""Patterns of the files that loading reads."""
_REPORTS = (METRICS, EPOCHS, RECIPE, PARITY, "training.svg")
"""Patterns of the files that only describe a model. Beside these and the card, nothing of a folder is pushed."""
_ID = re.compile(r"[\w-]+(\.[\w-]+)*/[\w.-]+")


def is_hub_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def download(name: str, revision: str | None = None) -> Path:
    """The folder of a model in the hub's cache; offline, of the version downloaded before."""
    from huggingface_hub import snapshot_download  # slow to import

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(MODEL_FILES)))
    except Exception as error:  # the hub client raises many types, with messages of many lines
        of = f" at revision {revision}" if revision else ""
        raise AnynerError(
            f"{name}: no such folder, and it could not be downloaded from the Hugging Face Hub{of}: {first_line(error)}"
        ) from None


def push(folder: Path, config: ModelConfig, name: str, *, added: Mapping[str, Any], private: bool) -> str:
    """Uploads a model folder in one commit and returns its URL. `added` are keys for the metadata of its card.

    `private` applies to a new repository only. Files of an older model that this one lacks are deleted.
    """
    if not is_hub_id(name):
        raise AnynerError(f"a model on the Hugging Face Hub is named owner/name, got {name!r}")
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    from anyner.storage.card import metadata, with_metadata

    own = folder / CARD
    card = with_metadata(own.read_text(encoding="utf-8") if own.is_file() else f"# {name}\n", added, metadata(config))
    files = {path.name: path for pattern in (*MODEL_FILES, *_REPORTS) for path in folder.glob(pattern)}
    api = HfApi(library_name="anyner")
    try:
        api.create_repo(name, private=private, exist_ok=True)
        stale = [
            CommitOperationDelete(file)
            for file in api.list_repo_files(name)
            if file not in files and any(fnmatch(file, pattern) for pattern in MODEL_FILES)
        ]
        sent = [CommitOperationAdd(file, str(path)) for file, path in files.items()]
        sent.append(CommitOperationAdd(CARD, card.encode()))
        api.create_commit(name, [*stale, *sent], commit_message="Push the model with anyner")
    except Exception as error:  # as above
        raise AnynerError(f"{name}: could not be pushed to the Hugging Face Hub: {first_line(error)}") from None
    return f"{api.endpoint}/{name}"
