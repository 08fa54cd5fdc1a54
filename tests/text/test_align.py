"""Characters <-> words, compared with an oracle that checks every word and every character."""

from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.fragments import Fragments
from anyner.text.align import Aligned, WordEntity, to_characters, to_words
from anyner.text.words import iterate_words


def runs(covered: set[int]) -> Fragments:
    starts = [p for p in sorted(covered) if p - 1 not in covered]
    ends = [p + 1 for p in sorted(covered) if p + 1 not in covered]
    return tuple(zip(starts, ends, strict=True))


def split(text: str) -> tuple[list[int], list[int]]:
    spans = list(iterate_words(text, "whitespace"))
    return [start for start, _ in spans], [end for _, end in spans]


def touched(entity: Entity, starts: list[int], ends: list[int]) -> set[int]:
    covered = {c for start, end in entity.fragments for c in range(start, end)}
    return {w for w in range(len(starts)) if covered & set(range(starts[w], ends[w]))}


texts = st.text(st.sampled_from("ab \n-"), min_size=1, max_size=30)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(texts)
    found: dict[object, Entity] = {}
    for covered in draw(st.lists(st.sets(st.integers(0, len(text) - 1), min_size=1), max_size=4)):
        placed = Document(text, (Entity(draw(st.sampled_from("XY")), runs(covered)),)).entities[0]
        found[placed.key] = placed
    return Document(text, tuple(found.values()))


@given(documents())
def test_every_entity_becomes_the_words_it_touches_or_is_reported(document: Document) -> None:
    starts, ends = split(document.text)
    aligned = to_words(document.entities, starts, ends)
    expected = {(e.label, runs(touched(e, starts, ends))) for e in document.entities if touched(e, starts, ends)}
    assert len(aligned.entities) == len(expected)
    assert {(e.label, e.fragments) for e in aligned.entities} == expected
    reported = {m.entity.key: m.widened for m in aligned.misaligned}
    assert len(reported) == len(aligned.misaligned)
    for entity in document.entities:
        words = touched(entity, starts, ends)
        if not words:
            assert reported[entity.key] is None
            continue
        in_words = WordEntity(entity.label, runs(words))
        back = Document(document.text, (to_characters(in_words, starts, ends),)).entities[0]
        if back.key == entity.key:
            assert entity.key not in reported
        else:
            assert reported[entity.key] == in_words


@given(documents())
def test_words_to_characters_and_back_changes_nothing(document: Document) -> None:
    starts, ends = split(document.text)
    in_words = to_words(document.entities, starts, ends).entities
    placed = Document(document.text, tuple(to_characters(e, starts, ends) for e in in_words)).entities
    again = to_words(placed, starts, ends)
    assert not again.misaligned
    assert set(again.entities) == set(in_words)


def test_a_cut_word_is_widened_and_reported_with_its_text() -> None:
    document = Document("the kneecap hurts", (Entity("Body", ((4, 8),), 0.5),))
    aligned = to_words(document.entities, *split(document.text))
    assert aligned.entities == (WordEntity("Body", ((1, 2),), 0.5),)
    assert str(aligned.misaligned[0]) == "Body 'knee' [[4, 8]] is not on word boundaries: widened to whole words"


def test_an_entity_on_white_space_is_reported_not_dropped_silently() -> None:
    document = Document("a \n b", (Entity("X", ((1, 3),)),))
    aligned = to_words(document.entities, *split(document.text))
    assert aligned.entities == ()
    assert [m.widened for m in aligned.misaligned] == [None]
    assert "it touches no word" in str(aligned.misaligned[0])
    assert to_words(document.entities, [], []).misaligned == aligned.misaligned


def test_entities_that_widen_to_the_same_words_stay_one_and_each_is_reported() -> None:
    document = Document("kneecap", (Entity("B", ((0, 4),)), Entity("B", ((4, 7),))))
    aligned = to_words(document.entities, *split(document.text))
    assert aligned.entities == (WordEntity("B", ((0, 1),)),)
    assert len(aligned.misaligned) == 2


def test_fragments_that_are_neighbours_only_because_given_words_leave_characters_out_are_reported() -> None:
    document = Document("a-b", (Entity("X", ((0, 1), (2, 3))),), words=((0, 1), (2, 3)))
    aligned = to_words(document.entities, [0, 2], [1, 3])
    assert aligned.entities == (WordEntity("X", ((0, 2),)),)
    assert [m.widened for m in aligned.misaligned] == list(aligned.entities)


def test_a_word_entity_lists_its_words() -> None:
    entity = WordEntity("X", ((1, 3), (5, 6)))
    assert (entity.first, entity.last, entity.word_indices) == (1, 5, (1, 2, 5))
    assert to_words((), [0], [1]) == Aligned(())
