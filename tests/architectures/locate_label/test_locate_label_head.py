"""The head against loops over spans: networks, losses, targets, and from seeds to proposals."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from head_batches import ENTITIES, LABELS, LENGTHS, PIECE_WIDTH, WIDTH, alone, gold_of, states_of
from reference_iou import reference_iou
from torch import Tensor

from anyner.architectures.draw import Draw
from anyner.architectures.locate_label import head as head_module
from anyner.architectures.locate_label import network as span_network
from anyner.architectures.locate_label import targets
from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import DECAY
from anyner.architectures.locate_label.head import Head
from anyner.architectures.locate_label.network import SpanNetwork, SpanReader
from anyner.architectures.locate_label.targets import shift
from anyner.architectures.settings import CorpusStatistics, Decoding, with_preset
from anyner.encoding.encoder import Encoder, States
from anyner.layers.spanpool import Spans
from anyner.text.align import WordEntity


def head_of(seed: int = 0, **settings: object) -> Head:
    """A small head with the paper's settings unless overridden."""
    torch.manual_seed(seed)
    config = Config.of({**Config.PAPER, "lengths": [1, 2, 3], **settings}, "head")
    encoder = cast(Encoder, SimpleNamespace(width=WIDTH, piece_width=PIECE_WIDTH))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(span_network, "WIDTH", 4)
        head = Head(config, LABELS, encoder).eval()
    if head.regressor is not None:
        torch.nn.init.normal_(head.regressor.output.weight)
    return head


def decoding(head: Head, passing: float = 0.1, **options: Any) -> Decoding:
    thresholds = {"score": 0.1, "filter": passing} if head.filter is not None else {"score": 0.1}
    return Decoding(LABELS, thresholds, "all", head.settings, LocateLabelOptions(**options))


def reference_output(network: SpanNetwork, states: States, span: tuple[int, int, int]) -> Tensor:
    """One span, with its inputs concatenated as the paper has them."""
    b, first, last = span
    words = states.words[b, : states.lengths[b]]
    left, right = (max(first - 1, 0), min(last + 1, len(words) - 1)) if network.outer else (first, last)
    read = [words[first : last + 1].amax(0), words[left], words[right]]
    weights = [network.maximum.weight, network.left.weight, network.right.weight]
    extra = torch.zeros(4)
    if network.sentence is not None:
        read.append(states.cls[b])
        weights.append(network.sentence.weight)
        extra = (weights[1] @ words[left] + weights[3] @ states.cls[b]) * (weights[2] @ words[right])
    hidden = torch.nn.functional.gelu(torch.cat(weights, dim=1) @ torch.cat(read) + network.maximum.bias + extra)
    return network.output.weight @ hidden + network.output.bias


def every_span(lengths: Sequence[int] = LENGTHS, longest: int = 9) -> list[tuple[int, int, int]]:
    return [(b, i, j) for b, n in enumerate(lengths) for i in range(n) for j in range(i, min(n, i + longest))]


def flat(spans: Sequence[tuple[int, int, int]]) -> Spans:
    return Spans(*(torch.tensor(column) for column in zip(*spans, strict=True)))


@torch.no_grad()
@pytest.mark.parametrize("extra_features", [False, True])
def test_the_split_first_layer_is_the_concatenated_one(extra_features: bool) -> None:
    head, states = head_of(extra_features=extra_features), states_of()
    reader, spans = SpanReader(states), every_span()
    assert head.filter is not None and head.regressor is not None
    for network in (head.filter, head.regressor, head.classifier):
        expected = torch.stack([reference_output(network, states, span) for span in spans])
        assert torch.allclose(network(reader, flat(spans)), expected, atol=1e-5)


def test_boundaries_shift_by_rounded_offsets_within_the_sentence() -> None:
    seeds = Spans(torch.tensor([0, 0, 0, 0, 1]), torch.tensor([2, 2, 2, 2, 0]), torch.tensor([3, 3, 3, 3, 0]))
    offsets = torch.tensor([[-0.5, 0.5], [-9.0, 9.0], [0.49, -0.51], [3.0, -3.0], [1.0, 1.0]])
    shifted = shift(seeds, offsets, torch.tensor([5, 0]))
    assert shifted.first.tolist() == [2, 0, 2, 2, 0]  # the fourth would end before it begins: it stays
    assert shifted.last.tolist() == [4, 5, 2, 3, 0]


