import json
import re
from pathlib import Path

import pytest
from command_line import anyner_command

from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write


def test_inspect_tells_shapes_labels_and_what_cannot_be_expressed() -> None:
    answer = anyner_command("inspect", "synthetic:test", "--json")
    (part,) = json.loads(answer.out)["parts"]
    corpus = synthetic(400, split="test")
    gold = [entity for document in corpus for entity in document.entities]
    split = sum(entity.discontinuous for entity in gold)
    assert (part["documents"], part["entities"], part["discontinuous"]) == (400, len(gold), split)
    assert sum(part["labels"].values()) == len(gold)
    every = ["crossing", "discontinuous", "flat", "nested"]
    assert part["architectures"]["biaffine"] == {"shapes": every, "unreachable": 0, "reasons": {}}
    text = anyner_command("inspect", "synthetic:test").out
    assert "problems: 0" in text and "splitter: 0" in text


def test_inspect_names_what_an_architecture_cannot_express(tmp_path: Path) -> None:
    both = [{"label": label, "fragments": [[0, 4]]} for label in "AB"]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "pain", "entities": both}))
    (part,) = json.loads(anyner_command("inspect", tmp_path / "a.jsonl", "--json").out)["parts"]
    assert part["architectures"]["locate_label"]["reasons"] == {"a second label on the same words": 1}
    assert part["architectures"]["biaffine"]["unreachable"] == 0


def test_inspect_looks_at_each_split_of_a_folder(tmp_path: Path) -> None:
    for split, size in (("train", 9), ("dev", 5), ("test", 3)):
        write(synthetic(size, split=split), tmp_path / f"{split}.jsonl", "jsonl")  # type: ignore[arg-type]
    parts = json.loads(anyner_command("inspect", tmp_path, "--json").out)["parts"]
    assert [(part["name"], part["documents"]) for part in parts] == [("train", 9), ("dev", 5), ("test", 3)]
    embedded = json.loads(anyner_command("inspect", "synthetic:contiguous", "--json").out)["parts"]
    assert [part["name"] for part in embedded] == ["train", "dev", "test"]
    assert all(part["discontinuous"] == part["crossing"] == 0 for part in embedded)


