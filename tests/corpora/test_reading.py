from __future__ import annotations

import gzip
import json
import lzma
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from anyner.corpora import textfiles
from anyner.corpora.reading import FORMATS, read, read_splits
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

DOCUMENT = Document.from_words(["Pain", "now"], [Entity("ADR", ((0, 1),))])
TEXT_FILES = [one.name for one in FORMATS if not one.needs and not one.writes_folder]
NAMES = ", ".join(one.name for one in FORMATS)


def _message(path: Path, name: str | None = None) -> str:
    with pytest.raises(AnynerError) as caught:
        read(path, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_unknown_and_unrecognised(tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("Once upon a time\nthere was a corpus.\n")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert _message(tmp_path / "no.jsonl") == f"{tmp_path / 'no.jsonl'}: no such file or folder"
    assert "no such file" in _message(tmp_path / "no.jsonl", "conll")
    assert NAMES in _message(prose, "xml")
    assert "not in a known format" in _message(prose)
    assert NAMES in _message(prose)
    assert _message(empty) == f"{empty}: is empty: remove it, or put documents into it"
    prose.write_text('[{"words": "Pain now", "labels": []}]')
    assert 'is a list of objects with the keys labels, words: expected "text" or "tokens" in each (jsonl)' in _message(prose)
    prose.write_bytes('{"text": "Pain now"}'.encode("utf-16-le"))
    assert "is binary, or UTF-16 without a byte order mark: save it as UTF-8 text" in _message(prose)
    assert read(empty, "jsonl").documents == ()


def test_a_named_format_wins_over_the_content(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write([DOCUMENT], path, "jsonl")
    assert "not a JSON list" in _message(path, "w2ner")


def test_ambiguous_content_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a\tB-P\n")
    assert len(read(tmp_path / "x.txt")) == 1
    (tmp_path / "x.ann").write_text("")
    assert "could be conll or brat" in _message(tmp_path / "x.txt")
    assert read(tmp_path / "x.txt", "brat").documents[0].text == "a\tB-P\n"


def test_when_all_lines_are_bad_the_first_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{\n{\n")
    assert f"{tmp_path / 'x.jsonl'}:1: not valid JSON" in _message(tmp_path / "x.jsonl")


@pytest.mark.parametrize("name", TEXT_FILES)
def test_text_that_is_not_utf8_names_its_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    write([DOCUMENT, DOCUMENT], path, name)
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + b"caf\xe9\n")
    assert f"{path}:{lines + 1}: not UTF-8 text (byte 0xe9)" in _message(path, name)


def test_brat_text_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.ann").write_bytes(b"")
    (tmp_path / "x.txt").write_bytes(b"a\nb\ncaf\xe9")
    assert f"{tmp_path / 'x.txt'}:3: not UTF-8" in _message(tmp_path)


@pytest.mark.parametrize("name", TEXT_FILES)
def test_packed_files_marks_and_carriage_returns(tmp_path: Path, name: str) -> None:
    write([DOCUMENT], tmp_path / "x", name)
    plain = (tmp_path / "x").read_bytes()
    windows = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    for number, content in enumerate([windows, gzip.compress(plain), lzma.compress(windows)]):
        path = tmp_path / f"packed{number}"
        path.write_bytes(content)
        (document,) = read(path)
        assert (document.text, document.entities) == (DOCUMENT.text, DOCUMENT.entities)


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(b"x" * 99)[:-9], lzma.compress(b"x" * 99)[:-9], gzip.compress(b"{}")[:4] + b"zzzz" * 9],
    ids=["gz-cut", "xz-cut", "gz-nonsense"],  # gzip holds the time: it must not be in a test's name
)
def test_a_damaged_packed_file(tmp_path: Path, packed: bytes) -> None:
    (tmp_path / "x.gz").write_bytes(packed)
    assert "cannot be read" in _message(tmp_path / "x.gz")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_a_damaged_further_part_of_a_packed_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.jsonl"
    first, second = pack(b'{"text": "a"}\n' * 3), pack(b'{"text": "b"}\n')
    path.write_bytes(first + bytes(4) + second)
    assert len(read(path)) == 4
    path.write_bytes(first + b"?" + second[1:])
    assert f"{path}:4: cannot be read further: the compressed file is damaged here or before" in _message(path)


def test_utf16_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = '{"text": "😀 é"}\r\n{"text": "b\u2028c"}\n'
    for content in (lines.encode("utf-16"), b"\xfe\xff" + lines.encode("utf-16-be"), gzip.compress(lines.encode("utf-16"))):
        path.write_bytes(content)
        assert [document.text for document in read(path)] == ["😀 é", "b\u2028c"]
    path.write_bytes(lines.encode("utf-16")[:-1])
    assert "ends inside a UTF-16 character" in _message(path)
    path.write_bytes(b"\xff\xfe" + 'x\n"\ud800"'.encode("utf-16-le", "surrogatepass"))
    assert f"{path}:2: not UTF-8 text (byte 0xed)" in _message(path, "conll")


@pytest.mark.parametrize("pack", [gzip.compress, partial(lzma.compress, preset=0)], ids=["gz", "xz"])
@pytest.mark.parametrize("content", [b"0" * 8_000_000, b"[]\n" * 3_000_000], ids=["one line", "many lines"])
def test_a_packed_file_that_unpacks_to_far_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], content: bytes
) -> None:
    path = tmp_path / "bomb.jsonl"
    path.write_bytes(pack(content))
    monkeypatch.setattr(textfiles, "_UNPACKED", 200_000, raising=False)
    tracemalloc.start()
    try:
        for look in (lambda: textfiles.whole_text(path), lambda: sum(len(line) for _, line in textfiles.numbered_lines(path))):
            with pytest.raises(AnynerError) as caught:
                look()
            assert str(caught.value) == f"{path}: unpacks to more than 0.0002 GB: unpack it first"
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(textfiles, "_UNPACKED", 50_000_000)
    assert len(textfiles.whole_text(path)) == len(content)