def test_shifted_spans_are_labelled_by_the_entity_they_overlap_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "EXTRA_NEGATIVES", 99)
    monkeypatch.setattr(targets, "POSITIVE_IOU", 0.65)
    found = head_of().targets(states_of(), gold_of(), Draw(0))
    assert int(found.positive.sum()) == 5
    spans = [(0, 0, 4), (0, 0, 3), (0, 1, 2), (0, 1, 3), (1, 0, 0), (2, 0, 2)]
    label, iou = found.labels_at(flat(spans))
    assert label.tolist() == [1, 0, 2, 0, 2, 0]
    assert iou.tolist() == pytest.approx([1.0, 0.8, 1.0, 2 / 3, 1.0, 0.0])
    for number in range(len(found.seeds)):
        if found.positive[number]:
            b, first, last = (int(getattr(found.seeds, name)[number]) for name in ("sentence", "first", "last"))
            left, right = found.offsets[number].tolist()
            assert (b, first + left, last + right) in {(0, 0, 4), (0, 1, 2), (1, 0, 0)}


@torch.no_grad()
def test_the_losses_are_weighted_means_over_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """All negatives drawn: the parts equal a loop over all seeds."""
    monkeypatch.setattr(targets, "EXTRA_NEGATIVES", 99)
    monkeypatch.setattr(targets, "POSITIVE_IOU", 0.65)
    head, states, gold = head_of(), states_of(), gold_of()
    assert head.filter is not None and head.regressor is not None
    parts = head.loss(states, gold, Draw(0))
    spans = [*every_span(longest=3), (0, 0, 4)]  # the entity of five words is no seed and is added
    entities = {(0, 0, 4): 1, (0, 1, 2): 2, (1, 0, 0): 2}
    filtered = regressed = labelled = 0.0
    positives = 0
    for b, first, last in spans:
        own = {span: reference_iou((first, last), span[1:]) for span in entities if span[0] == b}
        nearest = max(own, key=lambda span: own[span], default=None)
        iou = own[nearest] if nearest else 0.0
        p = float(reference_output(head.filter, states, (b, first, last)).sigmoid())
        filtered += iou * -((1 - p) ** 2) * np.log(p) if iou > 0.65 else (1 - iou) * -(p**2) * np.log(1 - p)
        left, right = reference_output(head.regressor, states, (b, first, last)).tolist()
        if iou > 0.65:
            assert nearest is not None
            positives += 1
            target = (nearest[1], nearest[2] + 1)
            regressed += sum(_smooth(o) for o in (left - (target[0] - first), right - (target[1] - last - 1)))
            here = (first + left, last + 1 + right)
            shared, union = min(here[1], target[1]) - max(here[0], target[0]), max(here[1], target[1]) - min(here[0], target[0])
            regressed += 1 - shared / union
        n = LENGTHS[b]
        to = (min(max(first + int(np.floor(left + 0.5)), 0), n - 1), min(max(last + int(np.floor(right + 0.5)), 0), n - 1))
        to = to if to[0] <= to[1] else (first, last)
        label = entities.get((b, *to), 0)
        closest = max((reference_iou(to, span[1:]) for span in entities if span[0] == b), default=0.0)
        loss = -float(reference_output(head.classifier, states, (b, *to)).log_softmax(-1)[label])
        labelled += loss * (1.0 if label else 1 - closest)
    assert float(parts["filter"].numerator) == pytest.approx(filtered, rel=1e-4)
    assert float(parts["filter"].denominator) == len(spans)
    assert float(parts["regressor"].numerator) == pytest.approx(regressed, rel=1e-4)
    assert float(parts["regressor"].denominator) == positives == 5
    assert float(parts["classifier"].numerator) == pytest.approx(labelled, rel=1e-4)
    assert float(parts["classifier"].denominator) == len(spans)
    assert [parts[name].weight for name in ("filter", "regressor", "classifier")] == [1.0, 0.1, 1.0]


def _smooth(error: float) -> float:
    return 0.5 * error**2 if abs(error) < 1 else abs(error) - 0.5


