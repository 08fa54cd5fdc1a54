"""What Spark's `mapInArrow` calls, with batches of Arrow and no Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anyner
from anyner.cluster import spark
from anyner.cluster.spark import output_schema, predict_batches
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError

TEXTS = [document.text for document in synthetic(20, contiguous=True, split="test")]


def test_batches_get_a_column_of_entities_from_a_model_that_is_loaded_once(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def counted(model: str, *arguments: object, **settings: object) -> anyner.Recognizer:
        loads.append(model)
        return anyner.load(tiny_model, "cpu", threads=1)

    monkeypatch.setattr(spark, "load", counted)
    spark._loaded.cache_clear()
    table = pa.table({"entities": ["gold"] * 21, "note": [*TEXTS, None], "n": range(21)})
    given = [*table.to_batches(max_chunksize=8), pa.RecordBatch.from_pylist([], table.schema)]
    found = list(predict_batches(iter(given), "tiny", "note", overlap="flat"))
    again = list(predict_batches(iter(given[:1]), "tiny", "note", overlap="flat"))
    spark._loaded.cache_clear()
    assert loads == ["tiny"]
    assert [len(one) for one in found] == [8, 8, 5, 0] and again[0].equals(found[0])
    assert {one.schema.equals(output_schema(table.schema)) for one in found} == {True}
    assert output_schema(table.schema).names == ["note", "n", "entities"]
    predicted = pa.Table.from_batches(found)
    assert predicted.select(["note", "n"]).equals(table.select(["note", "n"]))
    own = anyner.load(tiny_model, device="cpu", threads=1).predict([*TEXTS, ""], overlap="flat")
    for row, document in zip(predicted["entities"].to_pylist(), own, strict=True):
        assert [(one["label"], one["fragments"], one["text"]) for one in row] == [
            (one.label, [list(fragment) for fragment in one.fragments], one.text) for one in document.entities
        ]
        assert [one["score"] for one in row] == pytest.approx([one.score for one in document.entities], abs=1e-5)
    assert any(document.entities for document in own)


def test_a_missing_column_is_told(tiny_model: Path) -> None:
    with pytest.raises(AnynerError, match=r"no column 'text': name the text column \(note\)"):
        list(predict_batches([pa.RecordBatch.from_pydict({"note": ["Rome"]})], str(tiny_model)))