def test_a_large_packed_file_may_unpack_to_a_multiple_of_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.txt.gz"
    text = "".join(f"{number * number}\n" for number in range(20_000))
    path.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(textfiles, "_UNPACKED", 1000, raising=False)
    assert textfiles.whole_text(path) == text
    assert "".join(f"{line}\n" for _, line in textfiles.numbered_lines(path)) == text


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("jsonl", '{"text": "fine"}\n{"text": "Pain now", "entities": [{"label": "ADR", "fragments": [[5, 99]]}]}\n', 2),
        ("jsonl", '{"text": "Pain now", "spans": [{"label": "ADR", "start": -1, "end": 4}]}\n', 1),
        ("jsonl", '["Pain now", {"entities": [[0, 9, "ADR"]]}]\n', 1),
        ("jsonl", '{"text": "Pain now", "labels": [[0, 9, "ADR"]]}\n', 1),
        ("jsonl-tokens", '{"tokens": ["Pain", "now"], "entities": [{"label": "ADR", "start": 1, "end": 3}]}\n', 1),
        ("spans", '[\n{"tokens": ["Pain", "now"], "entities": [{"type": "ADR", "start": 1, "end": 3}]}]\n', 2),
        ("w2ner", '[\n{"sentence": ["Pain", "now"], "ner": [{"type": "ADR", "index": [2]}]}]\n', 2),
        ("dai", "Pain now\n0,2 ADR\n\n", 2),
        ("brat", "T1\tADR 0 4\tPain\nT2\tADR 5 99\tnow\n", 2),
    ],
)
def test_a_position_outside_the_text_names_file_line_and_text(tmp_path: Path, name: str, content: str, line: int) -> None:
    path = tmp_path / "x.ann"
    path.write_text(content)
    (tmp_path / "x.txt").write_text("Pain now")  # what the brat file is about; the others stand alone
    (problem,) = read(path, name).problems
    assert (problem.file, problem.line, problem.kept) == (str(path), line, False)
    length = "8 characters" if name in {"jsonl", "brat"} else "2 words"
    assert f"out of range: 'Pain now' has {length}" in problem.what


def test_a_table_of_texts_is_sent_to_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "notes.CSV").write_text("id,text\n1,Pain now\n")
    assert "to predict on a column of texts, use anyner.predict_frame" in _message(tmp_path / "notes.CSV")
    assert "to train on words with tags, write WORD, a tab and TAG" in _message(tmp_path / "notes.CSV")


