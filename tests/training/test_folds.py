"""Folds share nothing, tear no text apart, and take what others hold of their documents along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.data import Splits, joined_sentences
from anyner.training.folds import Folds
from anyner.training.opinions import DocumentOpinion
from anyner.training.progress import Silent

RECIPE = Recipe.of({"data": {"synthetic": {}}}, "recipe")
JOINING = Recipe.of({"data": {"synthetic": {}, "coordinated": 0.5}}, "recipe")


def document(text: str, doc: str | None = None) -> Document:
    return Document(text, (Entity("A", ((0, 1),)),), doc=doc)


def folded(documents: Sequence[Document], folds: int) -> list[tuple[Document, ...]]:
    dealt = Folds.of(RECIPE, Path("out"), Splits(tuple(documents), (), ()), folds, Silent())
    return [dealt.documents(number) for number in range(folds)]


@given(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=4, max_size=20), st.integers(2, 4))
def test_folds_share_nothing_and_tear_no_text(docs: list[str | None], folds: int) -> None:
    documents = [document(f"text {number}", doc) for number, doc in enumerate(docs)]
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
    parts = folded([document("a b"), document("c"), document("a b"), document("d")], 2)
    assert [sorted(one.text for one in part) for part in parts] == [["a b", "a b", "d"], ["c"]]


def test_a_model_hears_what_is_held_of_the_documents_that_it_learns_from() -> None:
    documents = tuple(document(f"text {number}") for number in range(5))
    held = tuple(None if number == 3 else DocumentOpinion((), know_gaps=bool(number % 2)) for number in range(5))
    dealt = Folds.of(RECIPE, Path("out"), Splits(documents, (), (), opinions=held), 2, Silent())
    for number in range(2):
        own = dealt.splits(number)
        assert own.train == documents[1 - number :: 2] and own.dev == documents[number::2]
        assert own.opinions == held[1 - number :: 2]


def test_what_is_made_for_a_model_is_made_of_what_it_learns_from() -> None:
    documents = synthetic(60).documents
    held = (DocumentOpinion((), know_gaps=True),) * 60
    dealt = Folds.of(JOINING, Path("out"), Splits(documents, (), (), opinions=held), 2, Silent())
    for number in range(2):
        own = dealt.splits(number)
        real = documents[1 - number :: 2]
        assert own.made > 5 and own.train == (*real, *joined_sentences(real, JOINING.data, JOINING.text))
        assert own.opinions == (*held[:30], *[None] * own.made)


def test_a_fold_with_nothing_to_find_is_told_before_any_training() -> None:
    documents = [document("one"), Document("two"), document("three"), Document("four")]
    with pytest.raises(AnynerError, match="fold 2 of 2 has no entity: take fewer folds"):
        folded(documents, 2)
