"""Any input gives a result or a one-line error; never a traceback, never half a file."""

import gzip
import json
import os
import pickle
import shutil
import threading
from pathlib import Path

import pytest
from command_line import anyner_command


def predicted(model: Path, *arguments: object, stdin: str | bytes | None = None) -> list[dict[str, object]]:
    answer = anyner_command("predict", *arguments, "-m", model, "--format", "jsonl", stdin=stdin)
    assert answer.code == 0, answer
    assert all("not in the model's vocabulary" in line for line in answer.err.splitlines()), answer
    return [json.loads(line) for line in answer.out.splitlines()]


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000\r\n"])
def test_nothing_to_read_gives_no_entities(tiny_model: Path, text: str) -> None:
    assert predicted(tiny_model, text) == [{"id": "", "text": text, "entities": []}]
    assert predicted(tiny_model, "-", stdin=text.encode()) == [{"id": "", "text": text, "entities": []}]
    assert anyner_command("predict", text, "-m", tiny_model).code == 0


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "nul \0 here",
        "bell \x07 and \x1b[31mred",
        "😀 👩‍👩‍👧 pain",
        "ألم في الركبة اليسرى",
        "כאב בברך",
        "one\r\ntwo",
        "e\u0301",
    ],
)
def test_strange_text_comes_back_as_it_was(tiny_model: Path, text: str) -> None:
    (item,) = predicted(tiny_model, "-", "--threshold", "score=0.1", stdin=text.encode())
    assert item["text"] == text
    for entity in item["entities"]:  # type: ignore[attr-defined]
        assert entity["text"] == " ".join(text[start:end] for start, end in entity["fragments"])
    drawn = anyner_command("predict", "-", "-m", tiny_model, stdin=text.encode())
    assert drawn.code == 0 and not set(drawn.out) & set("\0\x07\x1b")


def test_a_word_too_long_to_be_read_whole_is_told(tiny_model: Path) -> None:
    text = "pain " + "a" * 10_000
    for format_ in ("jsonl", "text"):
        answer = anyner_command("predict", "-", "-m", tiny_model, "--format", format_, stdin=text.encode())
        assert answer.code == 0
        assert answer.err == "1 documents have words too long to be read whole (coverage 50.00 % at least)\n"
    (item,) = map(json.loads, anyner_command("predict", text, "-m", tiny_model, "--format", "jsonl").out.splitlines())
    assert item["text"] == text and item["coverage"] == 0.5