def test_folders(tmp_path: Path) -> None:
    assert "without .ann files" in _message(tmp_path)
    write([DOCUMENT], tmp_path / "train.jsonl", "jsonl")
    write([DOCUMENT], tmp_path / "dev.json", "w2ner")
    assert "(train.jsonl, dev.json): name one of them" in _message(tmp_path)
    assert "is a folder" in _message(tmp_path, "jsonl")


def test_splits_of_mixed_formats(tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / "train", "brat")
    write([DOCUMENT, DOCUMENT], tmp_path / "valid.conll.gz", "conll")
    (tmp_path / "README.md").write_text("hello")
    splits = read_splits(tmp_path)
    assert splits.dev is not None
    assert (len(splits.train), len(splits.dev), splits.test) == (1, 2, None)


def test_splits_of_brat_pairs_in_one_folder(tmp_path: Path) -> None:
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text(name)
        (tmp_path / f"{name}.ann").write_text("")
    splits = read_splits(tmp_path)
    assert [document.text for document in splits.train] == ["train"]
    assert splits.dev is None


def test_a_split_in_numbered_files(tmp_path: Path) -> None:
    texts = {"train-00001-of-00002.jsonl": "b", "train-00000-of-00002.jsonl": "a", "Validation.jsonl": "c"}
    for name, text in texts.items():
        write([Document(text)], tmp_path / name, "jsonl")
    splits = read_splits(tmp_path)
    assert splits.dev is not None
    assert [[document.text for document in part] for part in (splits.train, splits.dev)] == [["a", "b"], ["c"]]
    write([DOCUMENT], tmp_path / "train.jsonl", "jsonl")
    with pytest.raises(AnynerError, match="several train corpora"):
        read_splits(tmp_path)
    (tmp_path / "train.jsonl").unlink()
    (tmp_path / "train-00001-of-00002.jsonl").unlink()
    with pytest.raises(AnynerError, match=r"train has 2 files by their names, found 1: train-00000-of-00002\.jsonl"):
        read_splits(tmp_path)


def test_splits_that_are_missing_or_doubled(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="no such folder"):
        read_splits(tmp_path / "no")
    (tmp_path / "a.jsonl").write_text("{}")
    with pytest.raises(AnynerError, match=r"a\.jsonl: is a file: expected a folder with files named train\.\* and dev\.\*"):
        read_splits(tmp_path / "a.jsonl")
    with pytest.raises(AnynerError, match=r"no train corpus: expected .*; found a\.jsonl$"):
        read_splits(tmp_path)
    for name in ("train.jsonl", "train.jsonl.xz"):
        write([DOCUMENT], tmp_path / name, "jsonl")
    with pytest.raises(AnynerError, match=r"several train corpora: train\.jsonl, train\.jsonl\.xz"):
        read_splits(tmp_path)


@pytest.mark.parametrize("tags", [["NNP", "VBD"], ["NNP"], "NNP", None])
@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("jsonl", {"text": "Kofi spoke", "words": [[0, 4], [5, 10]]}),
        ("jsonl", {"tokens": ["Kofi", "spoke"]}),
        ("spans", {"tokens": ["Kofi", "spoke"], "entities": []}),
    ],
)
def test_part_of_speech_tags_are_not_read(tmp_path: Path, name: str, item: dict[str, object], tags: object) -> None:
    path = tmp_path / "corpus"
    line = json.dumps(item | {"pos": tags})
    path.write_text(line if name == "jsonl" else f"[{line}]", encoding="utf-8")
    corpus = read(path, name)
    assert corpus.documents == (Document.from_words(["Kofi", "spoke"]),)
    assert corpus.problems == ()


def test_columns_between_word_and_tag_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.conll"
    path.write_text("-DOCSTART- -X- -X- O\n\nKofi NNP B-NP B-PER\nspoke O\n\nYes _ O\n", encoding="utf-8")
    corpus = read(path)
    assert [(document.text, document.sentence) for document in corpus] == [("Kofi spoke", 0), ("Yes", 1)]
    assert corpus.problems == ()


def test_a_second_column_of_entity_tags_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "corpus.conll"
    path.write_text("# source\t[2009]\n1\tKofi\tB-PER\tO\n2\tspoke\tO\tO\n\n1\tParis\tB-LOC\tB-LOC\n", encoding="utf-8")
    (problem,) = read(path).problems
    assert str(problem) == f"{path}: column 3 has entity tags such as 'B-LOC': only the last column is read (dropped)"
