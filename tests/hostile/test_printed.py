"""Whatever a label, an id, a key, a text or a file name holds: nothing of it acts on the terminal or ends a run."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from anyner.cli.main import app, run
from anyner.cli.output import listing, table
from anyner.corpora.textfiles import write_chunks
from anyner.errors import json_text, printable

EVIL = "A\x1b]0;owned\x07\x9b2J\nB\u202e"
SHOWN = r"A\x1b]0;owned\x07\x9b2J\nB\u202e"


def assert_harmless(printed: str) -> None:
    assert not [c for c in printed if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")], printed


def command(*arguments: object) -> tuple[str, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert_harmless(result.stdout + result.stderr)
    return result.stdout, result.stderr


def corpus(path: Path, label: str = EVIL, name: str = EVIL) -> Path:
    text = "Rome is old"
    entities = [{"label": label, "fragments": [[0, 4]]}, {"label": label, "fragments": [[1, 3]]}]
    broken = {"id": name, "text": text, "entities": [{"label": label, "fragments": [[0, 99]]}]}
    lines = [{"id": name, "text": text, "entities": entities}, broken]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@given(st.text())
def test_what_is_printable_is_one_harmless_line_and_plain_text_stays(text: str) -> None:
    assert_harmless(printable(text).replace("\u200c", "").replace("\u200d", ""))
    assert "\n" not in printable(text)
    printable(text).encode()
    if text.isprintable():
        assert printable(text) == text


@given(st.recursive(st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_reads_back_as_it_was_and_can_be_written(plain: object) -> None:
    written = json_text(plain)
    assert json.loads(written.encode().decode()) == plain
    assert not [c for c in written if unicodedata.category(c) in ("Cc", "Cs")]


def test_tables_and_listings_show_what_cells_hold() -> None:
    assert SHOWN in table([("label", "entities"), (EVIL, 3)])
    assert listing([(EVIL, EVIL)]) == f"{SHOWN}  {SHOWN}"


def test_inspect(tmp_path: Path) -> None:
    path = corpus(tmp_path / "evil.jsonl")
    out, _ = command("inspect", path, "--problems")
    assert SHOWN in out
    out, _ = command("inspect", path, "--json")
    assert EVIL in json.loads(out)["parts"][0]["labels"]
    folder = tmp_path / EVIL
    folder.mkdir()
    out, _ = command("inspect", corpus(folder / "a.jsonl"))
    assert f"{SHOWN}/a.jsonl" in out


def test_errors_and_usage_errors(tmp_path: Path) -> None:
    for arguments in (["inspect", tmp_path / EVIL], ["info", tmp_path / EVIL], ["predict", "-i", EVIL], [EVIL]):
        _, err = command(*arguments)
        assert SHOWN in err, arguments
    for arguments in (["inspect", "x", "--splitter", EVIL], ["info", f"--{EVIL}"], ["models", EVIL]):
        command(*arguments)


def test_convert(tmp_path: Path) -> None:
    _, err = command("convert", corpus(tmp_path / "evil.jsonl"), tmp_path / "out.conll", "--lossy")
    assert SHOWN in err


def test_info_and_evaluate(tiny_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in tiny_model.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["labels"][0] = EVIL
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    out, _ = command("info", folder)
    assert SHOWN in out
    out, _ = command("evaluate", folder, corpus(tmp_path / "evil.jsonl"))
    assert SHOWN in out
    _, err = command("evaluate", tiny_model, corpus(tmp_path / "evil.jsonl"))
    assert f"count as missed: {SHOWN}" in err


def test_compare_and_lists_of_errors(tmp_path: Path) -> None:
    gold, found = corpus(tmp_path / "gold.jsonl"), tmp_path / EVIL.replace("\n", "")
    found.write_text(
        "".join(json.dumps({"id": EVIL, "text": "Rome is old", "entities": []}) + "\n" for _ in range(2)), encoding="utf-8"
    )
    out, _ = command("compare", gold, found, gold, "--errors", "--report", tmp_path / "page.html")
    assert f"only A found it              {SHOWN}: {SHOWN} 0-4" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\x1b" not in page and "\x9b" not in page


def test_a_chunk_with_a_lone_surrogate_is_written_escaped(tmp_path: Path) -> None:
    write_chunks(tmp_path / "a.jsonl", [json.dumps({"id": "\udcff"}, ensure_ascii=False)])
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8")) == {"id": "\udcff"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
@pytest.mark.parametrize("options", [["--format", "html"], ["--format", "jsonl"], ["-o", "out.jsonl"]])
def test_a_file_name_that_is_not_utf8_loses_nothing(
    tiny_model: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / os.fsdecode(b"n\xffte.txt")
    path.write_text("Rome is old", encoding="utf-8")
    printed = BytesIO()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["anyner", "predict", "-m", str(tiny_model), "-i", str(path), *options])
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(printed, "utf-8"))
    with pytest.raises(SystemExit) as ended:
        run()
    assert not ended.value.code
    sys.stdout.flush()
    written = (tmp_path / "out.jsonl").read_bytes() if "-o" in options else printed.getvalue()
    assert "Rome" in written.decode()
    if "html" not in options:
        assert json.loads(written)["id"] == "n\udcffte"


def test_what_a_training_tells_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    from anyner.training.progress import TerminalListener

    with TerminalListener() as listener:
        listener.note("label \x1b[2J\nA")
    assert "label \\x1b[2J\\nA" in capsys.readouterr().err