def test_a_link_is_written_through_and_a_device_stays_one(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("old", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert anyner_command("predict", "pain", "-m", tiny_model, "-o", tmp_path / "link.jsonl").code == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert json.loads((tmp_path / "real.jsonl").read_text(encoding="utf-8"))["text"] == "pain"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert anyner_command("predict", "pain", "-m", tiny_model, "--format", "jsonl", "-o", tmp_path / "pipe").code == 0
        assert json.loads(os.read(reader, 10_000))["text"] == "pain"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_an_output_whose_name_says_no_format_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    answer = anyner_command("predict", "pain", "-m", tiny_model, "-o", tmp_path / "found")
    assert answer.code == 1 and "add --format" in answer.err and not (tmp_path / "found").exists()


def test_what_is_read_is_never_replaced(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    gold = tmp_path / "corpus/test.jsonl"
    gold.write_text('{"text": "pain", "entities": []}\n', encoding="utf-8")
    before = gold.read_bytes()
    for arguments in (
        ("predict", "-i", gold, "-m", tiny_model, "-o", gold),
        ("convert", gold, gold),
        ("evaluate", tiny_model, gold, "-o", gold),
        ("evaluate", tiny_model, tmp_path / "corpus", "-o", gold),
        ("compare", gold, gold, gold, "-o", gold),
    ):
        anyner_command(*arguments).assert_one_line("is read by this command and would be replaced")
    for command in (("evaluate", tiny_model, gold), ("compare", gold, gold, gold)):
        anyner_command(*command, "--report", tmp_path / "keep.txt").assert_one_line("its name must end in .html")
        same = tmp_path / "same.html"
        anyner_command(*command, "--report", same, "-o", same).assert_one_line("is the report and the output: choose two files")
    assert gold.read_bytes() == before and not (tmp_path / "keep.txt").exists()


def test_a_folder_is_no_text(tiny_model: Path, tmp_path: Path) -> None:
    anyner_command("predict", str(tmp_path), "-m", tiny_model).assert_one_line(f"names a folder: give -i {tmp_path}")


def test_equal_names_in_several_folders_are_told_apart(tiny_model: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "note.txt").write_text(folder, encoding="utf-8")
    found = predicted(tiny_model, "-i", tmp_path / "a", "-i", tmp_path / "b")
    assert [item["id"] for item in found] == [str(tmp_path / folder / "note") for folder in "ab"]


def test_a_folder_of_texts_gives_a_document_a_file(tiny_model: Path, tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"text {name}", encoding="utf-8")
    assert [(item["id"], item["text"]) for item in predicted(tiny_model, "-i", tmp_path)] == [("a", "text a"), ("b", "text b")]


def test_byte_order_marks_are_no_part_of_the_text(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert [item["text"] for item in predicted(tiny_model, "-i", tmp_path / "a.txt")] == ["one\r\ntwo"]
    assert [item["text"] for item in predicted(tiny_model, "-i", tmp_path / "a.txt", "--lines")] == ["one", "two"]
    assert [item["text"] for item in predicted(tiny_model, "-", "--lines", stdin=b"\xef\xbb\xbfone\r\n\r\ntwo")] == [
        "one",
        "",
        "two",
    ]


def test_not_utf_8(tiny_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(b"fine\nna\xefve\n")
    anyner_command("predict", "-i", file, "-m", tiny_model).assert_one_line("latin.txt:2: not UTF-8")
    (tmp_path / "more.txt").write_text("fine")
    of_two = anyner_command("predict", "-i", file, "-i", tmp_path / "more.txt", "-m", tiny_model, "--format", "jsonl")
    assert of_two.code == 0 and of_two.out.count("\n") == 1
    assert "latin.txt:2: not UTF-8 text (byte 0xef) (dropped)" in of_two.err
    by_line = anyner_command("predict", "-i", file, "-m", tiny_model, "--lines", "--format", "jsonl")
    assert by_line.code == 0 and by_line.out.count("\n") == 1
    assert "latin.txt:2: not UTF-8 text (byte 0xef) (dropped)" in by_line.err
    for text in (["-"], ["-i", "-"]):
        whole = anyner_command("predict", *text, "-m", tiny_model, stdin=b"ok\n\xff")
        whole.assert_one_line("standard input:2: not UTF-8 text (byte 0xff) (dropped); nothing else could be read")
        of_stdin = anyner_command("predict", *text, "-m", tiny_model, "--lines", "--format", "jsonl", stdin=b"ok\n\xff\nfine\n")
        assert of_stdin.code == 0
        assert [json.loads(line)["id"] for line in of_stdin.out.splitlines()] == ["1", "3"]
        assert "standard input:2: not UTF-8 text (byte 0xff) (dropped)" in of_stdin.err
    corpus = tmp_path / "latin.jsonl"
    corpus.write_bytes(b'{"text": "na\xefve", "entities": []}\n')
    for command in (["evaluate", tiny_model, corpus], ["inspect", corpus], ["convert", corpus, tmp_path / "out.jsonl"]):
        anyner_command(*command).assert_one_line("latin.jsonl:1: not UTF-8")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_cut_off_archive_loses_no_line_before_the_cut(tiny_model: Path, tmp_path: Path) -> None:
    lines = "".join(f"line {number} {number * 7919 % 1000}\n" for number in range(300))
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(lines.encode())[:-12])
    (tmp_path / "more.txt").write_text("fine")
    answer = anyner_command(
        "predict", "-i", tmp_path / "cut.txt.gz", "-i", tmp_path / "more.txt", "--lines", "-m", tiny_model, "--format", "jsonl"
    )
    *found, last = [json.loads(line)["text"] for line in answer.out.splitlines()]
    assert last == "fine" and len(found) > 250 and found == lines.splitlines()[: len(found)]
    assert f"cut.txt.gz:{len(found) + 1}: cannot be read further: the compressed file is cut off here" in answer.err


def test_an_argument_that_is_not_utf_8(tiny_model: Path) -> None:
    anyner_command("predict", "na\udcefve", "-m", tiny_model).assert_one_line("lone surrogate")


def test_lone_surrogates_in_jsonl_are_a_problem_with_its_line(tiny_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text('{"text": "good", "entities": []}\n{"text": "bad \\ud800", "entities": []}\n')
    answer = anyner_command("predict", "-i", file, "-m", tiny_model, "--format", "jsonl")
    assert answer.code == 0 and len(answer.out.splitlines()) == 1
    assert "odd.jsonl:2:" in answer.err and "surrogate" in answer.err
    file.write_text('{"text": "bad \\ud800", "entities": []}\n')
    anyner_command("predict", "-i", file, "-m", tiny_model).assert_one_line("odd.jsonl:1:")


MALFORMED = {
    "jsonl": "{not json\n",
    "jsonl-tokens": '{"tokens": "no list"}\n',
    "conll": "word\n",
    "spans": "[{",
    "w2ner": '{"a": 1}',
    "dai": "one two\n0,9 X\n\n",
}


@pytest.mark.parametrize("format_name", MALFORMED)
def test_malformed_files_of_each_format(format_name: str, tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text(MALFORMED[format_name])
    inspected = anyner_command("inspect", file, "--format", format_name)
    if inspected.code:  # nothing of it could be read
        inspected.assert_one_line("broken")
    else:
        assert "problems: 0" not in inspected.out and f"{file}:" in inspected.out


def test_malformed_brat(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "a.ann").write_text("T1\tX 0 99\tone\nT2 garbage\nT3\tX 3 0\tone\n")
    answer = anyner_command("inspect", tmp_path)
    assert answer.code == 0 and "problems: 3" in answer.out
    assert all(f"a.ann:{line}:" in answer.out for line in (1, 2, 3))


ENTITIES = {
    "out of range": [[0, 99]],
    "reversed": [[3, 0]],
    "overlapping itself": [[0, 3], [2, 5]],
    "negative": [[-2, 3]],
}


@pytest.mark.parametrize("fragments", ENTITIES.values(), ids=ENTITIES)
def test_bad_fragments_are_problems_with_file_and_line(tiny_model: Path, tmp_path: Path, fragments: list[list[int]]) -> None:
    file = tmp_path / "gold.jsonl"
    item = {"text": "one two", "entities": [{"label": "X", "fragments": fragments}, {"label": "X", "fragments": [[0, 3]]}]}
    file.write_text(json.dumps(item) + "\n")
    answer = anyner_command("evaluate", tiny_model, file, "--json")
    assert answer.code == 0 and json.loads(answer.out)["documents"] == 1
    assert f"{file}:1:" in answer.err and "1 problem while reading" in answer.err


def test_duplicates_and_unknown_labels_are_told(tiny_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    entity = {"label": "Unheard", "fragments": [[0, 3]]}
    file.write_text(json.dumps({"text": "one two", "entities": [entity, entity]}) + "\n")
    answer = anyner_command("evaluate", tiny_model, file, "--json")
    assert answer.code == 0
    assert f"{file}:1:" in answer.err and "Unheard (1)" in answer.err


@pytest.fixture
def broken_model(tiny_model: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_model, tmp_path / "model")


def changed_config(model: Path, **changes: object) -> None:
    path = model / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def assert_all_commands_refuse(model: Path, *parts: str) -> None:
    anyner_command("predict", "x", "-m", model).assert_one_line(*parts)
    anyner_command("evaluate", model, "synthetic").assert_one_line(*parts)


def test_config_with_an_unknown_key(broken_model: Path) -> None:
    changed_config(broken_model, colour="red")
    assert_all_commands_refuse(broken_model, "config.json", "colour")
    anyner_command("info", broken_model).assert_one_line("config.json", "colour")


def test_config_of_a_newer_format(broken_model: Path) -> None:
    changed_config(broken_model, format=99, colour="red")
    assert_all_commands_refuse(broken_model, "config.json", "newer", "99")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe"])
def test_config_that_is_none(broken_model: Path, content: bytes) -> None:
    (broken_model / "config.json").write_bytes(content)
    assert_all_commands_refuse(broken_model, "config.json")


def test_config_of_an_unknown_architecture(broken_model: Path) -> None:
    changed_config(broken_model, architecture="astrology")
    assert_all_commands_refuse(broken_model, "astrology")


@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_truncated_weights(broken_model: Path, kept: int) -> None:
    path = broken_model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert_all_commands_refuse(broken_model, "model.safetensors")


def test_a_pickle_in_place_of_the_weights(broken_model: Path) -> None:
    (broken_model / "model.safetensors").write_bytes(pickle.dumps({"weights": [1.0]}))
    assert_all_commands_refuse(broken_model, "model.safetensors", "pickle")
    (broken_model / "model.safetensors").rename(broken_model / "pytorch_model.bin")
    assert_all_commands_refuse(broken_model, "pickle")


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_missing_files(broken_model: Path, name: str) -> None:
    (broken_model / name).unlink()
    anyner_command("predict", "x", "-m", broken_model).assert_one_line(str(broken_model))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b'{"model"', b"\xff\xfe"])
def test_broken_tokenizer_files(broken_model: Path, name: str, content: bytes) -> None:
    (broken_model / name).write_bytes(content)
    anyner_command("predict", "x", "-m", broken_model).assert_one_line(name)


def test_weights_of_another_model(broken_model: Path) -> None:
    changed_config(broken_model, labels=["One", "Two"])
    assert_all_commands_refuse(broken_model, "model.safetensors")


@pytest.mark.parametrize("name", ["no-such-folder", "nobody/nothing"])
def test_a_model_that_is_not_there(name: str) -> None:
    assert_all_commands_refuse(Path(name), name)


def test_files_that_are_not_there(tiny_model: Path) -> None:
    for name in ("gone.txt", "gone.jsonl"):
        anyner_command("predict", "-i", name, "-m", tiny_model).assert_one_line(name, "no such file")
    anyner_command("evaluate", tiny_model, "gone.jsonl").assert_one_line("gone.jsonl", "no such file")
    anyner_command("train", "gone.yaml").assert_one_line("gone.yaml")


def test_a_file_that_is_not_there_is_told_before_the_others_are_read(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe not a text")
    command = ("predict", "-i", tmp_path / "a.txt", "-i", "nowhere.txt", "--model", tiny_model)
    anyner_command(*command).assert_one_line("nowhere.txt: no such file or folder")


def test_endings_in_capitals_are_texts_too(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "UP.TXT").write_text("Pain", encoding="utf-8")
    for source in (tmp_path, tmp_path / "UP.TXT"):
        answer = anyner_command("predict", "-i", source, "--model", tiny_model, "--format", "jsonl")
        assert answer.code == 0 and json.loads(answer.out)["text"] == "Pain"


def test_results_go_into_a_pipe_by_name(tiny_model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "found.jsonl"
    link.symlink_to(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    answer = anyner_command("predict", "Pain", "--model", tiny_model, "-o", link)
    reader.join(30)
    assert answer.code == 0 and json.loads(read[0])["text"] == "Pain"


@pytest.mark.parametrize("how", [("--refit-from", "MODEL", "-o", "x"), ("-o", "x", "--resume")])
def test_an_architecture_is_not_ignored(tiny_model: Path, how: tuple[str, ...]) -> None:
    arguments = [tiny_model if part == "MODEL" else part for part in how]
    answer = anyner_command("train", *arguments, "--architecture", "set_gner")
    assert answer.code == 2 and "--architecture and --encoder need --data" in answer.err


def test_labels_that_brat_cannot_hold_are_told_before_anything_is_read(broken_model: Path, tmp_path: Path) -> None:
    labels = json.loads((broken_model / "config.json").read_text())["labels"]
    changed_config(broken_model, labels=["Body Part", *labels[1:]])
    answer = anyner_command("predict", "Pain", "--model", broken_model, "--format", "brat", "-o", tmp_path / "found")
    answer.assert_one_line("brat cannot hold the model's label 'Body Part'")
    assert not (tmp_path / "found").exists()
