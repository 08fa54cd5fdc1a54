from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from anyner.corpora.formats import arrow
from anyner.corpora.reading import read, read_splits, recognised
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

FILES = Path(__file__).parent.parent / "files"
TAGGED = Document.from_words(["Zoë", "Alden", "left", "Kelford"], [Entity("Person", ((0, 2),)), Entity("Place", ((3, 4),))])

pytest.importorskip("pyarrow", reason="the extra parquet is not installed")


@pytest.mark.parametrize("name", ["tags.parquet", "saved"])
def test_tag_columns_that_datasets_wrote(name: str) -> None:
    corpus = read(FILES / name)
    assert corpus.documents == (TAGGED, Document.from_words(["Yes"]))
    assert corpus.problems == ()


def test_span_columns_that_datasets_wrote() -> None:
    (document,) = read(FILES / "spans.parquet")
    assert [entity.text for entity in document.entities] == ["Zoë Alden", "Zoë", "Cryoprin", "Kelford"]


def test_a_folder_of_several_saved_splits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        shutil.copytree(FILES / "saved", tmp_path / split)
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    splits = read_splits(tmp_path)
    assert splits.test is not None and splits.train.documents == splits.test.documents


def test_tags_are_numbers_with_names_in_the_metadata(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write([TAGGED], tmp_path / "x.parquet", "parquet-tags")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table["ner_tags"].to_pylist() == [[1, 2, 0, 3]]
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["ner_tags"]["feature"]["names"] == ["O", "B-Person", "I-Person", "B-Place", "I-Place"]
    assert recognised(tmp_path / "x.parquet").name == "parquet"


def test_data_files_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    shutil.copytree(FILES / "saved", tmp_path / "saved")
    for state in ({"_data_files": [{"filename": "../secret.arrow"}]}, {"_data_files": 3}, []):
        (tmp_path / "saved" / "state.json").write_text(json.dumps(state))
        with pytest.raises(AnynerError, match=r"state\.json: (a data file is not in the folder itself|lists no data files)$"):
            read(tmp_path / "saved")


@pytest.mark.parametrize("form", ["parquet", "datasets"])
def test_a_table_that_unpacks_to_far_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    write([Document("a" * 1_000_000)], tmp_path / "x", form)
    monkeypatch.setattr(arrow, "_LARGEST", 1000)
    monkeypatch.setattr(arrow, "_LARGEST_RATIO", 0)
    with pytest.raises(AnynerError, match="unpacks to more than"):
        read(tmp_path / "x")


def test_more_rows_than_one_batch(tmp_path: Path) -> None:
    documents = tuple(Document(f"text {number}") for number in range(2001))
    for name in ("parquet", "datasets"):
        write(documents, tmp_path / name, name)
        assert read(tmp_path / name).documents == documents


@pytest.mark.parametrize("number", [-1, 2**31 - 1])
def test_wrong_numbers_in_a_table_never_read_outside_of_its_memory(tmp_path: Path, number: int) -> None:
    shutil.copytree(FILES / "saved", tmp_path / "saved")
    (file,) = (tmp_path / "saved").glob("*.arrow")
    content = file.read_bytes()
    for place in range(0, len(content) - 4, 4):
        file.write_bytes(content[:place] + number.to_bytes(4, "little", signed=True) + content[place + 4 :])
        try:
            assert len(read(tmp_path / "saved")) <= 2
        except AnynerError as error:
            assert "\n" not in str(error)
