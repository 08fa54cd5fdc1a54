from __future__ import annotations

from typing import Any

import pytest

import anyner
from anyner.errors import AnynerError

CELLS = "Normal and malignant B cells express CD23 mRNA."
TEXTS = [CELLS, None, "", "Mice were fed.", CELLS]
COLUMNS = ["document", "label", "text", "start", "end", "score", "fragments"]


@pytest.fixture(scope="module")
def ner() -> anyner.Recognizer:
    return anyner.load("biomed-en")


def rows(ner: anyner.Recognizer, first: Any, last: Any) -> list[tuple[Any, ...]]:
    entities = ner.predict(CELLS).entities
    assert any(entity.discontinuous for entity in entities)
    return [
        (name, e.label, e.text, e.start, e.end, e.score, [list(one) for one in e.fragments])
        for name in (first, last)
        for e in entities
    ]


def test_pandas_rows_are_named_by_their_index(ner: anyner.Recognizer) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": [*TEXTS, float("nan")], "n": range(6)}, index=list("abcdea"))
    found = anyner.predict_frame(frame, "text", ner)
    assert list(found.columns) == COLUMNS
    assert list(found.itertuples(index=False, name=None)) == rows(ner, "a", "e")
    none = anyner.predict_frame(frame[1:4], "text", ner)
    assert len(none) == 0 and dict(none.dtypes) == dict(found.dtypes)
    with pytest.raises(AnynerError, match="there are 2 columns 'text'"):
        anyner.predict_frame(pandas.concat([frame, frame], axis=1), "text", ner)


def test_polars_rows_are_named_by_their_number(ner: anyner.Recognizer) -> None:
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.DataFrame({"text": TEXTS, "n": range(5)})
    found = anyner.predict_frame(frame, "text", ner)
    assert found.columns == COLUMNS and found.rows() == rows(ner, 0, 4)
    assert anyner.predict_frame(frame, "text", ner, thresholds={"score": 0.95}).height < found.height
    none = anyner.predict_frame(frame[1:4], "text", ner)
    assert none.height == 0 and none.schema == found.schema
    for given, column, message in [
        (frame, "body", "unknown column 'body': name the text column \\(text, n\\)"),
        (frame, "n", "column 'n', row 0: expected a text, got int"),
        (frame.lazy(), "text", "got LazyFrame: collect it first"),
        ([CELLS], "text", "expected a pandas or Polars DataFrame, got list"),
    ]:
        with pytest.raises(AnynerError, match=message):
            anyner.predict_frame(given, column, ner)
