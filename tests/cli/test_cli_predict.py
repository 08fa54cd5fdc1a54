import json
import lzma
from pathlib import Path

import pytest
from command_line import anyner_command

from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic

TEXTS = [document.text for document in synthetic(12, contiguous=True, split="train")]


def found(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def predict_jsonl(model: Path, *arguments: object, stdin: str | bytes | None = None) -> list[dict[str, object]]:
    answer = anyner_command("predict", *arguments, "--model", model, "--format", "jsonl", stdin=stdin)
    assert (answer.code, answer.err) == (0, "")
    return found(answer.out)


def test_lines_a_file_and_arguments_give_the_same_entities(tiny_model: Path, tmp_path: Path) -> None:
    by_line = predict_jsonl(tiny_model, "-", "--lines", stdin="\n".join(TEXTS))
    assert [item["text"] for item in by_line] == TEXTS
    assert [item["id"] for item in by_line] == [str(number) for number in range(1, len(TEXTS) + 1)]
    assert sum(len(item["entities"]) for item in by_line) > 5  # type: ignore[misc, arg-type]
    file = tmp_path / "notes.txt"
    file.write_text("\n".join(TEXTS))
    from_file = predict_jsonl(tiny_model, "-i", file, "--lines")
    assert from_file[0]["id"] == "notes-1"
    assert [item["entities"] for item in from_file] == [item["entities"] for item in by_line]
    assert predict_jsonl(tiny_model, TEXTS[0])[0]["entities"] == by_line[0]["entities"]


def test_stdin_and_a_text_file_are_one_document_each(tiny_model: Path, tmp_path: Path) -> None:
    whole = "\r\n".join(TEXTS[:3])
    (tmp_path / "a.txt").write_bytes(whole.encode())
    from_stdin = predict_jsonl(tiny_model, "-", stdin=whole.encode())
    from_file = predict_jsonl(tiny_model, "-i", tmp_path / "a.txt")
    assert [item["text"] for item in (*from_stdin, *from_file)] == [whole, whole]
    assert from_file[0]["id"] == "a"


def test_a_corpus_keeps_its_ids_and_loses_its_gold(tiny_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text('{"id": "x", "text": "Nothing here.", "entities": [{"label": "Odd", "fragments": [[0, 7]]}]}\n')
    (item,) = predict_jsonl(tiny_model, "-i", file)
    assert item["id"] == "x" and "Odd" not in json.dumps(item["entities"])


def test_the_drawing_shows_labels_without_colour(tiny_model: Path) -> None:
    answer = anyner_command("predict", "-", "--lines", "-m", tiny_model, stdin="\n".join(TEXTS))
    assert answer.code == 0
    assert "╯" in answer.out and "\x1b" not in answer.out
    assert TEXTS[0].split()[0] in answer.out


def test_thresholds_options_and_overlap_are_passed_on(tiny_model: Path) -> None:
    strict = predict_jsonl(tiny_model, "-", "--lines", "--threshold", "score=0.999", stdin="\n".join(TEXTS))
    loose = predict_jsonl(tiny_model, "-", "--lines", "--threshold", "score=0.1", "--overlap", "all", stdin="\n".join(TEXTS))
    flat = predict_jsonl(tiny_model, "-", "--lines", "--threshold", "score=0.1", "--overlap", "flat", stdin="\n".join(TEXTS))
    few, many, apart = (sum(len(item["entities"]) for item in one) for one in (strict, loose, flat))  # type: ignore[misc, arg-type]
    assert few < apart < many


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--threshold", "score"], "name=value"),
        (["--threshold", "score=high"], "'high' is not a number"),
        (["--threshold", "nonsense=1"], "unknown threshold 'nonsense'"),
        (["--option", "beam=3"], "beam"),
        (["--option", "=3"], "name=value"),
        (["--device", "abacus"], "'abacus'"),
        (["--format", "brat"], "-o FOLDER"),
    ],
)
def test_bad_choices_are_one_line(tiny_model: Path, arguments: list[str], part: str) -> None:
    anyner_command("predict", "x", "-m", tiny_model, *arguments).assert_one_line(part)


