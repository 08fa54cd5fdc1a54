"""Runs a model's graphs with ONNX Runtime on a CPU: no torch, no transformers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.numpy_head import READ, TABLE, Arrays, NumpyHead
from anyner.architectures.settings import Decoding
from anyner.encoding.arrays import Integers, arrays_of
from anyner.encoding.pieces import Frame
from anyner.encoding.shapes import ShapeVocabulary
from anyner.errors import AnynerError, first_line
from anyner.text.windows import Window

Floats = NDArray[np.float32]
_INPUTS = ("piece_ids", "piece_mask", "first_piece", "last_piece", "word_mask", "shapes")
BATCH_TOKENS, UNPADDED_BATCH_TOKENS = 256, 512
"""Pieces per batch. Small batches are fastest: activations stay in cache, and short texts need little padding."""
_SLOW_FUSIONS = ["SkipLayerNormFusion", "BiasGeluFusion"]
"""Disabled: on a CPU, addition and normalisation take a fifth of the time of their fused kernel; likewise bias and GELU."""
_MOST_THREADS = 4
"""Default limit, to leave cores to other processes."""


class Sessions:
    """The ONNX Runtime sessions of a model, one per step."""

    def __init__(
        self, graphs: Mapping[str, bytes], weights: Mapping[str, Mapping[str, NDArray[Any]]], where: str, threads: int | None
    ) -> None:
        """`graphs` are ONNX files, `weights` their external tensors; both by the name of the step."""
        self._where = where
        self._sessions: dict[str, Any] = {}
        if READ not in graphs:
            raise AnynerError(f"{where}: there is no graph {READ!r}")
        for step, graph in graphs.items():
            options = _session_options(threads or _threads())
            held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(weight) for name, weight in weights[step].items()}
            if held:
                options.add_external_initializers(list(held), list(held.values()))
            try:
                self._sessions[step] = onnxruntime.InferenceSession(
                    graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOW_FUSIONS
                )
            except Exception as error:  # the library raises a dozen types without a common base
                raise AnynerError(f"{where}: cannot run the graph {step!r}: {first_line(error)}") from None
        self._inputs = {step: [one.name for one in session.get_inputs()] for step, session in self._sessions.items()}
        self._outputs = {step: [one.name for one in session.get_outputs()] for step, session in self._sessions.items()}

    def run(self, step: str, inputs: Arrays) -> dict[str, NDArray[Any]]:
        try:
            values = self._sessions[step].run(self._outputs[step], {name: inputs[name] for name in self._inputs[step]})
        except Exception as error:  # the library raises a dozen types without a common base
            raise AnynerError(f"{self._where}: cannot run the graph {step!r}: {first_line(error)}") from error
        return dict(zip(self._outputs[step], values, strict=True))


def _session_options(threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # a waiting thread leaves the core to others
    options.enable_mem_pattern = False  # plans memory for one shape, and every batch has a new one
    options.log_severity_level = 3  # errors only
    return options


def _threads() -> int:
    named = os.environ.get("OMP_NUM_THREADS", "")
    if named.isdecimal() and int(named):
        return int(named)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_THREADS, allowed)


@dataclass
class OnnxRuntime:
    head: NumpyHead
    frame: Frame
    shapes: ShapeVocabulary | None
    table: Callable[[Integers], Floats] | None
    """Looks up rows of the encoder's embedding; None: the embedding is in the graph."""
    most_pieces: int | None
    draw: Draw
    padded: bool = True

    @property
    def batch_tokens(self) -> int:
        return BATCH_TOKENS if self.padded else UNPADDED_BATCH_TOKENS

    def propose(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        batch = arrays_of(windows, self.frame, self.shapes)
        inputs = {name: getattr(batch, name) for name in _INPUTS}
        if self.table is not None:
            used, inputs["piece_ids"] = renumbered(batch.piece_ids, self.frame.pad)
            inputs[TABLE] = self.table(used)
        read = self.head.run(READ, inputs)
        try:
            if decoding.span_classifier_alone:
                return self.head.propose_by_spans(batch, read, decoding)
            return self.head.propose(batch, read, decoding, self.draw)
        except (KeyError, IndexError, ValueError) as error:  # outputs without the names and shapes that the head expects
            raise AnynerError(f"the graph does not fit the model: {first_line(error)}: run anyner export") from error


def renumbered(pieces: Integers, pad: int) -> tuple[Integers, Integers]:
    """The distinct pieces (N,), and the pieces (B, S) as indices into them. Padding keeps its id: some encoders read it."""
    used = np.flatnonzero(np.bincount(pieces.ravel()))  # np.unique would import masked arrays
    used = used[used != pad]
    places = np.searchsorted(used, pieces)
    places += places >= pad  # make room for padding
    before, behind = used[:pad], used[pad:]
    filled = np.concatenate([before, np.full(pad - len(before) + 1, pad), behind])
    return filled, np.where(pieces == pad, pad, places)
