from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.corpus import Corpus
from anyner.corpora.source_documents import with_distinct_docs
from anyner.document import Document


def _corpus(*sentences: tuple[str | None, int | None, str]) -> Corpus:
    return Corpus(tuple(Document(text, doc=doc, sentence=place) for doc, place, text in sentences))


def _docs(corpus: Corpus) -> list[str | None]:
    return [document.doc for document in corpus]


def test_another_text_at_the_same_place_is_another_document() -> None:
    one = _corpus(("train-1", 0, "Alpha"), ("train-2", 0, "Beta"))
    other = _corpus(("train-1", 0, "Gamma"), ("train-1", 1, "Delta"), ("train-3", 0, "Zeta"), (None, None, "Eta"))
    third = _corpus(("train-1", 0, "Theta"))
    first, second, last = with_distinct_docs([("a/train.conll", one), ("b/train.conll", other), ("c/train.conll", third)])
    assert first == one
    assert _docs(second) == ["train-1 (2)", "train-1 (2)", "train-3", None]
    assert _docs(last) == ["train-1 (3)"]
    (problem,) = second.problems
    assert problem.kept and str(problem).startswith(
        "b/train.conll:1: `doc` names that an earlier file uses for other texts: 1 renamed"
    )


def test_a_new_name_is_not_that_of_another_document() -> None:
    _, second = with_distinct_docs([("a", _corpus(("d", 0, "x"))), ("b", _corpus(("d", 0, "y"), ("d (2)", 0, "z")))])
    assert _docs(second) == ["d (3)", "d (2)"]


def test_parts_of_one_document_in_two_files_stay_parts_of_it() -> None:
    files = [("a", _corpus(("d", 0, "x"), ("d", 1, "y"))), ("b", _corpus(("d", 1, "y"), ("d", 2, "z"), ("d", None, "w")))]
    assert with_distinct_docs(files) == [corpus for _, corpus in files]


_Sentences = st.lists(st.tuples(st.sampled_from(["a", "b", "a (2)", None]), st.sampled_from([0, 1, None]), st.sampled_from("xy")))


@given(files=st.lists(_Sentences, max_size=4))
def test_no_two_files_have_other_texts_at_the_same_place(files: list[list[tuple[str | None, int | None, str]]]) -> None:
    corpora = [_corpus(*sentences) for sentences in files]
    apart = with_distinct_docs([(str(number), corpus) for number, corpus in enumerate(corpora)])
    assert [[one.text for one in corpus] for corpus in apart] == [[one.text for one in corpus] for corpus in corpora]
    seen: dict[tuple[str, int], str] = {}
    for corpus in apart:  # of two sentences with the same number in one file the last counts, as a neighbour too
        own = {(one.doc, one.sentence): one.text for one in corpus if one.doc is not None and one.sentence is not None}
        assert all(seen.get(place, text) == text for place, text in own.items())
        seen.update(own)
