"""Strict scores equal seqeval's on flat IOB2 data."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from anyner.document import Document, Entity
from anyner.evaluation.match import pair_documents
from anyner.evaluation.scores import label_scores, macro_average, scenario_scores, weighted_average

CHUNKS = st.lists(st.tuples(st.sampled_from(["O", "PER", "LOC", "ORG"]), st.integers(1, 3)), min_size=1, max_size=8)


@st.composite
def sentence(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Gold and predicted IOB2 tags of one sentence; the prediction keeps a part of the gold, so that some of it is correct."""
    gold = draw(CHUNKS)
    kept = draw(st.integers(0, len(gold)))
    other = gold[:kept] + draw(CHUNKS)
    one_tags, other_tags = tags(gold), tags(other)
    length = max(len(one_tags), len(other_tags))
    return (one_tags + ["O"] * (length - len(one_tags)), other_tags + ["O"] * (length - len(other_tags)))


def tags(chunks: list[tuple[str, int]]) -> list[str]:
    flat = []
    for label, length in chunks:
        flat += ["O"] * length if label == "O" else [f"B-{label}"] + [f"I-{label}"] * (length - 1)
    return flat


def document(sentence_tags: list[str]) -> Document:
    """Read from the tags, not from the chunks they were made from."""
    entities = []
    for start, tag in enumerate(sentence_tags):
        if tag.startswith("B-"):
            end = start + 1
            while end < len(sentence_tags) and sentence_tags[end] == f"I-{tag[2:]}":
                end += 1
            entities.append(Entity(tag[2:], ((start, end),)))
    return Document.from_words(["w"] * len(sentence_tags), entities)


@pytest.mark.parametrize("options", [{}, {"mode": "strict", "scheme": IOB2}], ids=["default", "strict IOB2"])
@given(corpus=st.lists(sentence(), min_size=1, max_size=4))
def test_strict_scores_equal_seqeval(options: dict[str, object], corpus: list[tuple[list[str], list[str]]]) -> None:
    golds, predictions = [one for one, _ in corpus], [other for _, other in corpus]
    if all(tag == "O" for one in golds + predictions for tag in one):
        return  # seqeval's report fails where there is no entity at all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = classification_report(golds, predictions, output_dict=True, zero_division=0, **options)
    ours = ([document(one) for one in golds], [document(other) for other in predictions])
    pairs = pair_documents(*ours)
    labels = label_scores(pairs)
    if any(score.gold for score in labels.values()):
        assert_equal(weighted_average(labels.values()), report["weighted avg"])
    assert_equal(scenario_scores(pairs).strict, report["micro avg"])
    assert_equal(macro_average(labels.values()), report["macro avg"])
    assert labels.keys() == set(report) - {"micro avg", "macro avg", "weighted avg"}
    for label, score in labels.items():
        assert_equal(score, report[label])
        assert score.gold == report[label]["support"]


def assert_equal(ours: object, theirs: dict[str, float]) -> None:
    assert [ours.precision, ours.recall, ours.f1] == pytest.approx(  # type: ignore[attr-defined]
        [theirs["precision"], theirs["recall"], theirs["f1-score"]]
    )
