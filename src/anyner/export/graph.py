"""The graph of a model: its networks in ONNX, without weights. Made by torch's exporter, which traces the tensors."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx_ir as ir
import torch
from onnxscript import optimizer
from torch import Tensor, nn

from anyner.architectures.base import Step
from anyner.architectures.numpy_head import READ, TABLE
from anyner.architectures.registry import numpy_head_class
from anyner.encoding.batch import Batch
from anyner.encoding.pieces import LONGEST_WORD
from anyner.encoding.untrusted import read_json
from anyner.errors import AnynerError, first_line
from anyner.export.attention import TRANSLATIONS
from anyner.inference.recognizer import Recognizer
from anyner.model import NerModel
from anyner.storage.files import CONFIG, WEIGHTS, write_text
from anyner.storage.graph import INDEX, TRANSPOSED, Graph, graph_file, remove_graph, settings_hash

_LARGEST_CONSTANT = 1 << 20
"""Bytes. The graph may hold small computed tables; a larger constant would be a weight that has lost its name."""
_LARGEST_PAD = 1024
"""With a larger padding id the embedding table is no input: padding keeps its id, so every batch would take as many rows."""
_MODEL = "model."


class _Recorded:
    """What a step records while it is traced; the exporter would restore attributes of the step itself."""

    outputs: tuple[str, ...] = ()


class _Traced(nn.Module):
    """A step with the model, for the names of its weights. Records the names of its outputs when it runs."""

    def __init__(self, model: NerModel, step: Step) -> None:
        super().__init__()
        self.model, self.recorded, self._step = model, _Recorded(), step

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        outputs = self._step.function(*inputs)
        self.recorded.outputs = tuple(outputs)
        return tuple(outputs.values())


def add_graph(recognizer: Recognizer, folder: Path) -> Graph:
    """Writes the graph of the model in a folder, which the recognizer runs in torch, next to its weights."""
    try:
        return _written(recognizer, folder)
    except AnynerError:
        raise
    except Exception as error:  # the exporter and its optimizer fail in many ways; a finished training must not fail with them
        raise AnynerError(f"the model cannot be exported: {first_line(error)}") from error


def _written(recognizer: Recognizer, folder: Path) -> Graph:
    model = recognizer.model.eval()
    architecture = recognizer.config.architecture
    numpy_head_class(architecture)  # an error if there is none
    steps = {READ: reading_step(model, has_cls=bool(recognizer.vocabulary.frame.prefix)), **model.head.steps()}
    programs = {name: _exported(model, step, name) for name, step in steps.items()}
    tokens = model.encoder.tables.tokens
    table = model.embedding if recognizer.vocabulary.frame.pad <= _LARGEST_PAD else None
    stored, weights, taken_out = set(model.state_dict()), dict[str, tuple[str, ...]](), False
    remove_graph(folder)
    with TemporaryDirectory(dir=folder, prefix=".new.") as temporary:
        for name, program in programs.items():
            weights[name], has_table = _without_weights(program, stored, name, table if name == READ else None)
            taken_out |= has_table
            ir.save(program, Path(temporary) / graph_file(name))
        for file in list(Path(temporary).iterdir()):
            file.replace(folder / file.name)
    graph = Graph(
        config_sha256=settings_hash(read_json(folder / CONFIG)),
        most_pieces=model.encoder.most_pieces,
        pieces=tokens.num_embeddings,
        table=table if taken_out else None,
        weights=weights,
    )
    write_text(folder / INDEX, graph.model_dump_json(indent=1) + "\n")
    return graph


def reading_step(model: NerModel, has_cls: bool) -> Step:
    """The first step: from pieces to what the head reads of the words."""

    def read(*inputs: Tensor) -> Mapping[str, Tensor]:
        named: dict[str, Any] = dict(zip(examples, inputs, strict=True))
        order = torch.arange(inputs[0].shape[0])
        batch = Batch(
            **named,
            packed=order,
            unpacked=order,
            lengths=(1, 2),  # not known in a graph: rows differ in length, so masks are needed
            piece_lengths=(1, 2),
            most_pieces=LONGEST_WORD,
            has_cls=has_cls,
            windows=(),
        )
        outputs = model.head.read(model.encoder(batch))
        if not outputs:
            raise AnynerError("nothing to export")
        return outputs

    # three windows of five words, six pieces and two special pieces
    first = torch.arange(1, 6).repeat(3, 1)  # (3, 5)
    piece_mask, word_mask = torch.ones(3, 8, dtype=torch.bool), torch.ones(3, 5, dtype=torch.bool)
    piece_mask[1, 6:], word_mask[1, 3:] = False, False
    examples = {
        "piece_ids": torch.zeros(3, 8, dtype=torch.long),
        "piece_mask": piece_mask,
        "first_piece": first,
        "last_piece": first.clone(),  # the exporter would merge two inputs with the same tensor
        "word_mask": word_mask,
    }
    if model.encoder.shapes is not None:
        examples["shapes"] = torch.zeros(3, 5, dtype=torch.long)
    return Step(read, examples, dict.fromkeys(examples, (0, 1)))


def _exported(model: NerModel, step: Step, name: str) -> ir.Model:
    """The program of a step, not yet optimised, with the weights in it."""
    module = _Traced(model, step).eval()
    inputs, dynamic = tuple(step.examples.values()), torch.export.Dim.DYNAMIC
    varying = tuple(dict.fromkeys(step.varying[own], dynamic) for own in step.examples)
    try:
        with torch.no_grad(), _quiet():
            how: dict[str, Any] = {"dynamo": True, "input_names": list(step.examples), "optimize": False, "verbose": False}
            how["custom_translation_table"] = TRANSLATIONS
            if model.encoder.config.lstm_layers:  # slower, but a BiLSTM stays one
                program = torch.onnx.export(module, inputs, dynamic_shapes=(varying,), **how)
            else:
                program = torch.onnx.export(torch.export.export(module, inputs, dynamic_shapes=(varying,), strict=False), **how)
    except Exception as error:  # every encoder fails in its own way
        if isinstance(error, AnynerError) or "nothing to export" in str(error):
            raise AnynerError("the model cannot be exported with its settings: it runs in torch only") from None
        raise AnynerError(f"the step {name!r} of the model cannot be exported: {first_line(error)}") from None
    assert program is not None
    for own, output in zip(module.recorded.outputs, program.model.graph.outputs, strict=True):
        output.name = own
    return program.model


def _without_weights(model: ir.Model, stored: set[str], step: str, table: str | None) -> tuple[tuple[str, ...], bool]:
    """Optimises a program and takes the stored weights out of it; returns their names, and whether the `table` is now an input.

    The weights are inputs during the optimisation: nothing may be precomputed from them, as the graph must hold for others.
    """
    graph, weights = model.graph, {}
    for name, value in list(graph.initializers.items()):
        if name.removeprefix(_MODEL) in stored:
            weights[name.removeprefix(_MODEL)] = value
            value.const_value = None
            del graph.initializers[name]
            graph.inputs.append(value)
    optimizer.optimize(model)
    taken: dict[str, ir.Value] = {}
    has_table = False
    for name, value in weights.items():
        if name == table and all(node.op_type == "Gather" and place == 0 for node, place in value.uses()):
            value.name, value.shape, has_table = TABLE, ir.Shape(["used pieces", *(value.shape or ())[1:]]), True
            continue
        graph.inputs.remove(value)
        for node in [node for node, _ in value.uses() if node.op_type == "Transpose" and len(value.shape or ()) == 2]:
            turned = node.outputs[0]
            new = taken.setdefault(name + TRANSPOSED, ir.Value(shape=turned.shape, type=turned.type))
            ir.convenience.replace_all_uses_with(turned, new)
            graph.remove(node, safe=True)
        if value.uses():
            taken[name] = value
    large = [name for name, own in graph.initializers.items() if own.const_value and own.const_value.nbytes > _LARGEST_CONSTANT]
    if large:
        raise AnynerError(f"the step {step!r} of the model cannot be exported: it has a table, {large[0]}, that is not a weight")
    graph.metadata_props.clear()
    for node in graph:  # source locations
        node.metadata_props.clear()
        node.doc_string = None
        for output in node.outputs:
            output.metadata_props.clear()
    for name, value in taken.items():
        _make_external(graph, name, value)
    return tuple(taken), has_table


def _make_external(graph: ir.Graph, name: str, value: ir.Value) -> None:
    value.name = name
    shape, dtype = value.shape, value.dtype
    assert shape is not None and dtype is not None
    fixed = ir.Shape([int(side) for side in shape])  # type: ignore[arg-type]
    value.shape = fixed
    value.const_value = ir.ExternalTensor(WEIGHTS, 0, 0, dtype, shape=fixed, name=name)
    graph.register_initializer(value)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the logs and warnings of the exporter."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