@torch.no_grad()
def test_the_loss_of_a_batch_is_the_sum_of_its_sentences() -> None:
    head, states = head_of(), states_of()
    together = head.loss(states, gold_of(), Draw(0))
    for name, part in together.items():
        numerator = denominator = 0.0
        for b, length in enumerate(LENGTHS):
            one = head.loss(alone(states, b), gold_of((length,), ENTITIES[b : b + 1]), Draw(0))[name]
            numerator += float(one.numerator)
            denominator += float(one.denominator)
        assert float(part.numerator) == pytest.approx(numerator, rel=1e-5)
        assert float(part.denominator) == denominator


@torch.no_grad()
def test_labels_that_are_not_annotated_give_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "EXTRA_NEGATIVES", 99)
    states, annotated = states_of((6,)), [frozenset({"A"})]
    gold = gold_of((6,), [[WordEntity("A", ((0, 2),))]], annotated)
    head = head_of()
    before = head.loss(states, gold, Draw(0))
    overlapping = [span for span in every_span((6,), longest=3) if span[1] <= 1]
    assert float(before["filter"].denominator) == len(overlapping), "a seed without overlap may be an entity"
    head.classifier.output.bias[2:] += 7.0
    after = head.loss(states, gold, Draw(0))
    assert float(after["classifier"].numerator) == pytest.approx(float(before["classifier"].numerator), rel=1e-5)


