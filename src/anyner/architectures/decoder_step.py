"""The decoder of an exported model: one step, for heads whose sequences read what their sentences share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from anyner.architectures.base import Step
from anyner.layers.decoder import DecoderShape, Memory
from anyner.layers.sequences import SequencesInGraph

Inputs = Mapping[str, Tensor]
Decode = Callable[[Inputs, Memory, SequencesInGraph], Mapping[str, Tensor]]


def decoder_step(decode: Decode, shape: DecoderShape, sentences: Inputs, sequences: Inputs) -> Step:
    """A step whose inputs are those of sentences, the decoder's memory of them, the places of sequences, and those of sequences.

    `sentences` and `sequences` are examples of two and of four; `mask` (2, S) is that of what the decoder reads. `decode` gets
    all inputs by name, and from them the memory and the sequences.
    """
    size = (2, shape.heads, sentences["mask"].shape[1], shape.head_width)
    memory = Memory(tuple((torch.zeros(size), torch.zeros(size)) for _ in range(shape.layers)), None).named()
    grid = {
        "sentence": torch.tensor([0, 0, 0, 1]),
        "place": torch.tensor([0, 1, 2, 3]),
        "grid": torch.tensor([[0, 1, 2], [3, 4, 4]]),
    }
    examples = {**sentences, **memory, **grid, **sequences}
    varying = {name: (0, 2) if name in memory else (0,) if value.dim() == 1 else (0, 1) for name, value in examples.items()}

    def function(*inputs: Tensor) -> Mapping[str, Tensor]:
        given = dict(zip(examples, inputs, strict=True))
        known = [given[name] for name in memory]
        remembered = Memory(tuple(zip(known[::2], known[1::2], strict=True)), given["mask"])
        return decode(given, remembered, SequencesInGraph(given["sentence"], given["place"], given["grid"]))

    return Step(function, examples, varying)