def test_inspect_counts_entities_that_do_not_sit_on_words(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    item = {"tokens": ["(pain", ")"], "entities": [{"label": "X", "fragments": [[0, 1]]}, {"label": "X", "fragments": [[1, 2]]}]}
    inside = {"text": "painful", "entities": [{"label": "X", "fragments": [[0, 4]]}]}
    file.write_text(f"{json.dumps(item)}\n{json.dumps(inside)}\n")
    by_unicode = anyner_command("inspect", file).out
    assert "unicode splitter: 1\n" in by_unicode and "'pain' [[0, 4]] is not on word boundaries" in by_unicode
    by_space = json.loads(anyner_command("inspect", file, "--splitter", "whitespace", "--json").out)
    assert len(by_space["parts"][0]["misaligned"]) == 1


def _bad_lines(count: int) -> str:
    """Lines with a problem of a different kind each: those of one kind would be grouped."""
    dropped = ("ents", "ner", "ner_tags", "tags", "iob", "annotations", "relations")
    kept = ("id", "doc", "sentence", "before", "after", "coverage")
    return "".join(json.dumps({"text": "x", key: [{}]}) + "\n" for key in (*dropped, *kept)[:count])


def test_inspect_shows_ten_problems_or_all(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "x", "entities": []}\n' + _bad_lines(13))
    answer = anyner_command("inspect", file)
    assert answer.code == 0 and "problems: 13" in answer.out and "and 3 more" in answer.out
    assert f"{file}:11:" in answer.out and f"{file}:12:" not in answer.out
    assert f"{file}:14:" in anyner_command("inspect", file, "--problems").out


def test_thousands_of_rejected_records_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    span = {"start": 0, "end": 4, "label": "X"}
    records: list[dict[str, object]] = [
        {"text": "pain", "spans": [span], "answer": answer} for answer in ["reject"] * 2000 + ["accept"]
    ]
    outside = {"text": "pain", "spans": [span | {"end": 99}], "answer": "accept"}
    file.write_text("".join(json.dumps(record) + "\n" for record in [*records, outside]))
    rejected = f'{file}:1: a record with "answer": "reject" is not read (dropped), and 1,999 more like it'
    beyond = f"{file}:2002: entity 'X' [[0, 99]]: fragment [0, 99) is out of range: 'pain' has 4 characters (dropped)"
    out = anyner_command("inspect", file).out
    assert out.endswith(f"problems: 2,001\n  {rejected}\n  {beyond}\n")
    assert ["entities", "1"] in [line.split() for line in out.splitlines()]
    printed = anyner_command("convert", file, tmp_path / "b.jsonl").err
    assert printed == f"2,001 problems while reading (2,001 dropped):\n  {rejected}\n  {beyond}\n"
    every = anyner_command("inspect", file, "--problems").out
    assert every.count("is not read (dropped)") == 2000 and f"{file}:2000:" in every


def test_inspect_reads_a_dataset_of_hugging_face(tmp_path: Path) -> None:
    names = {"feature": {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
    record = {"tokens": ["Kofi", "Annan", "spoke"], "ner_tags": [1, 2, 0]}
    for split in ("train", "validation"):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(record) + "\n" + json.dumps(record | {"ner_tags": [1, 2]}) + "\n")
    anyner_command("inspect", tmp_path).assert_one_line("train.jsonl:1:", "numbers without names", "dataset_info.json")
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": {"ner_tags": names}}))
    train, dev = json.loads(anyner_command("inspect", tmp_path, "--json").out)["parts"]
    assert (train["name"], train["labels"], dev["name"], dev["labels"]) == ("train", {"PER": 1}, "dev", {"PER": 1})
    (problem,) = train["problems"]
    assert (problem["line"], problem["kept"]) == (2, False) and "3 tokens, but 2 tags" in problem["what"]


def test_a_training_on_one_file_is_told_how_to_get_dev(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "pain", "entities": [[0, 4, "X"]]}\n')
    answer = anyner_command("train", "--data", tmp_path / "a.jsonl", "-o", tmp_path / "model")
    answer.assert_one_line("a.jsonl: is a file", "a file train.*", "a tenth of train is held out")


def test_convert_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.corpus._SIZES", {"test": 100})
    gold = synthetic(100, split="test")
    assert anyner_command("convert", "synthetic", tmp_path / "a.jsonl.gz").code == 0
    assert anyner_command("convert", tmp_path / "a.jsonl.gz", tmp_path / "brat", "--to", "brat").code == 0
    assert anyner_command("convert", tmp_path / "brat", tmp_path / "b.jsonl", "--from", "brat").code == 0
    assert read(tmp_path / "b.jsonl").documents == gold.documents == read(tmp_path / "a.jsonl.gz").documents


def test_convert_through_stdin_and_stdout(tmp_path: Path) -> None:
    first = anyner_command("convert", "synthetic:contiguous:dev", "-", "--to", "jsonl")
    assert first.code == 0 and len(first.out.splitlines()) == 200
    second = anyner_command("convert", "-", tmp_path / "x.jsonl", stdin=first.out)
    assert (second.code, second.err) == (0, "")
    assert read(tmp_path / "x.jsonl").documents == synthetic(200, contiguous=True, split="dev").documents
    anyner_command("convert", "-", "-", "--to", "jsonl", stdin="nonsense").assert_one_line("standard input")
    anyner_command("convert", "synthetic", "-", "--to", "brat").assert_one_line("folder")
    anyner_command("convert", "synthetic", "-", "--to", "conll").assert_one_line("standard output")


def test_convert_refuses_to_lose_anything_unless_told_to(tmp_path: Path) -> None:
    out = tmp_path / "a.conll"
    anyner_command("convert", "synthetic", out).assert_one_line("a.conll", "conll cannot hold")
    assert list(tmp_path.iterdir()) == []
    answer = anyner_command("convert", "synthetic", out, "--lossy")
    assert answer.code == 0 and out.exists()
    head, *listed = [line for line in answer.err.splitlines() if "no place" not in line]
    counts = [1 + int(more[1]) if (more := re.search(r"and ([0-9,]+) more like it$", line)) else 1 for line in listed]
    assert int(head.split()[0]) == sum(counts) > 100
    assert 1 < len(listed) < 5 and all("(gone)" in line or "(changed)" in line for line in listed)
    assert sum(len(document.entities) for document in read(out)) > 100


def test_convert_tells_what_it_could_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x", "entities": []}\n' + _bad_lines(7))
    answer = anyner_command("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert answer.code == 0 and len(read(tmp_path / "b.jsonl")) == 8
    assert "7 problems while reading (7 dropped)" in answer.err and "a.jsonl:6:" in answer.err and "and 2 more" in answer.err


@pytest.mark.parametrize("name", ["out.json", "out.txt", "out"])
def test_convert_needs_the_format_when_the_name_does_not_tell(tmp_path: Path, name: str) -> None:
    anyner_command("convert", "synthetic", tmp_path / name).assert_one_line("--to", "w2ner")
    anyner_command("convert", "synthetic", tmp_path / name, "--to", "parchment").assert_one_line("parchment")


@pytest.mark.parametrize("name", ["synthetic:odd", "synthetic:train:dev", "synthetic:train:contiguous"])
def test_names_of_the_embedded_corpus_are_checked(name: str) -> None:
    anyner_command("inspect", name).assert_one_line(name, "synthetic[:contiguous][:train|dev|test]")


def test_raw_text_becomes_a_format_of_words_with_a_splitter(tmp_path: Path) -> None:
    refused = anyner_command("convert", "synthetic:contiguous:dev", tmp_path / "dev.json", "--to", "w2ner")
    assert refused.code == 1 and "word boundaries" in refused.err
    written = anyner_command(
        "convert", "synthetic:contiguous:dev", tmp_path / "dev.json", "--to", "w2ner", "--splitter", "unicode"
    )
    assert (written.code, written.err) == (0, "w2ner has no place for: ids (200)\n")
    before, after = synthetic(200, contiguous=True, split="dev"), read(tmp_path / "dev.json")
    assert [[e.text.replace(" ", "") for e in d.entities] for d in after] == [
        [e.text.replace(" ", "") for e in d.entities] for d in before
    ]
    bad = anyner_command("convert", "synthetic:dev", tmp_path / "x.json", "--to", "w2ner", "--splitter", "nonsense")
    assert bad.code == 2 and "unicode" in bad.err


def test_a_splitter_loses_nothing_in_silence(tmp_path: Path) -> None:
    one = {"tokens": ["Mild", "pain"], "before": "Before .", "after": "After .", "entities": []}
    two = {"text": "Aspirin-C", "entities": [{"label": "D", "start": 0, "end": 7}, {"label": "D", "start": 0, "end": 6}]}
    (tmp_path / "in.jsonl").write_text(json.dumps(one) + "\n" + json.dumps(two) + "\n", encoding="utf-8")
    answer = anyner_command("convert", tmp_path / "in.jsonl", "-", "--to", "jsonl-tokens", "--splitter", "unicode")
    assert answer.code == 0, answer
    first, second = (json.loads(line) for line in answer.out.splitlines())
    assert (first["before"], first["after"]) == ("Before .", "After .")
    assert len(second["entities"]) == 1
    assert "1 entity became equal to others (dropped)" in answer.err
