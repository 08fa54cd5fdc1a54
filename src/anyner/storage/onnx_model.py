"""Loads a recognizer that runs the graph of a model folder, without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from anyner.architectures.draw import Draw
from anyner.architectures.numpy_head import READ
from anyner.architectures.registry import numpy_head_class
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.shapes import ShapeVocabulary
from anyner.errors import AnynerError
from anyner.inference.config import ModelConfig
from anyner.inference.onnx_runtime import OnnxRuntime, Sessions
from anyner.inference.recognizer import Recognizer
from anyner.storage.format import current_name, head_config_of
from anyner.storage.graph import INDEX, INT8, TRANSPOSED, Graph, graph_bytes, graph_file
from anyner.storage.weights import INT8_COLUMNS, INT8_SCALES, Array, Weights, weights_file


def loaded(folder: Path, config: ModelConfig, graph: Graph, threads: int | None, *, int8: bool) -> Recognizer:
    """`int8`: with the first step in int8, which the graph must have."""
    path = weights_file(folder)
    head_type = numpy_head_class(config.architecture)
    head_config = head_config_of(config, folder)
    vocabulary = PieceVocabulary.load(folder)
    vocabulary.check_fits(graph.pieces, str(folder))
    shapes = ShapeVocabulary.load(folder) if config.encoder.word_shapes else None
    stored = Weights(path)
    stored.check(config.weights_sha256)
    names = {current_name(config.architecture, name): name for name in stored}
    asked = {**graph.weights, READ: graph.int8} if int8 else graph.weights
    taken = {step: _weights(stored, names, own, path) for step, own in asked.items()}
    files = {step: graph_bytes(folder, INT8 if int8 and step == READ else graph_file(step), own) for step, own in asked.items()}
    sessions = Sessions(files, taken, str(folder), threads)
    head = head_type(head_config, config.labels, sessions.run)
    table = None
    if graph.table is not None:
        if graph.table not in names:
            raise AnynerError(f"{path}: does not fit {INDEX}: {graph.table} is missing")
        table = stored.rows(names[graph.table])
    runtime = OnnxRuntime(head, vocabulary.frame, shapes, table, graph.most_pieces, Draw(config.seed), padded=not int8)
    return Recognizer(runtime, vocabulary, config)


def _weights(stored: Weights, names: dict[str, str], asked: tuple[str, ...], path: Path) -> dict[str, Array]:
    """The weights that a graph requests by these names; `names` maps current names to stored ones."""
    taken: dict[str, Array] = {}
    for name in asked:
        ending = next((one for one in (TRANSPOSED, INT8_COLUMNS, INT8_SCALES) if name.endswith(one) and name not in names), "")
        whole = name.removesuffix(ending)
        own = names.get(whole)
        if own is None:
            raise AnynerError(f"{path}: does not fit {INDEX}: {name} is missing")
        if ending and len(stored.shapes[own]) != 2:
            raise AnynerError(f"{path}: does not fit {INDEX}: {name} cannot be of shape {stored.shapes[own]}")
        if not ending:
            taken[name] = stored[own]
        elif ending == TRANSPOSED:
            taken[name] = np.ascontiguousarray(stored[own].T)
        elif name not in taken:
            taken[whole + INT8_COLUMNS], taken[whole + INT8_SCALES] = stored.columns(own)
    return taken
