"""The encoder that a training starts from, and a limit on the size of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from anyner.document import Document
from anyner.encoding.budget import numbers_made
from anyner.encoding.config import SCRATCH, EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import pretrained_encoder, pretrained_vocabulary, pretrained_width, width_of
from anyner.errors import AnynerError
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.load import is_model_folder, load, read_config

_MOST_WEIGHTS = 4 * 10**9


def starting_encoder(config: EncoderConfig, documents: Sequence[Document]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder and its vocabulary, which is learned from the documents if the encoder is trained from scratch."""
    folder = _model_folder(config.source)
    if folder is None:
        return pretrained_encoder(config, (document.text for document in documents))
    return load(folder, device="cpu", runtime="torch").model.encoder.pretrained, PieceVocabulary.load(folder)


def encoder_width(config: EncoderConfig) -> int:
    """Hidden size of the encoder; its weights are not read."""
    folder = _model_folder(config.source)
    return pretrained_width(config) if folder is None else width_of(read_config(folder).pretrained)


def is_uncased(config: EncoderConfig) -> bool:
    """Whether the tokenizer of the encoder lowercases text."""
    if config.source == SCRATCH:
        return False
    folder = _model_folder(config.source)
    vocabulary = pretrained_vocabulary(config.source) if folder is None else PieceVocabulary.load(folder)
    return vocabulary.cut(list(ascii_uppercase)) == vocabulary.cut(list(ascii_lowercase))


def _model_folder(source: str) -> Path | None:
    """The folder of the trained model that `source` names, or None."""
    if not source.startswith(BUNDLED):
        folder = Path(source).expanduser()
        if source in bundled_names() and not folder.exists():
            raise AnynerError(
                f"encoder.source: no such folder: {source}; for the encoder of the bundled model write {BUNDLED}{source}"
            )
        return folder if is_model_folder(folder) else None
    bundled = bundled_folder(source.removeprefix(BUNDLED))
    if bundled is None:
        known = f": expected one of {', '.join(bundled_names())}" if bundled_names() else ""
        raise AnynerError(f"encoder.source: no model {source.removeprefix(BUNDLED)!r} is bundled with this installation{known}")
    return bundled


class limited_weights(TorchFunctionMode):  # noqa: N801 - used like a function, in `with`
    """Inside, oversized layers are refused before they are allocated: operating systems promise more memory than they have."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key, self._left = key, _MOST_WEIGHTS

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        try:
            self._left -= numbers_made(func, args, named)
        except (RuntimeError, TypeError):  # overflows a torch integer
            self._left = -1
        if self._left < 0:
            raise AnynerError(f"{self._key}: these settings need more than {_MOST_WEIGHTS:,} weights: use smaller sizes")
        return func(*args, **named)
