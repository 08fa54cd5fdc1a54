"""Compares predictions: equal entities, with scores that differ only by rounding."""

from collections.abc import Sequence

import pytest

from anyner.document import Document

Keys = dict[tuple[str, tuple[tuple[int, int], ...]], float | None]


def keys(document: Document) -> Keys:
    return {entity.key: entity.score for entity in document.entities}


def assert_same(one: Sequence[Document], other: Sequence[Document]) -> None:
    assert [document.text for document in one] == [document.text for document in other]
    for left, right in zip(one, other, strict=True):
        assert keys(left).keys() == keys(right).keys()
        for key, score in keys(left).items():
            assert score == pytest.approx(keys(right)[key], abs=1e-5)
