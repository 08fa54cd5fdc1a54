"""The span classifier against loops over spans: scores, dense span loss, rescoring, and the entities it finds alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from anyner.architectures.settings import ReadSpanClassifierConfig, least_before_rescoring
from anyner.architectures.spans import span_classifier_of
from anyner.encoding.batch import training_batch
from anyner.encoding.examples import Example, WindowSoftLabels, gold_of
from anyner.encoding.gold import Gold
from anyner.encoding.pieces import Frame
from anyner.layers.span_classifier import (
    Boundaries,
    SpanClassifier,
    dense_span_loss,
    real_spans,
    rescored,
)
from anyner.layers.spanpool import Spans
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5), st.integers(0, 9), st.sampled_from([1, 40, 2**27]))
@torch.no_grad()
def test_spans_are_read_off_the_whole_table(sentences: int, words: int, classes: int, number: int, largest: int) -> None:
    torch.manual_seed(number)
    classifier = SpanClassifier(6, 4, classes, dropout=0.5).eval()
    torch.nn.init.normal_(classifier.spans.length.weight)
    states = torch.randn(sentences, words, 6)
    sentence, first, last = (torch.randint(high, (number,)) for high in (sentences, words, words))
    spans = Spans(sentence, first, last)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anyner.layers.span_classifier.LARGEST", largest)
        found = classifier.logits(classifier.read(states), spans)
    assert found.shape == (number, 1 + classes)
    assert torch.allclose(found, classifier.spans(states)[sentence, :, first, last], atol=1e-5)


def test_rows_of_spans_are_listed_sentence_by_sentence() -> None:
    spans = Spans.of_rows(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[4, 5], [6, 7]]))
    assert spans.sentence.tolist() == [0, 0, 1, 1]
    assert (spans.first.tolist(), spans.last.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])


WORD_SETS = st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=5)


@given(WORD_SETS, st.integers(0, 3))
def test_boundaries_are_those_of_a_loop_over_the_words(entities: list[set[int]], room: int) -> None:
    width = max(map(len, entities)) + room
    rows = [sorted(words) for words in entities]
    padded = torch.tensor([[*row, *([7] * (width - len(row)))] for row in rows])  # what is beyond the size means nothing
    found = Boundaries.of_words(torch.arange(len(rows)), padded, torch.tensor([len(row) for row in rows]))
    for number, row in enumerate(rows):
        first_end = next(word for word in row if word + 1 not in row)
        last_start = next(word for word in reversed(row) if word - 1 not in row)
        ends = (first_end, last_start) if first_end != row[-1] else (row[-1], row[0])
        own = [int(column[number]) for column in (found.first, found.first_end, found.last_start, found.last)]
        assert own == [row[0], *ends, row[-1]]
        assert bool(found.discontinuous[number]) == (row[-1] - row[0] + 1 != len(row))


LABELS = ("A", "B")
LENGTHS = (4, 2)
ENTITIES = (
    (WordEntity("A", ((0, 2),)), WordEntity("B", ((3, 4),)), WordEntity("A", ((0, 1), (2, 3)))),
    (WordEntity("A", ((0, 1),)), WordEntity("B", ((0, 1),))),
)
LEARNED = {(0, 0, 1): 1, (0, 3, 3): 2, (1, 0, 0): 2}
"""Target classes. A discontinuous entity is not a span, unless it has its own class; of two labels, the later one counts."""


PREDICTED = (WordEntity("B", ((0, 2),), 0.6), WordEntity("A", ((1, 2),), 0.3), WordEntity("B", ((1, 2),), 0.9))
"""Soft labels of the first sentence; those of span (1, 1) sum to more than 1."""


PREDICTED_DISCONTINUOUS = (WordEntity("A", ((0, 1), (2, 3)), 0.7), WordEntity("B", ((0, 3),), 0.6))
"""Both have the same boundaries; the first counts only if it has its own class."""


def gold(annotated: frozenset[str] | None = None, share: float | None = None, covers_discontinuous: bool = False) -> Gold:
    windows = [Window(0, 0, list(range(n)), list(range(1, n + 1)), ["w"] * n, [(5,)] * n) for n in LENGTHS]
    predicted = (*PREDICTED, *PREDICTED_DISCONTINUOUS) if covers_discontinuous else PREDICTED
    soft = [None if share is None else WindowSoftLabels.of(predicted, LABELS, share, covers_discontinuous), None]
    examples = [Example.of(w, own, LABELS, annotated, about) for w, own, about in zip(windows, ENTITIES, soft, strict=True)]
    made = training_batch(examples, Frame((1,), (2,), 0, 3)).gold
    assert made is not None
    return made


def by_hand(logits: torch.Tensor, learned: dict[tuple[int, int, int], int]) -> float:
    total = 0.0
    for sentence, length in enumerate(LENGTHS):
        for first in range(length):
            for last in range(first, length):
                probabilities = logits[sentence, :, first, last].softmax(0)
                total -= probabilities[learned.get((sentence, first, last), 0)].log().item()
    return total


@pytest.mark.parametrize(("classes", "learned"), [(3, LEARNED), (5, {**LEARNED, (0, 0, 2): 3})])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_that_of_all_spans_one_by_one(seed: int, classes: int, learned: dict[tuple[int, int, int], int]) -> None:
    logits = torch.randn(2, classes, 4, 4, generator=torch.Generator().manual_seed(seed))
    spans = real_spans(torch.arange(4) < torch.tensor(LENGTHS)[:, None])
    assert dense_span_loss(logits, spans, gold()).item() == pytest.approx(by_hand(logits, learned), rel=1e-5)


@pytest.mark.parametrize(
    ("classes", "discontinuous", "covers_discontinuous"), [(3, False, False), (3, False, True), (5, True, False), (5, True, True)]
)
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_soft_labels_are_a_part_of_the_target_where_there_are_some(
    classes: int, discontinuous: bool, covers_discontinuous: bool, share: float
) -> None:
    logits = torch.randn(2, classes, 4, 4, generator=torch.Generator().manual_seed(4))
    spans = real_spans(torch.arange(4) < torch.tensor(LENGTHS)[:, None])
    soft_targets = {(0, 1): {2: 0.6}, (1, 1): {1: 0.25, 2: 0.75}}  # probabilities of classes, by first and last word
    if covers_discontinuous:
        soft_targets[0, 2] = {2: 0.6 / 1.3, 3: 0.7 / 1.3} if discontinuous else {2: 0.6}
    total = 0.0
    for sentence, length in enumerate(LENGTHS):
        for first in range(length):
            for last in range(first, length):
                target = torch.zeros(classes)
                kind = 3 if discontinuous and (sentence, first, last) == (0, 0, 2) else LEARNED.get((sentence, first, last), 0)
                target[kind] = 1.0
                if sentence == 0 and (kind < 3 or covers_discontinuous):
                    soft = torch.zeros(classes)
                    for likely_class, likely in soft_targets.get((first, last), {}).items():
                        soft[likely_class] = likely
                    soft[0] = 1 - soft.sum()
                    target = (1 - share) * target + share * soft
                total -= (target * logits[sentence, :, first, last].log_softmax(0)).sum().item()
    assert dense_span_loss(logits, spans, gold(share=share, covers_discontinuous=covers_discontinuous)).item() == pytest.approx(
        total, rel=1e-5
    )


def test_a_label_that_is_not_annotated_gives_no_loss() -> None:
    logits = torch.zeros(2, 3, 4, 4)
    spans = real_spans(torch.arange(4) < torch.tensor(LENGTHS)[:, None])
    likely = logits.clone()
    likely[:, 2, 1, 1] = 9.0  # label B where nothing is marked
    assert dense_span_loss(likely, spans, gold()) > dense_span_loss(logits, spans, gold()) + 5
    known = gold(frozenset({"A"}))
    assert torch.equal(dense_span_loss(likely, spans, known), dense_span_loss(logits, spans, known))
    soft = gold(frozenset({"A"}), share=0.5)
    assert torch.equal(dense_span_loss(likely, spans, soft), dense_span_loss(logits, spans, soft))


def test_the_prior_of_no_entity_is_not_applied_twice() -> None:
    read_by = nn.Linear(2, 4)
    before = read_by.bias.clone()
    classifier = span_classifier_of(ReadSpanClassifierConfig(), 4, 3, read_by=read_by)
    assert classifier is not None
    assert (classifier.spans.linear.bias + read_by.bias)[0].item() == 0
    assert classifier.spans.linear.bias[0] > 4
    assert torch.equal(read_by.bias[1:], before[1:])


def boundaries(gap: bool) -> Boundaries:
    """Of words 0 to 4, word 2, and words 1 to 3, the last of them without word 2 if there is a `gap`."""
    words = torch.tensor([[0, 1, 2, 3, 4], [2, 0, 0, 0, 0], [1, 3, 0, 0, 0] if gap else [1, 2, 3, 0, 0]])
    return Boundaries.of_words(torch.tensor([0, 1, 1]), words, torch.tensor([5, 1, 2 if gap else 3]))


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [True, False])
def test_an_entity_is_looked_up_by_its_ends_label_and_gaps(contiguous: bool) -> None:
    torch.manual_seed(0)
    classifier = SpanClassifier(6, 4, 3, discontinuous=not contiguous, dropout=0.5).eval()
    words = torch.randn(2, 5, 6)
    table = classifier.spans(words).softmax(1)  # (B, classes, M, M)
    assert table.shape[1] == (4 if contiguous else 7)
    found = classifier.probabilities(classifier.read(words), boundaries(not contiguous))[range(3), [2, 0, 1]]
    assert found.tolist() == pytest.approx(
        [table[0, 3, 0, 4].item(), table[1, 1, 2, 2].item(), table[1, 2 if contiguous else 5, 1, 3].item()], rel=1e-5
    )


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_farthest_equals_a_loop_over_spans(contiguous: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    classifier = SpanClassifier(6, 4, 3, discontinuous=not contiguous, dropout=0.0).eval()
    torch.nn.init.normal_(classifier.spans.bilinear, std=2.0)
    monkeypatch.setattr("anyner.layers.span_classifier.LARGEST", 2 * 5 * 5 * at_once)
    words, lengths = torch.randn(2, 5, 6) * 3, (5, 3)
    table = classifier.spans(words).softmax(1)  # (B, classes, M, M)
    whole, gaps = classifier.farthest(classifier.read(words), torch.arange(5) < torch.tensor(lengths)[:, None], 0.1)
    for found, classes in ((whole, range(1, 4)), (gaps, range(4, table.shape[1]))):
        for b, length in enumerate(lengths):
            for first in range(5):
                lasts = [j for j in range(first, length) if any(table[b, kind, first, j] >= 0.1 for kind in classes)]
                assert found[b, first] == max(lasts, default=-1)
    assert (whole >= 0).any()
    assert (gaps >= 0).any() == (not contiguous)


@torch.no_grad()
def test_fragments_count_only_in_discontinuous_entities() -> None:
    torch.manual_seed(2)
    plain, classifier = (
        SpanClassifier(6, 4, 3, discontinuous=True, dropout=0.0, fragments=both).eval() for both in (False, True)
    )
    assert plain.fragments is None and classifier.fragments is not None
    assert SpanClassifier(6, 4, 3, discontinuous=False, dropout=0.0, fragments=True).fragments is None
    plain.spans.load_state_dict(classifier.spans.state_dict())
    words = torch.randn(2, 5, 6)
    for gap in (False, True):
        before, after = (one.probabilities(one.read(words), boundaries(gap))[range(3), [2, 0, 1]] for one in (plain, classifier))
        assert torch.equal(after[:2], before[:2])
        table = classifier.fragments(words).sigmoid()  # (B, 2, M, M)
        both = (table[1, 0, 1, 1] * table[1, 1, 3, 3]).sqrt()
        assert after[2].item() == pytest.approx((before[2] * both).sqrt().item() if gap else before[2].item(), rel=1e-5)


def test_fragments_are_learned_span_by_span() -> None:
    entities = [[WordEntity("A", ((0, 2), (3, 4))), WordEntity("B", ((0, 5),))], [WordEntity("B", ((0, 1), (2, 3)))], []]
    lengths, known = (5, 3, 2), (None, None, frozenset({"A"}))
    windows = [Window(0, 0, list(range(n)), list(range(1, n + 1)), ["w"] * n, [(5,)] * n) for n in lengths]
    listed = zip(windows, entities, known, strict=True)
    gold = gold_of([Example.of(window, own, ("A", "B"), annotated) for window, own, annotated in listed])
    words, mask = torch.randn(3, 5, 6), torch.arange(5) < torch.tensor(lengths)[:, None]
    classifier = SpanClassifier(6, 4, 2, dropout=0.0, discontinuous=True, fragments=True)
    assert classifier.fragments is not None
    torch.nn.init.normal_(classifier.fragments.bilinear)
    logits = classifier.fragments(words)
    firsts, lasts = {(0, 0, 1), (1, 0, 0)}, {(0, 3, 3), (1, 2, 2)}
    total = torch.zeros(())
    for sentence, length in enumerate((5, 3)):  # in the third, not all labels are annotated
        for first in range(length):
            for last in range(first, length):
                for side, targets in enumerate((firsts, lasts)):
                    logit = logits[sentence, side, first, last]
                    total = total - torch.nn.functional.logsigmoid(logit if (sentence, first, last) in targets else -logit)
    loss = classifier.loss(words, mask, gold)
    without = dense_span_loss(classifier.spans(words), real_spans(mask), gold)
    assert loss.item() - without.item() == pytest.approx(total.item(), rel=1e-5)
    loss.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in classifier.parameters())


@torch.no_grad()
def test_at_first_nearly_nothing_is_an_entity() -> None:
    classifier = SpanClassifier(6, 4, 3, discontinuous=True, dropout=0.0).eval()
    assert classifier.spans(torch.zeros(1, 3, 6)).softmax(1)[:, 0].min() > 0.9


def test_rescoring_is_a_weighted_geometric_mean() -> None:
    score, probability = torch.tensor([0.25, 0.9, 0.0]), torch.tensor([1.0, 0.4, 0.7])
    assert rescored(score, probability, 0.5).tolist() == pytest.approx([0.5, 0.6, 0.0])
    assert rescored(score, probability, 0.0).tolist() == pytest.approx(score.tolist())
    least = least_before_rescoring(0.3, 0.25)
    assert rescored(torch.tensor(least), torch.tensor(1.0), 0.25).item() == pytest.approx(0.3)
    assert least_before_rescoring(0.3, 0.0) == pytest.approx(0.3)


@torch.no_grad()
@pytest.mark.parametrize("discontinuous", [True, False])
@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_alone_it_finds_every_span_with_a_likely_label(
    discontinuous: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(3)
    classifier = SpanClassifier(6, 4, 3, discontinuous=discontinuous, dropout=0.0).eval()
    torch.nn.init.normal_(classifier.spans.bilinear, std=2.0)
    monkeypatch.setattr("anyner.layers.span_classifier.LARGEST", 2 * 5 * 5 * at_once)
    words, lengths = torch.randn(2, 5, 6) * 3, (5, 3)
    table = classifier.spans(words).softmax(1)  # (B, classes, M, M)
    place, score = classifier.entities(classifier.read(words), torch.arange(5) < torch.tensor(lengths)[:, None], 0.1)
    expected = {
        (b, label, first, last): table[b, 1 + label, first, last].item()
        for b, length in enumerate(lengths)
        for first in range(length)
        for last in range(first, length)
        for label in range(3)
        if table[b, 1 + label, first, last] >= 0.1
    }
    found = dict(zip(map(tuple, place.tolist()), score.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-5) and expected
