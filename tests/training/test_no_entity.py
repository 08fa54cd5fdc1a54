"""If a training finds no entity, the error also reports what the readers dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import anyner
from anyner.errors import AnynerError

GOOD = {"text": "Anna saw Bern.", "entities": [{"label": "Person", "start": 0, "end": 4}]}
OUTSIDE = {"text": "Anna saw Bern.", "entities": [{"label": "Person", "start": 0, "end": 99}]}


def refused(folder: Path, train: list[object], dev: list[object]) -> str:
    for name, records in (("train", train), ("dev", dev)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with pytest.raises(AnynerError) as caught:
        anyner.train({"data": {"folder": str(folder)}}, folder / "m")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_the_readers_problem_is_reported_with_file_line_and_count(tmp_path: Path, split: str) -> None:
    bad: list[object] = [OUTSIDE, OUTSIDE]
    message = refused(tmp_path, *((bad, [GOOD]) if split == "train" else ([GOOD], bad)))
    assert message.startswith(f"data.{split} has no entity: ")
    assert "; 2 problems in the files (2 dropped): " in message
    assert f"{split}.jsonl:1: " in message and "99" in message


def test_without_problems_nothing_is_added(tmp_path: Path) -> None:
    assert refused(tmp_path, [{"text": "Anna."}], [GOOD]) == "data.train has no entity: there is nothing to learn"
