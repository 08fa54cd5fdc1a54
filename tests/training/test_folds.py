"""Folds share nothing, tear no text apart, and take what others hold of their documents along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.data import Splits
from anyner.training.folds import Folds
from anyner.training.opinions import DocumentOpinion

RECIPE = Recipe.of({"data": {"synthetic": {}}}, "recipe")


def folded(documents: Sequence[Document], folds: int) -> list[tuple[Document, ...]]:
    dealt = Folds.of(RECIPE, Path("out"), Splits(tuple(documents), (), ()), folds)
    return [dealt.documents(number) for number in range(folds)]


@given(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=4, max_size=20), st.integers(2, 4))
def test_folds_share_nothing_and_tear_no_text(docs: list[str | None], folds: int) -> None:
    documents = [Document(f"text {number}", doc=doc) for number, doc in enumerate(docs)]
    if len({doc for doc in docs if doc}) + docs.count(None) < folds:
        with pytest.raises(AnynerError, match=f"too few for {folds} folds"):
            folded(documents, folds)
        return
    parts = folded(documents, folds)
    assert sorted(one.text for part in parts for one in part) == sorted(one.text for one in documents)
    assert all(parts)
    homes = [{one.doc for one in part} - {None} for part in parts]
    assert sum(map(len, homes)) == len(set().union(*homes))


def test_equal_texts_are_read_by_a_model_that_learned_from_neither() -> None:
    parts = folded([Document("a b"), Document("c"), Document("a b"), Document("d")], 2)
    assert [sorted(one.text for one in part) for part in parts] == [["a b", "a b", "d"], ["c"]]


def test_a_model_hears_what_is_held_of_the_documents_that_it_learns_from() -> None:
    documents = tuple(Document(f"text {number}") for number in range(5))
    held = tuple(None if number == 3 else DocumentOpinion((), know_gaps=bool(number % 2)) for number in range(5))
    dealt = Folds.of(RECIPE, Path("out"), Splits(documents, (), (), opinions=held), 2)
    for number in range(2):
        own = dealt.splits(number)
        assert own.train == documents[1 - number :: 2] and own.dev == documents[number::2]
        assert own.opinions == held[1 - number :: 2]
