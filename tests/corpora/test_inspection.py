from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.corpus import Corpus, Problem
from anyner.corpora.inspection import inspect
from anyner.document import Document, Entity
from anyner.fragments import canonical_fragments


def words(text: str, *entities: tuple[str, tuple[tuple[int, int], ...]]) -> Document:
    return Document.from_words(text.split(), [Entity(label, fragments) for label, fragments in entities])


def test_every_figure_of_a_small_corpus() -> None:
    problem = Problem("a.jsonl", 3, "unknown label", kept=False)
    corpus = Corpus(
        (
            words("pain in hip and knees", ("S", ((0, 3),)), ("S", ((0, 2), (4, 5))), ("B", ((2, 3),)), ("B", ((4, 5),))),
            words("a b c d e f", ("S", ((0, 2),)), ("B", ((0, 2),)), ("P", ((3, 6),))),
            words("nothing here"),
        ),
        (problem,),
    )
    found = inspect(corpus)
    assert (found.documents, found.empty_documents, found.longest_document) == (3, 1, 6)
    assert found.average_words == 4.33
    assert (found.entities, found.nested, found.crossing, found.same, found.discontinuous) == (7, 4, 2, 2, 1)
    assert found.labels == {"B": 3, "P": 1, "S": 3}
    assert (found.most_entities, found.longest_entity, found.most_starting_together, found.most_fragments) == (4, 3, 2, 2)
    assert found.problems == (problem,)
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["problems"] == [{"file": "a.jsonl", "line": 3, "what": "unknown label", "kept": False}]
    assert plain["crossing"] == 2


def test_an_empty_corpus_has_figures_too() -> None:
    found = inspect(Corpus(()))
    assert (found.documents, found.average_words, found.entities, found.labels) == (0, 0.0, 0, {})


def test_an_annotated_label_without_entities_counts_zero() -> None:
    found = inspect(Corpus((Document("a b", labels=frozenset({"Rare"})),)))
    assert found.labels == {"Rare": 0}


def test_raw_text_is_counted_by_white_space() -> None:
    corpus = Corpus((Document("Left knee-pain, again.", (Entity("S", ((0, 14),)), Entity("B", ((0, 4), (5, 9))))),))
    assert inspect(corpus).longest_document == 3
    assert inspect(corpus).longest_entity == 2


def test_two_fragments_in_one_word_cover_one_word() -> None:
    document = Document("stomachache", (Entity("S", ((0, 3), (7, 9))),))
    assert inspect(Corpus((document,))).longest_entity == 1


spans = st.sets(st.integers(0, 9), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.sampled_from("AB"), spans.map(frozenset)), max_size=7, unique=True))
def test_shapes_are_those_of_the_word_sets(entities: list[tuple[str, frozenset[int]]]) -> None:
    built = [Entity(label, canonical_fragments((i, i + 1) for i in sorted(covered))) for label, covered in entities]
    found = inspect(Corpus((Document.from_words("abcdefghij", built),)))
    sets = [covered for _, covered in entities]
    others = [[other for j, other in enumerate(sets) if j != i] for i in range(len(sets))]
    assert found.nested == sum(any(a < b or b < a for b in rest) for a, rest in zip(sets, others, strict=True))
    assert found.same == sum(a in rest for a, rest in zip(sets, others, strict=True))
    crossing = [any(a & b and not a <= b and not b <= a for b in rest) for a, rest in zip(sets, others, strict=True)]
    assert found.crossing == sum(crossing)
    assert found.longest_entity == max(map(len, sets), default=0)
    starts = [min(covered) for covered in sets]
    assert found.most_starting_together == max(map(starts.count, starts), default=0)
    assert found.discontinuous == sum(max(covered) - min(covered) >= len(covered) for covered in sets)
