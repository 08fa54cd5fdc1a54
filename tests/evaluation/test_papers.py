from anyner.document import Document, Entity
from anyner.evaluation.match import Pair, pair_documents
from anyner.evaluation.scores import RightBoundary, Score, lenient_ends, right_boundary

WORDS = ["a", "b", "c", "d", "e", "f"]


def pair(gold: list[Entity], predicted: list[Entity]) -> tuple[Pair, ...]:
    return pair_documents([Document.from_words(WORDS, gold)], [Document.from_words(WORDS, predicted)])


def test_lenient_ends_ignores_what_lies_between_and_counts_equals_once() -> None:
    gold = [Entity("A", ((0, 1), (4, 5))), Entity("A", ((0, 2), (4, 5))), Entity("B", ((2, 3),))]
    predicted = [Entity("A", ((0, 5),)), Entity("C", ((2, 3),))]
    assert lenient_ends(pair(gold, predicted)) == Score(1, 2, 2)
    assert lenient_ends(pair(gold[:1], [Entity("A", ((0, 4),))])) == Score(0, 1, 1)
    assert lenient_ends(pair(gold[:1], [Entity("A", ((1, 5),))])) == Score(0, 1, 1)


def test_right_boundary_counts() -> None:
    gold = [Entity("A", ((0, 3),)), Entity("A", ((0, 2),)), Entity("B", ((4, 6),)), Entity("B", ((1, 3),))]
    predicted = [Entity("X", ((0, 3),)), Entity("A", ((0, 4),)), Entity("B", ((5, 6),))]
    found = right_boundary(pair(gold, predicted))
    # Two predictions begin right, one of them ends right; of the gold ends c, b, f two are ends of predictions.
    assert found == RightBoundary(left_right=2, both_right=1, gold_ends=3, ends_found=2)
    assert (found.accuracy, found.recall) == (1 / 2, 2 / 3)
    assert RightBoundary(0, 0, 0, 0).accuracy == RightBoundary(0, 0, 0, 0).recall == 0.0
