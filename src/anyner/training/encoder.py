"""The encoder of a training: where it comes from, and its cached output while it is frozen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from anyner.document import Document
from anyner.encoding.batch import batch_of
from anyner.encoding.config import EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import pretrained_encoder
from anyner.errors import AnynerError
from anyner.inference.batching import batches, window_size
from anyner.inference.proposing import Proposer, arithmetic
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.load import is_model_folder, load
from anyner.text.windows import Window


def starting_encoder(config: EncoderConfig, documents: Sequence[Document]) -> tuple[PreTrainedModel, PieceVocabulary]:
    """The encoder and its vocabulary, which is learned from the documents if the encoder is trained from scratch."""
    folder = _model_folder(config.source)
    if folder is None:
        return pretrained_encoder(config, (document.text for document in documents))
    return load(folder, device="cpu").model.encoder.pretrained, PieceVocabulary.load(folder)


def _model_folder(source: str) -> Path | None:
    """The folder of the trained model that `source` names, or None."""
    if not source.startswith(BUNDLED):
        folder = Path(source).expanduser()
        if source in bundled_names() and not folder.exists():
            raise AnynerError(
                f"encoder.source: there is no folder {source}; for the encoder of the bundled model write {BUNDLED}{source}"
            )
        return folder if is_model_folder(folder) else None
    bundled = bundled_folder(source.removeprefix(BUNDLED))
    if bundled is None:
        known = f": there are {', '.join(bundled_names())}" if bundled_names() else ""
        raise AnynerError(f"encoder.source: no model {source.removeprefix(BUNDLED)!r} is bundled with this installation{known}")
    return bundled


class FrozenPieces:
    """The output of the frozen encoder for every training window, computed once and kept on its device: ten frozen epochs cost
    about as much as one."""

    @torch.no_grad()
    def __init__(self, proposer: Proposer, windows: Sequence[Window], batch_tokens: int) -> None:
        model, device = proposer.model, proposer.device
        kept: list[Tensor | None] = [None] * len(windows)
        sizes = [window_size(window) + proposer.extra for window in windows]
        training = model.training
        model.eval()
        for places in batches(sizes, sorted(range(len(sizes)), key=sizes.__getitem__), batch_tokens):
            batch = batch_of([windows[place] for place in places], proposer.vocabulary.frame, proposer.prompt)
            with arithmetic(device, proposer.precision):
                pieces = model.encoder.encode(batch.to(device))
            for place, row, length in zip(places, pieces, batch.piece_lengths, strict=True):
                kept[place] = row[:length].clone()
        model.train(training)
        self._kept = [pieces for pieces in kept if pieces is not None]

    def batch(self, places: Sequence[int]) -> Tensor:
        """(B, S, d) for these windows, padded with zeros."""
        return pad_sequence([self._kept[place] for place in places], batch_first=True)
