"""The int8 graph of a model: the matrix products of its encoder are quantized and take a fraction of the time.

Every input row of a layer and every column of its weights is quantized with a scale of its own, so the result of a row does not
depend on other rows. Rounding magnifies the tiny differences that padding causes, so only windows of the same size share a batch:
then results do not depend on the batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir

from anyner.architectures.numpy_head import READ
from anyner.errors import AnynerError
from anyner.storage.files import WEIGHTS, write_text
from anyner.storage.graph import INDEX, INT8, TRANSPOSED, graph_file, graph_of
from anyner.storage.weights import INT8_COLUMNS, INT8_SCALES

_ENCODER = "encoder."
_MICROSOFT = "com.microsoft"
_LARGEST_ROW = 84
"""Largest quantized value of a row. Many processors sum pairs of products in 16 bits, which 2 * 96 * (2 * 84 + 1) fits."""


def add_int8(folder: Path) -> None:
    """Adds the int8 graph to a folder that has a graph."""
    graph = graph_of(folder)
    if graph is None:
        raise AnynerError(f"{folder}: no graph to quantize: run anyner export first")
    program = ir.load(folder / graph_file(READ))
    program.graph.opset_imports[_MICROSOFT] = 1
    replaced = _Int8(program.graph).replace_products()
    if not replaced:
        raise AnynerError(f"{folder}: the encoder has no matrix product to quantize")
    names = [name for name in graph.weights[READ] if name not in replaced]
    names += [value.name or "" for pair in replaced.values() for value in pair]
    ir.save(program, folder / INT8)
    write_text(folder / INDEX, graph.model_copy(update={"int8": tuple(names)}).model_dump_json(indent=1) + "\n")


def remove_int8(folder: Path) -> None:
    graph = graph_of(folder)
    if graph is not None:
        write_text(folder / INDEX, graph.model_copy(update={"int8": ()}).model_dump_json(indent=1) + "\n")
    (folder / INT8).unlink(missing_ok=True)


class _Int8:
    """Replaces matrix products in a graph with int8 products."""

    def __init__(self, graph: ir.Graph) -> None:
        self._graph = graph
        self._rows: dict[ir.Value, tuple[ir.Value, ir.Value]] = {}
        self._weights: dict[str, tuple[ir.Value, ir.Value]] = {}
        self._axis = self._constant("int8_axis", np.array([-1], np.int64))
        self._step = self._constant("int8_step", np.array(1 / _LARGEST_ROW, np.float32))
        self._zero = self._constant("int8_zero", np.array(_LARGEST_ROW + 1, np.uint8))

    def replace_products(self) -> dict[str, tuple[ir.Value, ir.Value]]:
        """The replaced weights by name, with what replaces them: int8 columns and scales."""
        for node in [node for node in self._graph if node.op_type == "MatMul" and _fits(node.inputs[1])]:
            rows, weight = node.inputs
            assert rows is not None and weight is not None and weight.name is not None and weight.shape is not None
            if weight.name not in self._weights:
                inputs, outputs = weight.shape.numpy()
                self._weights[weight.name] = self._columns(weight.name.removesuffix(TRANSPOSED), inputs, outputs)
            if rows not in self._rows:
                self._rows[rows] = self._rounded(node, rows)
            whole, largest = self._rows[rows]
            columns, scales = self._weights[weight.name]
            sides = (whole, columns, self._step, scales, self._zero)
            product = self._before(node, "MatMulIntegerToFloat", *sides, domain=_MICROSOFT)
            scaled = self._before(node, "Mul", product, largest)
            scaled.shape, scaled.type = node.outputs[0].shape, node.outputs[0].type
            ir.convenience.replace_all_uses_with(node.outputs[0], scaled)
            self._graph.remove(node, safe=True)
        for name in self._weights:
            del self._graph.initializers[name]
        return self._weights

    def _rounded(self, node: ir.Node, rows: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Rows over their largest absolute value, in steps of 1/84, and those values. Rows of zeros become anything, times 0."""
        largest = self._before(node, "ReduceMax", self._before(node, "Abs", rows), self._axis)
        return self._before(node, "QuantizeLinear", self._before(node, "Div", rows, largest), self._step, self._zero), largest

    def _before(self, place: ir.Node, kind: str, *inputs: ir.Value, domain: str = "") -> ir.Value:
        node = ir.node(kind, list(inputs), domain=domain)
        self._graph.insert_before(place, node)
        return node.outputs[0]

    def _columns(self, name: str, inputs: int, outputs: int) -> tuple[ir.Value, ir.Value]:
        """A table (inputs, outputs) and its scales (outputs,) as external weights."""
        columns = self._external(name + INT8_COLUMNS, ir.DataType.INT8, (inputs, outputs))
        return columns, self._external(name + INT8_SCALES, ir.DataType.FLOAT, (outputs,))

    def _external(self, name: str, kind: ir.DataType, sizes: tuple[int, ...]) -> ir.Value:
        shape = ir.Shape(sizes)
        content = ir.ExternalTensor(WEIGHTS, 0, 0, kind, shape=shape, name=name)
        return self._registered(ir.Value(name=name, shape=shape, type=ir.TensorType(kind), const_value=content))

    def _constant(self, name: str, number: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> ir.Value:
        tensor = ir.Tensor(number, name=name)
        return self._registered(ir.Value(name=name, shape=tensor.shape, type=ir.TensorType(tensor.dtype), const_value=tensor))

    def _registered(self, value: ir.Value) -> ir.Value:
        self._graph.register_initializer(value)
        return value


def _fits(weight: ir.Value | None) -> bool:
    """Whether it is an encoder matrix that rows are multiplied by."""
    if weight is None or weight.name is None or weight.shape is None:
        return False
    return weight.name.startswith(_ENCODER) and weight.name.endswith(TRANSPOSED) and len(weight.shape) == 2
