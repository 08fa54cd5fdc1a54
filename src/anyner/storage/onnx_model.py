"""A model folder with a graph -> a recognizer that runs it without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from anyner.architectures.registry import numpy_head_class
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.shapes import ShapeVocabulary
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.onnx_runtime import OnnxRuntime, Reader, Sessions
from anyner.inference.recognizer import Recognizer
from anyner.storage.format import current_name, head_config_of
from anyner.storage.graph import INDEX, TRANSPOSED, Graph, graph_bytes
from anyner.storage.weights import Array, Weights, weights_file


def loaded(folder: Path, config: ModelConfig, graph: Graph, threads: int | None) -> Recognizer:
    path = weights_file(folder)
    head_type = numpy_head_class(config.architecture)
    head_config = head_config_of(config, folder)
    vocabulary = PieceVocabulary.load(folder)
    vocabulary.check_fits(graph.pieces, str(folder))
    shapes = ShapeVocabulary.load(folder) if config.encoder.word_shapes else None
    stored = Weights(path)
    stored.check(config.weights_sha256)
    names = {current_name(config.architecture, name): name for name in stored}
    taken = {step: {name: _weight(stored, names, name, path) for name in own} for step, own in graph.weights.items()}
    files = {step: graph_bytes(folder, step, own) for step, own in graph.weights.items()}
    sessions = Sessions(files, taken, str(folder), threads)
    head = head_type(head_config, config.labels, sessions.run)
    table = None
    if graph.table is not None:
        if graph.table not in names:
            raise AnynerError(f"{path}: does not fit {INDEX}: {graph.table} is missing")
        table = stored.rows(names[graph.table])
    reader = Reader(sessions.run, vocabulary.frame, shapes, table)
    return Recognizer(OnnxRuntime(head, reader, graph.most_pieces, config.seed), vocabulary, config)


def _weight(stored: Weights, names: dict[str, str], name: str, path: Path) -> Array:
    """What a graph calls by that name; `names` are the stored ones of today's."""
    if name in names:
        return stored[names[name]]
    whole = names.get(name.removesuffix(TRANSPOSED))
    if whole is None or not name.endswith(TRANSPOSED):
        raise AnynerError(f"{path}: does not fit {INDEX}: {name} is missing")
    return np.ascontiguousarray(stored[whole].T)
