"""The graph in int8: the weights of the model, results that do not depend on the batch, and an honest check of what it costs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from safetensors.numpy import save_file

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.export import int8, parity
from anyner.export.int8 import add_int8, remove_int8
from anyner.export.parity import Parity, add_checked_int8, compared_int8
from anyner.inference.onnx_runtime import Sessions
from anyner.storage.graph import INDEX, INT8, graph_of
from anyner.storage.save import save
from anyner.storage.weights import INT8_COLUMNS, Weights

TEXTS = [
    "Angela Merkel met executives of Siemens in Munich, and later of IBM in New York.",
    "Normal and malignant B cells express CD23 mRNA and the interleukin-2 receptor alpha chain.",
    "Rome",
    "",
]
FOUND = Parity(4, 9, 0, 0.0, 1.0)


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "model"))


@pytest.mark.parametrize("model", ["general-en", "biomed-en"])
def test_a_bundled_model_in_int8_finds_the_same_whatever_the_batch(model: str) -> None:
    in_onnx, in_int8 = (anyner.load(model, runtime=runtime) for runtime in ("onnx", "int8"))
    one_by_one = [in_int8.predict(text) for text in TEXTS]
    assert in_int8.predict(TEXTS) == one_by_one
    assert in_int8.predict(TEXTS[::-1], batch_tokens=16_384) == one_by_one[::-1]
    expected = in_onnx.predict(TEXTS)
    assert [[one.key for one in document.entities] for document in one_by_one] == [
        [one.key for one in document.entities] for document in expected
    ]
    scores = [[entity.score for document in own for entity in document.entities] for own in (expected, one_by_one)]
    assert scores[1] == pytest.approx(scores[0], abs=0.1)
    assert scores[1] != pytest.approx(scores[0], abs=1e-6), "it is another graph"


@pytest.mark.parametrize("form", ["float32", "bfloat16", "int8"])
def test_weights_are_rounded_with_a_scale_for_each_column(copied: Path, form: str) -> None:
    save(anyner.load(copied, runtime="torch"), copied, overwrite=True, weights=form)  # type: ignore[arg-type]
    weights = Weights(copied / "model.safetensors")
    name = next(name for name in weights if name.startswith("encoder.") and len(weights.shapes[name]) == 2)
    columns, scales = weights.columns(name)
    assert columns.dtype == np.int8 and columns.shape == weights.shapes[name][::-1]
    assert np.abs(columns).max(0) == pytest.approx(96), "in 16 bits there is room for 2 * 96 * 169"
    assert np.abs(columns * scales - weights[name].T).max() <= scales.max() / 2 * 1.001


def test_a_product_is_that_of_rounded_rows_and_columns(tmp_path: Path) -> None:
    """A brute-force oracle for the nodes of one product, with a row of zeros and rows of very different sizes."""
    random = np.random.default_rng(0)
    rows = (random.normal(size=(2, 3, 8)) * [[[1.0], [1e-3], [0.0]], [[50.0], [1.0], [1e4]]]).astype(np.float32)
    table = random.normal(size=(5, 8)).astype(np.float32)
    given = ir.Value(name="rows", shape=ir.Shape([2, 3, 8]), type=ir.TensorType(ir.DataType.FLOAT))
    weight = ir.Value(name="encoder.one.T", shape=ir.Shape([8, 5]), type=ir.TensorType(ir.DataType.FLOAT))
    weight.const_value = ir.Tensor(table.T.copy(), name="encoder.one.T")
    product = ir.node("MatMul", [given, weight])
    product.outputs[0].name, product.outputs[0].type = "out", ir.TensorType(ir.DataType.FLOAT)
    own = ir.node("Identity", [product.outputs[0]])
    own.outputs[0].name, own.outputs[0].type = "product", ir.TensorType(ir.DataType.FLOAT)
    graph = ir.Graph(
        [given], own.outputs, nodes=[product, own], initializers=[weight], opset_imports={"": 18, "com.microsoft": 1}
    )
    assert set(int8._Int8(graph).replace_products()) == {"encoder.one.T"}
    save_file({"encoder.one": table}, tmp_path / "model.safetensors")
    columns, scales = Weights(tmp_path / "model.safetensors").columns("encoder.one")
    ir.save(ir.Model(graph, ir_version=10), tmp_path / "graph.onnx")
    weights = {"encoder.one.int8_columns": columns, "encoder.one.int8_scales": scales}
    sessions = Sessions({"read": (tmp_path / "graph.onnx").read_bytes()}, {"read": weights}, "here", 1)
    found = sessions.run("read", {"rows": rows})["product"]
    largest = np.abs(rows).max(-1, keepdims=True)
    whole = np.rint(np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0) * 84)
    assert found == pytest.approx((whole @ columns) * (largest / 84) * scales, rel=1e-5, abs=1e-7)
    assert found == pytest.approx(rows @ table.T, abs=0.05 * 1e4) and not found[0, 2].any()


def test_it_is_added_checked_and_removed(copied: Path) -> None:
    with pytest.raises(AnynerError, match=r"no graph in int8: run anyner export .* --int8"):
        anyner.load(copied, runtime="int8")
    documents = synthetic(12, contiguous=True).documents
    found = add_checked_int8(copied, FOUND, documents)
    assert found.holds and found.documents == 12 and found.f1 > 0.5
    assert json.loads((copied / "parity.json").read_text(encoding="utf-8"))["int8"]["f1"] == found.f1
    assert anyner.load(copied, runtime="int8").predict(documents[0].text).entities
    kinds = {node.op_type for node in onnx.load(copied / INT8, load_external_data=False).graph.node}
    assert "MatMulIntegerToFloat" in kinds
    remove_int8(copied)
    own = graph_of(copied)
    assert own is not None and not own.int8 and not (copied / INT8).exists()
    assert anyner.load(copied, runtime="onnx").predict(documents[0].text).entities


def test_it_does_not_stay_where_it_costs_too_much(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "MOST_LOST", -1.0)
    with pytest.raises(AnynerError, match="no int8 graph: it loses more than"):
        add_checked_int8(copied, FOUND, synthetic(4, contiguous=True).documents)
    assert not (copied / INT8).exists()
    own = graph_of(copied)
    assert own is not None and not own.int8, "the other graph stays"


def test_it_is_checked_on_gold_entities(copied: Path) -> None:
    add_int8(copied)
    both = [anyner.load(copied, runtime=runtime) for runtime in ("onnx", "int8")]
    with pytest.raises(AnynerError, match="these documents have none"):
        compared_int8(*both, [Document("Rome")])
    found = compared_int8(*both, [Document("Rome", (Entity("no such label", ((0, 4),)),))])
    assert (found.f1, found.f1_in_float32, found.holds) == (0.0, 0.0, True)


def test_a_weight_that_cannot_be_packed_is_one_line(copied: Path) -> None:
    add_int8(copied)
    plain = json.loads((copied / INDEX).read_text(encoding="utf-8"))
    vector = next(name for name in plain["weights"]["read"] if name.endswith("bias"))
    plain["int8"].append(vector + INT8_COLUMNS)
    (copied / INDEX).write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(AnynerError, match="cannot be of shape"):
        anyner.load(copied, runtime="int8")
