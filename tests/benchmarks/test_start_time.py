"""The start of a new process is measured, and what it imports."""

from importlib import import_module
from pathlib import Path

import pytest

from anyner.errors import AnynerError

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_it_times_a_new_process_and_sees_what_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = import_module("start")
    monkeypatch.setattr(module, "HEAVY", ("torch", "transformers", "onnxruntime"))
    assert module.imported("general-en") == ["onnxruntime"]
    found = module.started("general-en", "onnx")
    assert found.seconds > 0.1 and 50 < found.megabytes < 300
    with pytest.raises(AnynerError, match=r"anyner predict failed: .*cannot find model"):
        module.started("no-such-model", "onnx")
