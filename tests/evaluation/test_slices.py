from anyner.corpora.wordform import WordExtent, WordRuler
from anyner.document import Document, Entity
from anyner.evaluation.match import pair_documents
from anyner.evaluation.slices import Slice, slice_scores, surface_forms

WORDS = ["severe", "pain", "in", "the", "left", "hip", "and", "knees", "today"]
# word places:  0        1       2     3      4       5      6      7        8


def document(*entities: tuple[str, list[tuple[int, int]]], words: list[str] = WORDS) -> Document:
    return Document.from_words(words, [Entity(label, tuple(fragments)) for label, fragments in entities])


def slices(gold: list[Document], predicted: list[Document], **options: object) -> dict[tuple[str, str], Slice]:
    found = slice_scores(pair_documents(gold, predicted), **options)  # type: ignore[arg-type]
    return {(part.group, part.name): part for part in found}


def counts(part: Slice) -> tuple[int, int, int, int]:
    return (part.found, part.gold, part.right, part.predicted)


HIP = ("D", [(1, 6)])
KNEES = ("D", [(1, 4), (7, 8)])
SEVERE = ("D", [(0, 6)])
LEFT = ("S", [(4, 5)])


def test_length_fragments_and_gap() -> None:
    found = slices([document(HIP, KNEES, LEFT)], [document(KNEES, ("S", [(4, 6)]))])
    assert counts(found["length", "1"]) == (0, 1, 0, 0)
    assert counts(found["length", "2"]) == (0, 0, 0, 1)
    assert counts(found["length", "4"]) == (1, 1, 1, 1)
    assert counts(found["length", "5"]) == (0, 1, 0, 0)
    assert counts(found["fragments", "1"]) == (0, 2, 0, 1)
    assert counts(found["fragments", "2"]) == (1, 1, 1, 1)
    assert counts(found["gap", "3"]) == (1, 1, 1, 1)
    assert not any(group == "gap" and name != "3" for group, name in found)


def test_shapes_are_judged_in_each_set_by_itself() -> None:
    found = slices([document(SEVERE, HIP, LEFT, KNEES, ("T", [(8, 9)]))], [document(HIP, ("T", [(8, 9)]))])
    assert counts(found["shape", "flat"]) == (1, 1, 2, 2)
    assert counts(found["shape", "overlapped"]) == (1, 4, 0, 0)
    assert counts(found["shape", "inner"]) == (1, 2, 0, 0)  # HIP in SEVERE, LEFT in both
    assert counts(found["shape", "outer"]) == (1, 2, 0, 0)
    assert counts(found["shape", "nested"]) == (1, 3, 0, 0)
    assert counts(found["shape", "crossing"]) == (1, 3, 0, 0)  # KNEES crosses SEVERE and HIP
    assert [counts(found["depth", name]) for name in "012"] == [(1, 3, 2, 2), (1, 1, 0, 0), (0, 1, 0, 0)]


def test_same_fragments_are_overlapped_but_not_nested() -> None:
    both = document(LEFT, ("D", LEFT[1]))
    found = slices([both], [both])
    assert counts(found["shape", "same fragments"]) == counts(found["shape", "overlapped"]) == (2, 2, 2, 2)
    assert ("shape", "nested") not in found
    assert ("shape", "flat") not in found


def test_a_discontinuous_entity_inside_one_with_the_same_ends() -> None:
    found = slices([document(KNEES, ("S", [(1, 8)]))], [document(KNEES)])
    assert counts(found["shape", "inner"]) == (1, 1, 0, 0)
    assert counts(found["shape", "outer"]) == (0, 1, 0, 0)


def test_an_entity_that_touches_no_word_counts_as_one_word() -> None:
    dash = Document("a - b", (Entity("A", ((2, 3),)),), words=((0, 1), (4, 5)))
    assert WordRuler(dash).extent(dash.entities[0]) == WordExtent(first=1, last=1, length=1, gap=0)
    assert counts(slices([dash], [dash])["length", "1"]) == (1, 1, 1, 1)


def test_discontinuous_two_ways() -> None:
    gold = [document(KNEES, LEFT), document(LEFT), document(LEFT)]
    predicted = [document(LEFT, HIP), document(LEFT), document(KNEES)]
    found = slices(gold, predicted)
    assert counts(found["discontinuous", "mentions"]) == (0, 1, 0, 1)
    assert counts(found["discontinuous", "sentences"]) == (1, 2, 1, 2)


def test_seen_and_unseen_surfaces() -> None:
    gold = [document(LEFT, HIP)]
    predicted = [document(LEFT, KNEES)]
    assert not any(group == "surface" for group, _ in slices(gold, predicted))
    train = surface_forms([document(("X", [(0, 1)]), words=["LEFT"])])
    found = slices(gold, predicted, train_surfaces=train)
    assert counts(found["surface", "seen"]) == (1, 1, 1, 1)
    assert counts(found["surface", "unseen"]) == (0, 1, 0, 1)
    assert slices(gold, predicted, train_surfaces=["Left"]) == found


def test_words_are_the_given_ones_or_those_between_white_space() -> None:
    raw = Document("pain-free day", (Entity("A", ((0, 9),)),))
    assert ("length", "1") in slices([raw], [raw])
    given = Document("pain-free day", (Entity("A", ((0, 9),)),), words=((0, 4), (4, 5), (5, 9), (10, 13)))
    assert ("length", "3") in slices([given], [given])


def test_fragments_of_one_word_count_it_once() -> None:
    half = Document("anti-viral-drug use", (Entity("A", ((0, 4), (10, 15))),))
    found = slices([half], [half])
    assert counts(found["length", "1"]) == counts(found["gap", "0"]) == (1, 1, 1, 1)


def test_ratios_come_from_their_own_counts() -> None:
    part = Slice("shape", "inner", found=1, gold=4, right=1, predicted=2)
    assert (part.recall, part.precision, part.f1) == (0.25, 0.5, 1 / 3)
    assert Slice("shape", "inner", 0, 0, 0, 3).f1 == 0.0
