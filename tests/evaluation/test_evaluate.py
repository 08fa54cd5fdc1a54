import json
import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.evaluation.evaluate import Evaluation, evaluate_documents
from anyner.evaluation.report import render
from anyner.evaluation.scores import Score

TEXT = "one two three four five six seven"
FRAGMENTS = st.sets(st.integers(0, len(TEXT) - 1), min_size=1, max_size=5).map(
    lambda places: [(place, place + 1) for place in sorted(places)]
)
PLAIN = Document(TEXT)
ENTITY = st.builds(Entity, st.sampled_from("ABC"), FRAGMENTS).map(
    # Placed once, so that fragments joined over white space cannot turn two drawn entities into one later.
    lambda entity: PLAIN.with_entities([entity]).entities[0]
)
ENTITIES = st.lists(ENTITY, max_size=6, unique_by=lambda entity: entity.key)
CORPUS = st.lists(st.tuples(ENTITIES, ENTITIES, ENTITIES), max_size=4)


def evaluated(corpus: list[tuple[list[Entity], list[Entity]]]) -> Evaluation:
    gold = [Document(TEXT, tuple(one)) for one, _ in corpus]
    predicted = [Document(TEXT, tuple(other)) for _, other in corpus]
    return evaluate_documents(gold, predicted, train_surfaces=["one", "n t"], resamples=50)


@given(CORPUS, st.randoms(use_true_random=False))
def test_order_changes_nothing(drawn: list[tuple[list[Entity], list[Entity], list[Entity]]], shuffler: random.Random) -> None:
    # The third list is on both sides, so that correct entities are not rare.
    corpus = []
    for gold, predicted, both in drawn:
        one = {entity.key: entity for entity in [*gold, *both]}
        other = {entity.key: entity for entity in [*predicted, *both]}
        corpus.append((list(one.values()), list(other.values())))
    before = evaluated(corpus)
    for one, other in corpus:
        shuffler.shuffle(one)
        shuffler.shuffle(other)
    assert evaluated(corpus) == before
    shuffler.shuffle(corpus)
    after = evaluated(corpus)
    assert after.causes == before.causes
    assert replace(after, errors=()) == replace(before, errors=())


def example() -> tuple[list[Document], list[Document]]:
    gold = Document("Kofi Annan met the president of Egypt", id="a")
    return (
        [gold.with_entities([Entity("PER", ((0, 10),)), Entity("PER", ((15, 37),)), Entity("LOC", ((32, 37),))])],
        [gold.with_entities([Entity("PER", ((0, 10),)), Entity("PER", ((15, 28),)), Entity("LOC", ((32, 37),))])],
    )


def test_report_and_json() -> None:
    gold, predicted = example()
    evaluation = evaluate_documents(gold, predicted)
    assert evaluation.strict == Score(2, 3, 3)
    text = render(evaluation)
    assert text.startswith("strict micro F1 66.67 (95 % interval 66.67 to 66.67); documents: 1; gold entities: 3\n")
    partial = next(line for line in text.splitlines() if line.startswith("partial"))
    assert partial.split() == ["partial", "83.33", "83.33", "83.33", "2.5", "3", "3"]
    assert all(line == line.rstrip() for line in text.splitlines())
    plain = json.loads(json.dumps(evaluation.to_json()))
    assert plain["strict"]["f1"] == 2 / 3
    assert plain["labels"]["LOC"]["f1"] == 1.0
    assert plain["causes"]["boundary"] == 1
    assert [(case.cause, case.gold[0].text) for case in evaluation.errors] == [("boundary", "the president of Egypt")]
    assert "errors=" not in repr(evaluation), "too long to print"


def test_nothing_at_all_still_gives_a_report() -> None:
    text = render(evaluate_documents([], []))
    assert text.startswith("strict micro F1 0.00 (95 % interval 0.00 to 0.00); documents: 0; gold entities: 0")


def test_unjudged_predictions_are_reported() -> None:
    gold = [Document("Rome", labels=frozenset({"PER"}))]
    predicted = [Document("Rome", (Entity("LOC", ((0, 4),)),))]
    evaluation = evaluate_documents(gold, predicted)
    assert (evaluation.strict.predicted, evaluation.unjudged) == (0, 1)
    assert "does not annotate their label: 1\n" in render(evaluation)