def test_a_file_without_its_option_is_not_read_as_a_text(tiny_model: Path, tmp_path: Path) -> None:
    there = tmp_path / "notes"
    there.write_text(TEXTS[0])
    for name in (str(there), str(tmp_path / "not-there.TXT"), "corpus.jsonl.xz"):
        anyner_command("predict", name, "-m", tiny_model).assert_one_line(f"give -i {name} to read it")
    for text in ("a," * 200, "Notes are in notes.txt", "notes.txt."):
        assert predict_jsonl(tiny_model, text)[0]["text"] == text
    assert predict_jsonl(tiny_model, "-", stdin="notes.txt")[0]["text"] == "notes.txt"


def test_the_texts_of_a_folder_are_read_and_what_is_none_is_told(tiny_model: Path, tmp_path: Path) -> None:
    for name in ("a.txt", "sub/a.txt", "sub/deep/b.txt", "sub/c.pdf", ".cache/d.txt", "e.jsonl/notes"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TEXTS[0])
    answer = anyner_command("predict", "-i", tmp_path, "-m", tiny_model, "--format", "jsonl")
    assert answer.code == 0
    assert [item["id"] for item in found(answer.out)] == [str(tmp_path / "a"), str(tmp_path / "sub/a"), "b"]
    assert answer.err == f"{tmp_path}: only its text files are read, not e.jsonl/notes, sub/c.pdf (2 in all)\n"


def test_a_folder_without_texts_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    anyner_command("predict", "-i", tmp_path, "-m", tiny_model).assert_one_line(
        "is not a corpus, and has no .txt, .jsonl or .parquet"
    )


def test_output_files(tiny_model: Path, tmp_path: Path) -> None:
    text = "\n".join(TEXTS)
    for name in ("out.jsonl", "out.html", "out.svg", "out.txt"):
        answer = anyner_command("predict", "-", "--lines", "-m", tiny_model, "-o", tmp_path / "new" / name, stdin=text)
        assert (answer.code, answer.out) == (0, "")
    assert len(read(tmp_path / "new" / "out.jsonl")) == len(TEXTS)
    page = (tmp_path / "new" / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!") and page.rstrip().endswith("</html>")
    assert "╯" in (tmp_path / "new" / "out.txt").read_text(encoding="utf-8")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["out.html", "out.jsonl", "out.svg", "out.txt"]


def test_brat_folder(tiny_model: Path, tmp_path: Path) -> None:
    command = ("predict", "-", "--lines", "-m", tiny_model, "--format", "brat", "-o", tmp_path / "brat")
    assert anyner_command(*command, stdin="\n".join(TEXTS)).code == 0
    again = read(tmp_path / "brat")
    assert [document.text for document in again] == TEXTS
    assert any(document.entities for document in again)
    anyner_command(*command, stdin="x").assert_one_line("new or empty folder")


def test_a_failure_leaves_no_half_written_file(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cut.txt.xz").write_bytes(lzma.compress(b"a b\n" * 2000)[:-4])
    out = tmp_path / "out.html"
    out.write_text("old\n")
    answer = anyner_command(
        "predict", "-i", tmp_path / "in" / "cut.txt.xz", "--lines", "-m", tiny_model, "-o", out, "--batch-tokens", 64
    )
    answer.assert_one_line("cut.txt.xz:2001: cannot be read further: the compressed file is cut off here")
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out.html"]


def test_a_folder_in_place_of_the_output_file_is_told_before_the_model_is_loaded(tmp_path: Path) -> None:
    anyner_command("predict", "x", "-m", "no such model", "-o", tmp_path).assert_one_line("it is a folder")


def test_without_a_name_the_bundled_general_model_reads() -> None:
    text = "Angela Merkel lives in Berlin."
    (item,) = predict_jsonl(Path("general-en"), text)
    answer = anyner_command("predict", text, "--format", "jsonl")
    assert (answer.code, answer.err) == (0, "") and found(answer.out) == [item]
    assert "Berlin" in json.dumps(item["entities"])


def test_a_folder_of_its_name_does_not_stand_for_the_bundled_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "general-en").mkdir()
    monkeypatch.chdir(tmp_path)
    answer = anyner_command("predict", "Angela Merkel lives in Berlin.", "--format", "jsonl")
    assert answer.code == 0 and "Berlin" in json.dumps(found(answer.out)[0]["entities"])
    assert "no config.json" in anyner_command("predict", "x", "-m", "general-en").err, "one that is named is taken first"


def test_without_a_bundled_model_one_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.storage.bundled._HERE", tmp_path)
    anyner_command("predict", "x").assert_one_line("--model")
