from __future__ import annotations

import rlcompleter
import subprocess
import sys

import pytest

import anyner


def test_importing_anyner_imports_no_torch() -> None:
    code = "import sys, anyner; anyner.Document('x'); print([m for m in ('torch', 'transformers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_and_writing_import_no_torch() -> None:
    code = "import sys, anyner; anyner.read, anyner.write; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", anyner.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(anyner, name) is not None


def test_completion_offers_exactly_the_public_names() -> None:
    assert dir(anyner) == sorted(anyner.__all__)
    completer = rlcompleter.Completer({"anyner": anyner})
    offered = {completer.complete("anyner.", number) for number in range(len(dir(anyner)) - 1)}
    names = {str(one).strip("()").removeprefix("anyner.") for one in offered}
    assert names == {name for name in anyner.__all__ if not name.startswith("_")}


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = anyner.Nothing
