"""The biaffine head: scores, loss and proposals against loops over every span."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.biaffine.config import Config
from anyner.architectures.biaffine.head import Head
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, Options
from anyner.encoding.batch import training_batch
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.encoding.gold import Gold
from anyner.encoding.pieces import Frame
from anyner.layers import span_classifier
from anyner.text.align import WordEntity
from anyner.text.windows import Window

LABELS = ("A", "B", "C")
WIDTH = 6
FRAME = Frame((1,), (2,), 0, 3)
LOOSEST = 0.1


def decoding(threshold: float) -> Decoding:
    return Decoding(LABELS, {"score": threshold}, "all", Config(), Options())


def head_of(seed: int = 0, **settings: object) -> Head:
    torch.manual_seed(seed)
    config = Config.of({"width": 4, **settings}, "head")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(span_classifier, "LENGTHS", 3)
        head = Head(config, LABELS, cast(Encoder, SimpleNamespace(width=WIDTH))).eval()
    torch.nn.init.constant_(head.span_scores.linear.bias, -0.8)
    torch.nn.init.normal_(head.span_scores.bilinear)
    torch.nn.init.normal_(head.span_scores.length.weight)
    return head


def states_of(lengths: Sequence[int], seed: int = 0) -> States:
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    words = torch.randn(len(lengths), longest, WIDTH, generator=torch.Generator().manual_seed(seed))
    none = torch.zeros(len(lengths), longest, dtype=torch.long)
    return States(words, mask, words, mask, none, none, none, words[:, 0], tuple(lengths), ())


def gold_windows(lengths: Sequence[int]) -> list[Window]:
    return [Window(n, 0, list(range(c)), list(range(1, c + 1)), ["w"] * c, [(5,)] * c) for n, c in enumerate(lengths)]


def gold_of(
    lengths: Sequence[int], entities: Sequence[Sequence[WordEntity]], annotated: Sequence[frozenset[str] | None] | None = None
) -> Gold:
    listed = zip(gold_windows(lengths), entities, annotated or [None] * len(lengths), strict=True)
    gold = training_batch([Example.of(window, own, LABELS, known) for window, own, known in listed], FRAME).gold
    assert gold is not None
    return gold


def reference_score(head: Head, states: States, span: tuple[int, int, int, int]) -> float:
    """One span of one label, written as the equation."""
    b, c, first, last = span

    def side(word: int) -> tuple[Tensor, Tensor]:
        both = functional.gelu(head.span_scores.boundaries.weight @ states.words[b, word] + head.span_scores.boundaries.bias)
        return both[:4], both[4:]

    start, end = side(first)[0], side(last)[1]
    linear = head.span_scores.linear.weight[c] @ torch.cat([start, end]) + head.span_scores.linear.bias[c]
    return float(start @ head.span_scores.bilinear[c] @ end + linear + head.span_scores.length.weight[min(last - first, 2), c])


def spans_of(lengths: Sequence[int]) -> list[tuple[int, int, int, int]]:
    return [(b, c, i, j) for b, n in enumerate(lengths) for c in range(len(LABELS)) for i in range(n) for j in range(i, n)]


@torch.no_grad()
def test_scores_equal_a_loop_over_spans() -> None:
    lengths = (5, 1, 3)
    head, states = head_of(), states_of(lengths)
    scores = head.span_scores(states.words)
    assert scores.shape == (3, 3, 5, 5)
    assert scores.dtype == torch.float32
    for span in spans_of(lengths):
        assert float(scores[span]) == pytest.approx(reference_score(head, states, span), abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("annotated", [None, (frozenset({"A", "C"}), None, frozenset[str]())])
def test_the_loss_is_a_sum_over_real_spans_of_annotated_labels(annotated: tuple[frozenset[str] | None, ...] | None) -> None:
    lengths = (5, 1, 3)
    entities = [
        [WordEntity("A", ((0, 5),)), WordEntity("A", ((1, 2),)), WordEntity("C", ((1, 2),)), WordEntity("C", ((0, 1), (3, 4)))],
        [WordEntity("B", ((0, 1),))],
        [],
    ]
    head, states = head_of(), states_of(lengths)
    part = head.loss(states, gold_of(lengths, entities, annotated), Draw(0))["span"]
    targets = {(0, 0, 0, 4), (0, 0, 1, 1), (0, 2, 1, 1), (1, 1, 0, 0)}  # the discontinuous one is not a span
    total = 0.0
    for b, c, i, j in spans_of(lengths):
        labels = annotated[b] if annotated else None
        if labels is not None and LABELS[c] not in labels:
            continue
        logit = reference_score(head, states, (b, c, i, j))
        total += math.log1p(math.exp(-logit if (b, c, i, j) in targets else logit))
    assert float(part.numerator) == pytest.approx(total, rel=1e-5)
    assert float(part.denominator) == 9
    assert part.weight == 1.0


@torch.no_grad()
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_soft_labels_are_a_part_of_the_targets_where_there_are_some(share: float) -> None:
    lengths = (4, 2)
    entities = [[WordEntity("A", ((0, 2),))], [WordEntity("B", ((0, 1),))]]
    predicted = [WordEntity("A", ((0, 2),), 0.5), WordEntity("C", ((1, 4),), 0.3), WordEntity("C", ((0, 1), (3, 4)), 0.9)]
    head, states, gold = head_of(), states_of(lengths), gold_of(lengths, entities)
    windows = gold_windows(lengths)
    examples = [
        Example.of(windows[0], entities[0], LABELS, None, WindowSoftLabels.of(predicted, LABELS, share)),
        Example.of(windows[1], entities[1], LABELS, None),
    ]
    has_soft_labels = training_batch(examples, FRAME).gold
    assert gold.soft_labels is None and has_soft_labels is not None
    likely = {(0, 0, 0, 1): 0.5, (0, 2, 1, 3): 0.3}  # discontinuous entities are not spans
    targets = {(0, 0, 0, 1): 1.0, (1, 1, 0, 0): 1.0}
    total = 0.0
    for span in spans_of(lengths):
        weight = share if span[0] == 0 else 0.0
        target = (1 - weight) * targets.get(span, 0.0) + weight * likely.get(span, 0.0)
        logit = reference_score(head, states, span)
        total += target * math.log1p(math.exp(-logit)) + (1 - target) * math.log1p(math.exp(logit))
    assert float(head.loss(states, has_soft_labels, Draw(0))["span"].numerator) == pytest.approx(total, rel=1e-5)


@torch.no_grad()
def test_the_loss_of_a_batch_is_the_sum_of_its_sentences() -> None:
    lengths, head = (6, 2, 1), head_of()
    entities = [[WordEntity("A", ((0, 2),))], [], [WordEntity("C", ((0, 1),))]]
    states = states_of(lengths)
    together = head.loss(states, gold_of(lengths, entities), Draw(0))["span"]
    numerator = denominator = 0.0
    for b, length in enumerate(lengths):
        alone = states_of((length,))
        alone.words.copy_(states.words[b : b + 1, :length])
        part = head.loss(alone, gold_of((length,), entities[b : b + 1]), Draw(0))["span"]
        numerator += float(part.numerator)
        denominator += float(part.denominator)
    assert float(together.numerator) == pytest.approx(numerator, rel=1e-5)
    assert float(together.denominator) == denominator


def test_the_loss_is_finite_without_entities_and_gradients_reach_every_parameter() -> None:
    for lengths in ((1,), (4, 2)):
        head = head_of().train()
        part = head.loss(states_of(lengths), gold_of(lengths, [[] for _ in lengths]), Draw(0))["span"]
        assert part.numerator.isfinite()
        part.numerator.backward()
        for name, parameter in head.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.abs().sum() > 0, name


def test_padding_gets_no_gradient() -> None:
    states = states_of((4, 2))
    states.words.requires_grad_()
    head_of().loss(states, gold_of((4, 2), [[], []]), Draw(0))["span"].numerator.backward()
    assert states.words.grad is not None
    assert states.words.grad[1, 2:].abs().sum() == 0
    assert (states.words.grad[states.word_mask].abs().sum(-1) > 0).all()


@torch.no_grad()
def test_proposals_are_all_real_spans_above_the_loosest_threshold() -> None:
    lengths = (5, 1, 3)
    head, states = head_of(), states_of(lengths)
    proposals = head.propose(states, decoding(LOOSEST), Draw(0)).on_host()
    expected = {}
    for span in spans_of(lengths):
        probability = 1 / (1 + math.exp(-reference_score(head, states, span)))
        if probability >= LOOSEST:
            expected[span] = probability
    found = {tuple(place): score for place, score in zip(proposals["place"].tolist(), proposals["score"].tolist(), strict=True)}
    assert found.keys() == expected.keys()
    assert 0 < len(found) < len(spans_of(lengths))
    stricter = head.propose(states, decoding(0.4), Draw(0)).on_host()["score"]
    assert sorted(stricter.tolist()) == sorted(score for score in found.values() if score >= 0.4)
    np.testing.assert_allclose([found[span] for span in expected], list(expected.values()), atol=1e-5)


@torch.no_grad()
def test_a_new_head_gives_every_span_the_prior() -> None:
    torch.manual_seed(0)
    head = Head(Config(), LABELS, cast(Encoder, SimpleNamespace(width=WIDTH))).eval()
    assert head.span_scores(states_of((8,)).words).sigmoid().mean() == pytest.approx(0.01, abs=0.005)
    assert len(head.propose(states_of((8,)), decoding(LOOSEST), Draw(0)).score) == 0


def test_long_spans_share_the_last_length_score() -> None:
    head = head_of()
    with torch.no_grad():
        states = states_of((6,))
        before = head.span_scores(states.words)
        head.span_scores.length.weight[2] += 5.0
        changed = head.span_scores(states.words) - before
    distance = torch.arange(6)[None] - torch.arange(6)[:, None]
    assert torch.allclose(changed[0, 0], (distance >= 2) * 5.0, atol=1e-5)


def test_what_it_can_express() -> None:
    assert Config().shapes() == {"flat", "nested", "crossing"}
    assert Config().unreachable([WordEntity("A", ((0, 1), (2, 3)))], [1, 1, 1]) == ["discontinuous"]


@torch.no_grad()
def test_spans_longer_than_the_longest_are_neither_scored_nor_reached() -> None:
    head, states = head_of(longest=2), states_of((5,))
    places = head.propose(states, decoding(0.0), Draw(0)).on_host()["place"]
    assert {last - first for _, _, first, last in places.tolist()} == {0, 1}
    everything, short = head_of().loss(states, gold_of((5,), [[]]), Draw(0)), head.loss(states, gold_of((5,), [[]]), Draw(0))
    assert short["span"].numerator < everything["span"].numerator
    assert Config(longest=2).unreachable([WordEntity("A", ((0, 2),)), WordEntity("A", ((0, 3),))], [1] * 3) == [
        None, "longer than head.longest, 2 words",
    ]  # fmt: skip


@torch.no_grad()
def test_sentences_are_scored_in_parts_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    head, states = head_of(), states_of((5, 3))
    whole = head.propose(states, decoding(LOOSEST), Draw(0)).on_host()
    monkeypatch.setattr(span_classifier, "LARGEST", 1)
    parts = head.propose(states, decoding(LOOSEST), Draw(0)).on_host()
    assert {sentence for sentence, *_ in whole["place"].tolist()} == {0, 1}
    listed = [dict(zip(map(tuple, p["place"].tolist()), p["score"].tolist(), strict=True)) for p in (whole, parts)]
    assert listed[0].keys() == listed[1].keys()
    assert all(listed[0][place] == pytest.approx(listed[1][place], abs=1e-6) for place in listed[0])
