"""`anyner predict -i FILE -o OUT`: files of any size and kind, one output in their order, bad lines reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import anyner_command

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.inference.recognizer import Recognizer

TEXTS = [document.text for document in synthetic(60, contiguous=True, split="test")]


@pytest.fixture(scope="module")
def recognizer(tiny_model: Path) -> Recognizer:
    return anyner.load(tiny_model, device="cpu", threads=1)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def expected(recognizer: Recognizer, texts: list[str]) -> list[Any]:
    return [document.to_json()["entities"] for document in recognizer.predict(texts)]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.xz", ".parquet"])
def test_files_of_all_kinds_become_one_output_in_order(
    tiny_model: Path, recognizer: Recognizer, tmp_path: Path, ending: str
) -> None:
    lines, more = tmp_path / "in" / "a.txt", tmp_path / "in" / "b.jsonl"
    lines.parent.mkdir()
    lines.write_text("\n".join(TEXTS[:20]), encoding="utf-8")
    items = [{"id": place, "text": text, "patient": place % 3} for place, text in enumerate(TEXTS[20:])]
    more.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    out = tmp_path / f"out{ending}"
    answer = anyner_command("predict", "-i", lines.parent, "--lines", "-m", tiny_model, "-o", out)
    assert answer.code == 0, answer.err
    items = pq.read_table(out).to_pylist() if ending == ".parquet" else [one.to_json() for one in anyner.read(out)]
    assert [item["text"] for item in items] == TEXTS
    assert ending == ".parquet" or [item["patient"] for item in items[20:]] == [place % 3 for place in range(len(TEXTS) - 20)]
    found = [[(one["label"], one["fragments"]) for one in item["entities"]] for item in items]
    assert found == [[(one["label"], one["fragments"]) for one in own] for own in expected(recognizer, TEXTS)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", out.name], "no part is left"


@pytest.mark.usefixtures("small_chunks")
def test_a_table_keeps_its_columns_and_rows(tiny_model: Path, recognizer: Recognizer, tmp_path: Path) -> None:
    texts: list[str | None] = [*TEXTS[:10], None, *TEXTS[10:20]]
    table = pa.table({"when": pa.array(range(21), pa.timestamp("s")), "note": texts})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    answer = anyner_command("predict", "-i", tmp_path / "in.parquet", "--column", "note", "-m", tiny_model, "-o", out)
    assert "in.parquet:11: no text" in answer.err
    found = pq.read_table(out)
    assert found.drop_columns(["entities"]).equals(pq.read_table(tmp_path / "in.parquet"))
    entities = [[(one["label"], one["fragments"]) for one in own] for own in found["entities"].to_pylist()]
    own = expected(recognizer, [text or "" for text in texts])
    assert entities == [[(one["label"], one["fragments"]) for one in row] for row in own]
    for column, why in (("text", "no column 'text'"), ("when", "expected texts, got timestamp")):
        anyner_command("predict", "-i", tmp_path / "in.parquet", "--column", column, "-m", tiny_model, "-o", out).assert_one_line(
            why
        )


def test_corrected_input_is_read_again(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"na\xefve")
    command = ("predict", "-i", tmp_path / "in.txt", "-m", tiny_model, "-o", tmp_path / "out.jsonl")
    anyner_command(*command).assert_one_line("not UTF-8")
    (tmp_path / "in.txt").write_text("naïve", encoding="utf-8")
    assert anyner_command(*command).code == 0 and len(lines_of(tmp_path / "out.jsonl")) == 1


def test_bad_lines_are_told_and_counted_and_the_rest_is_predicted(tiny_model: Path, tmp_path: Path) -> None:
    good = json.dumps({"text": TEXTS[0]}).encode()
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([good, b"{", good, b"\xff", b'{"text": 3}', good]))
    answer = anyner_command("predict", "-i", tmp_path / "in.jsonl", "-m", tiny_model, "-o", tmp_path / "out.jsonl")
    assert answer.code == 0 and len(lines_of(tmp_path / "out.jsonl")) == 3
    assert "3 problems while reading (3 dropped)" in answer.err
    assert all(f"in.jsonl:{line}: " in answer.err for line in (2, 4, 5))


def test_workers_and_devices_need_files(tiny_model: Path, tmp_path: Path) -> None:
    anyner_command("predict", "Rome", "-m", tiny_model, "--workers", 2).assert_one_line("need -i FILE and -o OUT")
