"""The encoder that a training starts with: a pretrained one, a fresh one, or the one inside a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedModel

from anyner.document import Document
from anyner.encoding.config import EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import pretrained_encoder
from anyner.errors import AnynerError
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.load import is_model_folder, load


def starting_encoder(config: EncoderConfig, documents: Sequence[Document]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder and its pieces; the documents make the vocabulary of a fresh one."""
    folder = _model_folder(config.source)
    if folder is None:
        return pretrained_encoder(config, (document.text for document in documents))
    return load(folder, device="cpu").model.encoder.pretrained, PieceVocabulary.load(folder)


def _model_folder(source: str) -> Path | None:
    """Where the trained model lies that `source` means; None: it means something else."""
    if not source.startswith(BUNDLED):
        folder = Path(source).expanduser()
        if source in bundled_names() and not folder.exists():
            raise AnynerError(
                f"encoder.source: there is no folder {source}; the encoder of the bundled model is {BUNDLED}{source}"
            )
        return folder if is_model_folder(folder) else None
    bundled = bundled_folder(source.removeprefix(BUNDLED))
    if bundled is None:
        known = f": there are {', '.join(bundled_names())}" if bundled_names() else ""
        raise AnynerError(f"encoder.source: no model {source.removeprefix(BUNDLED)!r} is bundled with this installation{known}")
    return bundled
