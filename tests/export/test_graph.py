"""The graph in a model folder: small, without weights, and only used for the model that it was made for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.storage.graph import INDEX, graph_of
from anyner.storage.save import save
from anyner.training.progress import Listener

TEXT = " ".join(one.text for one in synthetic(8, contiguous=True))
BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "accelerate", "scipy", "onnx", "onnxscript", "onnx_ir"):
            raise ModuleNotFoundError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Block())
"""


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "model"))


def test_prediction_needs_no_torch(copied: Path) -> None:
    code = BLOCKED + "import json, anyner; print(json.dumps(anyner.load(sys.argv[1]).predict(sys.argv[2]).to_json()))"
    done = subprocess.run([sys.executable, "-c", code, str(copied), TEXT], capture_output=True, text=True, check=True)
    in_torch = anyner.load(copied, runtime="torch").predict(TEXT)
    found = json.loads(done.stdout)["entities"]
    assert [(one["label"], one["fragments"]) for one in found] == [
        (one.label, [list(fragment) for fragment in one.fragments]) for one in in_torch.entities
    ]
    assert found


def test_commands_need_no_torch(copied: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "dev.jsonl"
    anyner.write([anyner.load(copied, runtime="torch").predict(TEXT)], corpus, "jsonl")
    for command in (["predict", TEXT, "-m", str(copied)], ["evaluate", str(copied), str(corpus)], ["models"]):
        code = BLOCKED + f"sys.argv = ['anyner', *{command!r}]; from anyner.cli.main import run; run()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_a_graph_holds_no_weights_and_holds_for_all_weights(copied: Path) -> None:
    """Other weights in the same folder give the other model's entities."""
    assert (copied / "graph.onnx").stat().st_size < (copied / "model.safetensors").stat().st_size / 2
    in_torch = anyner.load(copied, runtime="torch")
    before = anyner.load(copied, runtime="onnx").predict(TEXT).entities
    for weight in in_torch.model.parameters():
        weight.data.mul_(0.97)
    graph = {path.name: path.read_bytes() for path in (*copied.glob("graph*"),)}
    save(in_torch, copied, overwrite=True)
    assert graph_of(copied) is None, "a saved model has no graph yet"
    for name, content in graph.items():
        (copied / name).write_bytes(content)
    found, expected = (anyner.load(copied, runtime=runtime).predict(TEXT).entities for runtime in ("onnx", "torch"))
    assert [one.key for one in found] == [one.key for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert [one.score for one in found] != pytest.approx([one.score for one in before], abs=1e-5)


@pytest.mark.slow
def test_an_export_that_fails_is_one_line_and_leaves_no_graph(
    copied: Path, export_after_training: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any failure is only a note: the training is over and its model is good."""

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("a pass failed\nand more")

    monkeypatch.setattr("anyner.export.graph.ir.save", failing)
    lines: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "note", lines.append)
    export_after_training(copied, listener)
    assert lines == ["note: not exported for prediction without torch: the model cannot be exported: a pass failed"]
    assert graph_of(copied) is None


def test_a_graph_of_other_settings_is_not_used(copied: Path) -> None:
    plain = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    plain["encoder"]["pooling"] = "first_last_max"
    (copied / "config.json").write_text(json.dumps(plain), encoding="utf-8")
    assert hasattr(anyner.load(copied).runtime, "model")
    with pytest.raises(AnynerError, match=f"its {INDEX} was made for other settings: run anyner export"):
        anyner.load(copied, runtime="onnx")


def test_auto_takes_the_graph_on_a_cpu_and_torch_without_one(copied: Path) -> None:
    assert not hasattr(anyner.load(copied, device="cpu").runtime, "model")
    assert hasattr(anyner.load(copied, precision="bfloat16").runtime, "model")
    (copied / INDEX).unlink()
    assert hasattr(anyner.load(copied, device="cpu").runtime, "model")
    with pytest.raises(AnynerError, match=f"no {INDEX}: run anyner export"):
        anyner.load(copied, runtime="onnx")


def test_what_cannot_be_done_is_said(copied: Path) -> None:
    with pytest.raises(AnynerError, match="runtime: expected one of auto, torch, onnx, int8, got 'tensorflow'"):
        anyner.load(copied, runtime="tensorflow")  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match="runs only on a CPU in float32"):
        anyner.load(copied, precision="bfloat16", runtime="onnx")
    with pytest.raises(AnynerError, match='load it with runtime="torch"'):
        _ = anyner.load(copied, runtime="onnx").model


@pytest.mark.parametrize("damage", ["graph", "index", "weights"])
def test_a_damaged_folder_is_one_line(copied: Path, damage: str) -> None:
    if damage == "graph":
        (copied / "graph.onnx").write_bytes((copied / "graph.onnx").read_bytes()[:-9])
    elif damage == "index":
        (copied / INDEX).write_text("{}", encoding="utf-8")
    else:
        plain = json.loads((copied / INDEX).read_text(encoding="utf-8"))
        plain["weights"]["read"].append("head.no_such.weight")
        (copied / INDEX).write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(AnynerError) as raised:
        anyner.load(copied, runtime="onnx")
    assert str(copied) in str(raised.value)
    assert "\n" not in str(raised.value)


def external(location: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name="stolen", data_type=onnx.TensorProto.FLOAT, dims=[4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize("place", ["initializer", "constant"])
@pytest.mark.parametrize("location", ["/etc/hostname", "../secret", "secret"])
def test_a_graph_cannot_read_files(copied: Path, place: str, location: str) -> None:
    """Other than the given weights: an untrusted model could read any file of the user."""
    path = copied / "graph.onnx"
    model = onnx.load(path, load_external_data=False)
    if place == "initializer":
        model.graph.initializer.append(external(location))
    else:
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["stolen"], value=external(location)))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(AnynerError, match="takes 'stolen' from another file, which is not allowed"):
        anyner.load(copied, runtime="onnx")


@pytest.mark.parametrize("kind", ["branch", "loop", "functions"])
def test_a_graph_has_no_loops_branches_or_functions(copied: Path, kind: str) -> None:
    """A loop may never end, and functions that call each other twice grow without bound while they are loaded."""
    path, make = copied / "graph.onnx", onnx.helper.make_node
    model = onnx.load(path, load_external_data=False)
    body = onnx.helper.make_graph([make("Identity", ["x"], ["y"])], "body", [], [onnx.helper.make_tensor_value_info("y", 1, [])])
    if kind == "branch":
        model.graph.node.append(make("If", ["condition"], ["either"], then_branch=body, else_branch=body))
    elif kind == "loop":
        model.graph.node.append(make("Loop", ["many", "condition"], ["last"], body=body))
    else:
        twice = [make("half", ["x"], ["z"], domain="own"), make("half", ["z"], ["y"], domain="own")]
        model.functions.append(onnx.helper.make_function("own", "whole", ["x"], ["y"], twice, model.opset_import))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(AnynerError, match=r"graph.onnx: has loops, branches or functions, which no exported graph has"):
        anyner.load(copied, runtime="onnx")


def test_a_step_cannot_be_named_out_of_the_folder(copied: Path) -> None:
    plain = json.loads((copied / INDEX).read_text(encoding="utf-8"))
    plain["weights"]["/../../other"] = []
    (copied / INDEX).write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(AnynerError, match="weights"):
        anyner.load(copied, runtime="onnx")


@pytest.mark.parametrize("change", ["output", "input", "weight"])
def test_a_graph_of_another_model_is_one_line(copied: Path, change: str) -> None:
    path = copied / "graph.onnx"
    model = onnx.load(path, load_external_data=False)
    if change == "output":
        model.graph.output[0].name = model.graph.node[-1].output[0] = "other"
    elif change == "input":
        model.graph.input.append(onnx.helper.make_tensor_value_info("other", 1, [4]))
    else:
        model.graph.initializer[0].dims[0] += 1
    path.write_bytes(model.SerializeToString())
    with pytest.raises(AnynerError) as raised:
        anyner.load(copied, runtime="onnx").predict(TEXT)
    assert "\n" not in str(raised.value)
    assert "graph" in str(raised.value)


def test_threads_are_a_number(copied: Path) -> None:
    for threads in (0, -1, 1.5, True, "2"):
        with pytest.raises(AnynerError, match="threads: expected a number of at least 1"):
            anyner.load(copied, threads=threads)  # type: ignore[arg-type]
    assert anyner.load(copied, runtime="onnx", threads=1).predict(TEXT).entities


def test_training_says_what_is_missing(tmp_path: Path) -> None:
    code = BLOCKED + "import anyner; anyner.train({}, sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "training needs torch, which is not installed: pip install 'anyner[train]'" in done.stderr.splitlines()[-1]
