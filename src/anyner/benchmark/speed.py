"""How fast a model predicts, as ratios within one run on the same documents.

device ratio      encoder + head, tensors ready, to proposals, over the encoder alone
end to end        documents in, documents out, in sentences a second
end-to-end ratio  the same over tokenising and encoding the documents
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from anyner.benchmark.record import header
from anyner.corpora.neighbours import neighbours_attached
from anyner.document import Document
from anyner.encoding.batch import Batch, batch_of
from anyner.inference.batching import batches, longest_first, window_size
from anyner.inference.proposing import arithmetic
from anyner.inference.recognizer import Choice, Recognizer

DEVICE_TOKENS = 65_536
"""Batches for the device ratio are this large, so that the device and not the launching of its kernels is measured."""


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The fastest of several runs: what the work needs when nothing disturbs it."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def device_batches(recognizer: Recognizer, documents: tuple[Document, ...], tokens: int) -> list[Batch]:
    windows = recognizer.windows(documents)
    sizes = [window_size(window) for window in windows]
    frame = recognizer.vocabulary.frame
    device, features = recognizer.proposer.device, recognizer.model.encoder.features
    return [
        batch_of([windows[i] for i in places], frame, recognizer.proposer.prompt, features).to(device)
        for places in batches(sizes, longest_first(windows), tokens)
    ]


def with_neighbours(recognizer: Recognizer, documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """The documents as the model reads them: with neighbouring sentences if it was trained with them."""
    context = recognizer.config.text.context
    return neighbours_attached(documents, context) if context else documents


def speed(
    recognizer: Recognizer, documents: tuple[Document, ...], corpus: str, tokens: int | None = None, repeats: int = 5
) -> dict[str, Any]:
    """`corpus` is what the documents are called."""
    tokens = recognizer.batch_tokens if tokens is None else tokens
    return {
        **header("speed"),
        "architecture": recognizer.config.architecture,
        "encoder": Path(recognizer.config.encoder.source).name,
        "corpus": corpus,
        "documents": len(documents),
        "batch_tokens": tokens,
        "device_ratio_batch_tokens": DEVICE_TOKENS,
        **_measured(recognizer, with_neighbours(recognizer, documents), tokens, repeats),
    }


def _measured(recognizer: Recognizer, documents: tuple[Document, ...], tokens: int, repeats: int) -> dict[str, float]:
    model, decoding, draw = recognizer.model.eval(), recognizer.decoding(Choice()), recognizer.proposer.draw
    device, precision = recognizer.proposer.device, recognizer.proposer.precision
    ready = device_batches(recognizer, documents, DEVICE_TOKENS)

    @torch.no_grad()
    def encode(prepared: list[Batch]) -> None:
        with arithmetic(device, precision):
            for batch in prepared:
                model.encoder.encode(batch)

    @torch.no_grad()
    def propose() -> None:
        with arithmetic(device, precision):
            for batch in ready:
                model.propose(batch, decoding, draw)

    encoder_alone = best_seconds(lambda: encode(ready), repeats)
    to_proposals = best_seconds(propose, repeats)
    tokenise_and_encode = best_seconds(lambda: encode(device_batches(recognizer, documents, tokens)), repeats)
    end_to_end = best_seconds(lambda: list(recognizer.stream(documents, batch_tokens=tokens)), repeats)
    return {
        "device_ratio": round(to_proposals / encoder_alone, 3),
        "end_to_end_sentences_per_second": round(len(documents) / end_to_end, 1),
        "end_to_end_ratio": round(end_to_end / tokenise_and_encode, 3),
        "encoder_alone_seconds": round(encoder_alone, 4),
        "to_proposals_seconds": round(to_proposals, 4),
        "tokenise_and_encode_seconds": round(tokenise_and_encode, 4),
        "end_to_end_seconds": round(end_to_end, 4),
    }
