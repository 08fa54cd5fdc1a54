"""The graph in a model folder: small, without weights, and only used for the model that it was made for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.storage.graph import INDEX, graph_of
from anyner.storage.save import save

Export = Callable[..., Path]
TEXT = " ".join(one.text for one in synthetic(8))
BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "accelerate", "scipy", "onnx", "onnxscript", "onnx_ir"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
"""


@pytest.fixture
def copied(exported: Export, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported("biaffine"), tmp_path / "model"))


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


def test_a_graph_of_other_settings_is_not_used(copied: Path) -> None:
    plain = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    plain["encoder"]["pooling"] = "first"
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
    with pytest.raises(AnynerError, match="there is no runtime 'tensorflow': auto, torch, onnx"):
        anyner.load(copied, runtime="tensorflow")  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match="runs on a CPU in float32"):
        anyner.load(copied, precision="bfloat16", runtime="onnx")
    with pytest.raises(AnynerError, match='load it with runtime="torch"'):
        _ = anyner.load(copied, runtime="onnx").model


@pytest.mark.parametrize("damage", ["graph", "index", "weights"])
def test_a_damaged_folder_is_one_line(copied: Path, damage: str) -> None:
    if damage == "graph":
        (copied / "graph.onnx").write_bytes(b"no graph")
    elif damage == "index":
        (copied / INDEX).write_text("{}", encoding="utf-8")
    else:
        plain = json.loads((copied / INDEX).read_text(encoding="utf-8"))
        plain["weights"]["read"].append("head.no_such.weight")
        (copied / INDEX).write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(AnynerError) as told:
        anyner.load(copied, runtime="onnx")
    assert str(copied) in str(told.value)
    assert "\n" not in str(told.value)