SETTINGS: list[dict[str, Any]] = [
    {}, {"filter": False}, {"regressor": False}, {"filter": False, "regressor": False}, {"soft_examples": False},
    {"extra_features": True}, {"span_classifier": {"width": 8}},
    {"span_classifier": {"width": 8, "loss_weight": 0.0}}, {"span_classifier": {"width": 8, "read_by_labels": False}},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_losses_are_finite_and_gradients_reach_every_parameter(settings: dict[str, Any]) -> None:
    for lengths, entities in ((LENGTHS, ENTITIES), ((1,), [[]]), ((4, 2), [[], []])):
        head = head_of(**settings).train()
        parts = head.loss(states_of(lengths), gold_of(lengths, entities), Draw(0))
        assert ("filter" in parts, "regressor" in parts) == (head.filter is not None, head.regressor is not None)
        total = torch.stack([part.weight * part.numerator / part.denominator.clamp(min=1) for part in parts.values()]).sum()
        assert total.isfinite()
        total.backward()
        for name, parameter in head.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            if any(entities):
                assert parameter.grad.abs().sum() > 0, name
        with torch.no_grad():
            proposals = head.eval().propose(states_of(lengths), decoding(head), Draw(0)).on_host()
        assert np.isfinite(proposals["score"]).all()


@torch.no_grad()
@pytest.mark.parametrize(
    "settings", [{}, {"filter": False}, {"regressor": False}, {"filter": False, "regressor": False}], ids=str
)
def test_proposals_are_the_shifted_survivors_each_once(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    head, states = head_of(**settings), states_of()
    expected: dict[tuple[int, int, int], float] = {}
    for seed in every_span(longest=3):
        passed = float(reference_output(head.filter, states, seed).sigmoid()) if head.filter is not None else 1.0
        if passed < 0.5:
            continue
        span = seed
        if head.regressor is not None:
            to = shift(flat([seed]), reference_output(head.regressor, states, seed)[None], torch.tensor(LENGTHS) - 1)
            span = (seed[0], int(to.first), int(to.last))
        expected[span] = max(passed, expected.get(span, 0.0))
    for largest in (2**28, 1):  # whole, and a span at a time
        monkeypatch.setattr(span_network, "LARGEST", largest)
        found = head.propose(states, decoding(head, passing=0.5), Draw(0)).on_host()
        assert len(found["score"]) == len(expected) < (len(every_span(longest=3)) if head.settings.filter else 99)
        for (b, label, first, last), score, passed in zip(
            found["place"].tolist(), found["score"].tolist(), found["filter"].tolist(), strict=True
        ):
            assert passed == pytest.approx(expected[b, first, last], abs=1e-5)
            probability = reference_output(head.classifier, states, (b, first, last)).softmax(-1)
            assert label == int(probability.argmax()) - 1
            assert score == pytest.approx(float(probability.max()), abs=1e-5)


@torch.no_grad()
def test_prediction_tries_every_length_up_to_the_longest() -> None:
    head, states = head_of(lengths=[1, 3], filter=False, regressor=False), states_of((6,))
    place = head.propose(states, decoding(head), Draw(0)).on_host()["place"]
    assert {(first, last) for _, _, first, last in place.tolist()} == {span[1:] for span in every_span((6,), longest=3)}


def test_what_it_can_express() -> None:
    assert Config().shapes() == {"flat", "nested", "crossing"}
    entities = [WordEntity("A", ((0, 4),)), WordEntity("B", ((0, 4),)), WordEntity("A", ((0, 1), (2, 3)))]
    assert Config(lengths=(1, 2)).unreachable(entities, [1] * 4) == [None, "a second label on the same words", "discontinuous"]
    too_long = "longer than the longest seed, 2 words, and there is no regressor"
    assert Config(lengths=(1, 2), regressor=False).unreachable(entities, [1] * 4) == [too_long, too_long, "discontinuous"]


def test_lengths_left_open_come_from_the_corpus() -> None:
    def fitted(spans: tuple[int, ...], window: int = 512, **settings: Any) -> tuple[int, ...] | None:
        statistics = CorpusStatistics(LABELS, spans, spans, spans, 1, window, False, False)
        return Config(**settings).fitted(statistics).lengths

    assert fitted((1,) * 50 + (4,) * 50) == (1, 2, 3, 4)
    assert fitted((2,) * 200 + (40,)) == (1, 2), "one long entity in two hundred"
    assert fitted((2, 40)) == (*range(1, 17), 20, 25, 31, 39, 40)
    assert fitted((2, 40), window=30) == (*range(1, 17), 20, 25, 30)
    assert fitted((2, 1000), window=2000)[-1] == 128
    assert fitted((2, 40), window=9) == tuple(range(1, 10)), "no more than a window holds"
    assert fitted(()) == (1,)
    assert fitted((9,), lengths=(3, 1, 3)) == (1, 3)


def test_a_seed_of_no_word_is_refused() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        Config(lengths=(0, 1))


def test_the_preset_is_the_method_of_the_paper() -> None:
    """The equations are compared above, with heads of these settings; here are its constants and what it lacks."""
    head_keys, option_keys = with_preset(Config, {"preset": "paper"}, {})
    config, options = Config.of(head_keys, "head"), LocateLabelOptions.of(option_keys, "options")
    assert config.lengths == (1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15)  # Table 6
    assert (targets.POSITIVE_IOU, targets.LABEL_IOU, targets.FOCAL_GAMMA) == (0.7, 1.0, 2.0)  # alpha 1, alpha 2, gamma
    assert head_module.REGRESSOR_WEIGHT == 0.1  # lambda 2; the others are 1
    assert (options.soft_nms, DECAY) == (0.6, 0.9)  # Algorithm 1: k, u
    assert config.dropout == 0.5
    head = Head(config, LABELS, cast(Encoder, SimpleNamespace(width=WIDTH, piece_width=PIECE_WIDTH)))
    assert head.span_classifier is None
    assert {name.partition(".")[0] for name, _ in head.named_parameters()} == {"filter", "regressor", "classifier"}
    for network in (head.filter, head.regressor, head.classifier):
        assert network is not None
        assert network.sentence is None
    found = head.targets(states_of((9,)), gold_of((9,), [[WordEntity("A", ((2, 3),))]]), Draw(0, 1))
    assert (found.iou > 0.7).sum() == 1
    assert (found.iou <= 0.7).sum() == 5 + targets.EXTRA_NEGATIVES
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    assert list(parts) == ["filter", "regressor", "classifier"]


def test_prediction_tries_short_lengths_that_training_left_out() -> None:
    assert Config(lengths=(1, 3, 5)).predicted_lengths == (1, 2, 3, 4, 5)
    assert Config(lengths=(1, 14, 20, 25)).predicted_lengths == (*range(1, 17), 20, 25)
    assert "long" not in Config(lengths=(1, 16)).default_thresholds()
    assert "long" in Config(lengths=(1, 20)).default_thresholds()
