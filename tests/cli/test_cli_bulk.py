"""`anyner predict -i FILE -o OUT`: files of any size and kind, one output in their order, bad lines reported."""

from __future__ import annotations

import gzip
import json
import os
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


def test_keys_that_other_tools_name_like_annotation_are_kept(tiny_model: Path, tmp_path: Path) -> None:
    kept = {"label": "positive", "tags": ["sport", "news"], "answer": "yes", "_id": "7f", "relations": {"a": 1}, "size": 2}
    gold = {"entities": "old", "spans": [{"start": 0, "end": 1, "label": "X"}], "labels": ["X"], "nothing": float("nan")}
    items = [{"text": TEXTS[0], **gold, **kept}, {"text": TEXTS[0], "answer": "reject", "labels": "positive"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    answer = anyner_command("predict", "-i", tmp_path / "in.jsonl", "-m", tiny_model, "-o", tmp_path / "out.jsonl")
    assert "1 problem while reading (0 dropped)" in answer.err and "'nothing' cannot be written as JSON" in answer.err
    usual = ("id", "text", "entities", "unknown")
    others = [{key: value for key, value in item.items() if key not in usual} for item in lines_of(tmp_path / "out.jsonl")]
    assert others == [kept, {"labels": "positive"}]


def test_one_file_of_several_that_cannot_be_read_does_not_end_the_run(tiny_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    cut = gzip.compress("\n".join(TEXTS).encode())[:-20]
    bad = {"b.txt.gz": cut, "c.jsonl": b"", "d.jsonl": b"junk", "e.parquet": b"junk"}
    for name, data in {"a.txt": b"Rome", **bad, "z.txt": b"Oslo"}.items():
        (folder / name).write_bytes(data)
    for output in (["-o", tmp_path / "out.jsonl"], ["--format", "jsonl"]):
        answer = anyner_command("predict", "-i", folder, "--lines", "-m", tiny_model, *output)
        lines = answer.out.splitlines() or (tmp_path / "out.jsonl").read_text().splitlines()
        ids = [json.loads(line)["id"] for line in lines]
        assert answer.code == 0 and (ids[0], ids[-1]) == ("a-1", "z-1")
        assert ids[1:-1] == [f"b-{number}" for number in range(1, len(ids) - 1)]  # the lines before the cut
        assert f"{folder / 'b.txt.gz'}:{len(ids) - 1}: cannot be read further" in answer.err
        assert "4 problems while reading (4 dropped)" in answer.err
        assert all(f"{folder / name}: " in answer.err for name in bad if name != "b.txt.gz")
    assert not (tmp_path / "out.jsonl.parts").exists()
    alone = anyner_command("predict", "-i", folder / "b.txt.gz", "-m", tiny_model, "-o", tmp_path / "none.jsonl")
    alone.assert_one_line(f"b.txt.gz:{len(ids) - 1}: cannot be read further")


def test_tables_are_checked_before_anything_is_predicted(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Rome")
    pq.write_table(pa.table({"text": ["Rome"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"note": ["Rome"]}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"text": ["Rome"], "size": [1]}), tmp_path / "d.parquet")

    def refused(names: str, out: str, why: str) -> None:
        files = [part for name in names.split() for part in ("-i", tmp_path / name)]
        anyner_command("predict", *files, "-m", tiny_model, "-o", tmp_path / out).assert_one_line(why)
        assert not (tmp_path / f"{out}.parts").exists()

    refused("a.txt b.parquet c.parquet", "out.jsonl", "c.parquet: no column 'text'")
    refused("b.parquet d.parquet", "out.parquet", f"d.parquet: has other columns than {tmp_path / 'b.parquet'}: write .jsonl")
    refused("a.txt b.parquet", "out.parquet", "b.parquet: has other columns than")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_named_pipe_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    anyner_command("predict", "-i", tmp_path / "pipe.txt", "-m", tiny_model).assert_one_line("is not a file: pipe it to stdin")


def test_workers_and_devices_need_files(tiny_model: Path, tmp_path: Path) -> None:
    anyner_command("predict", "Rome", "-m", tiny_model, "--workers", 2).assert_one_line("need -i FILE and -o OUT")
