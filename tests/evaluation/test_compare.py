"""Two systems on the same documents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.compare import Outcome, compare_documents
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.report import difference_line, error_line, render_comparison

TEXT = "abcdefgh"
ONE = [Entity(label, ((place, place + 2),)) for label in "AB" for place in range(6)]


def document(entities: set[int]) -> Document:
    return Document(TEXT, tuple(ONE[place] for place in entities), id="d")


SETS = st.sets(st.integers(0, len(ONE) - 1))


@given(st.lists(st.tuples(SETS, SETS, SETS), min_size=1, max_size=3))
def test_every_entity_is_counted_once(sets: list[tuple[set[int], set[int], set[int]]]) -> None:
    gold, a, b = ([document(one) for one in side] for side in zip(*sets, strict=True))
    paired = compare_documents(gold, a, b, resamples=20)
    counts = paired.outcomes
    assert paired.both_found + counts[Outcome.ONLY_A_FOUND] == paired.a.strict.correct
    assert paired.both_found + counts[Outcome.ONLY_B_FOUND] == paired.b.strict.correct
    assert paired.both_found + paired.both_missed + counts[Outcome.ONLY_A_FOUND] + counts[Outcome.ONLY_B_FOUND] == sum(
        len(one.entities) for one in gold
    )
    wrong = [(set(of_a) - set(right), set(of_b) - set(right)) for right, of_a, of_b in sets]
    assert counts[Outcome.ONLY_A_WRONG] == sum(len(one - other) for one, other in wrong)
    assert counts[Outcome.ONLY_B_WRONG] == sum(len(other - one) for one, other in wrong)
    assert paired.test.difference == pytest.approx(paired.a.strict.f1 - paired.b.strict.f1)
    json.dumps(paired.to_json())


def test_what_is_printed() -> None:
    gold, a, b = document({0, 3}), document({0, 4}), document({3})
    paired = compare_documents([gold], [a], [b], resamples=20)
    assert [difference_line(one) for one in paired.differences] == [
        'only A found it              d: A 0-2 "ab"',
        'only B found it              d: A 3-5 "de"',
        'only A predicted it wrongly  d: A 4-6 "ef"',
    ]
    printed = render_comparison(paired, ("one", "other"))
    assert printed.startswith("A: one\nB: other\nstrict micro F1 of A minus B: -16.67 (95 % interval -16.67 to -16.67; paired")
    assert "only A found it                   1" in printed
    assert [error_line(case) for case in evaluate_documents([gold], [a]).errors] == ['boundary       d: A 3-5 "de" -> A 4-6 "ef"']
    scored = a.with_entities([entity.rescored(0.876) for entity in a.entities])
    assert error_line(evaluate_documents([gold], [scored]).errors[0]).endswith('-> A 4-6 0.88 "ef"')
    assert evaluate_documents([gold], [a]).errors[0].to_json()["cause"] == "boundary"


def test_different_documents_are_refused() -> None:
    with pytest.raises(AnynerError, match="text differ"):
        compare_documents([document(set())], [document(set())], [Document("other")])
