"""The head as a whole: losses against loops, all settings, and independence of the batch."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from head_batches import INEXPRESSIBLE, LABELS, LENGTHS, assert_no_target, gold_of, states_of
from set_batches import decoding, head_of, in_words, sequences_of_one
from stand_ins import entities_alone_and_together

from anyner.architectures.draw import Draw
from anyner.architectures.set_gner.config import Config, SetOptions
from anyner.architectures.set_gner.head import GeneratedEntities, Head
from anyner.architectures.set_gner.targets import IGNORED, targets_of
from anyner.architectures.settings import CorpusStatistics
from anyner.text.align import WordEntity

C = len(LABELS)
SETTINGS: list[dict[str, Any]] = [
    {}, {"interval": 0}, {"parts": False}, {"occurrences": False}, {"unit": "pieces"},
    {"reads": "pieces"}, {"layers": 1}, {"decoder": "encoder", "width": None}, {"distances": 3},
    {"span_classifier": {"width": 4}},
]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("constrained", [True, False])
def test_generation_is_the_loss_of_every_sequence(constrained: bool) -> None:
    head, states, gold = head_of(constrained=constrained), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(0, 1))
    network, sentences = head.network, head.network.read(head.units(states), states)
    targets = targets_of(in_words(gold, LENGTHS), LENGTHS, C, head.settings)
    loss = count = 0.0
    for group in (targets.entities, targets.others):
        for sentence, inputs, symbols in zip(group.sentence.tolist(), group.inputs, group.targets, strict=True):
            size = int((symbols != IGNORED).sum())
            one, rows = torch.from_numpy(inputs[None, :size]), sequences_of_one(sentence)
            log = network.log_probabilities(sentences, rows, network(sentences, rows, one, one[:, 0]), one[:, 0], one)[0]
            loss -= sum(float(log[step, symbol]) for step, symbol in enumerate(symbols[:size].tolist()))
            count += size
    assert float(parts["generation"].numerator) == pytest.approx(loss, rel=1e-4)
    assert float(parts["generation"].denominator) == count


@pytest.mark.parametrize(("settings", "entity"), INEXPRESSIBLE)
def test_what_the_settings_cannot_express_is_no_target(settings: dict[str, Any], entity: WordEntity) -> None:
    assert_no_target(head_of(**settings).eval(), entity)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", ["contiguous", "discontinuous", "not constrained"])
def test_all_settings_learn_and_propose(settings: dict[str, Any], kind: str) -> None:
    contiguous = kind == "contiguous"
    head = head_of(contiguous=contiguous, constrained=kind != "not constrained", **settings).train()
    total = sum(
        (
            part.weight * part.numerator / part.denominator.clamp_min(1e-9)
            for part in head.loss(states_of(), gold_of(), Draw(0, 1)).values()
        ),
        torch.zeros(()),
    )
    total.backward()  # type: ignore[no-untyped-call]
    unused = [name for name, parameter in head.named_parameters() if parameter.grad is None or not parameter.grad.abs().sum()]
    # only positions that no sequence of the batch has get no gradient
    assert not [name for name in unused if "positions" not in name], unused
    head.eval()
    chosen = decoding(head)
    with torch.no_grad():
        found = head.decode(head.propose(states_of(), chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    assert len(found) == len(LENGTHS)
    for length, entities in zip(LENGTHS, found, strict=True):
        for entity in entities:
            assert 0 <= entity.first <= entity.last < length
            assert len(entity.fragments) == 1 or not contiguous


@pytest.mark.parametrize("entities", [[[], [], []], [[WordEntity("A", ((0, length),))] for length in LENGTHS]])
@pytest.mark.parametrize("settings", [{}, {"contiguous": True}, {"constrained": False}])
def test_batches_without_entities_or_full_of_them_are_finite(entities: list[list[WordEntity]], settings: dict[str, Any]) -> None:
    head = head_of(**settings)
    parts = head.loss(states_of(), gold_of(entities=entities), Draw(0, 1))
    assert all(torch.isfinite(part.numerator) and torch.isfinite(part.denominator) for part in parts.values())


@torch.no_grad()
def test_labels_that_are_not_annotated_give_no_loss() -> None:
    states, known = states_of((5,)), [frozenset({"A"})]
    gold = gold_of((5,), [[WordEntity("A", ((1, 4),))]], known)
    head = head_of()
    before = head.loss(states, gold, Draw(0))
    head.network.symbol_bias[1:3] += 5.0  # B and C
    after = head.loss(states, gold, Draw(0))
    assert float(before["generation"].denominator) == 3, "all other words may start an entity of another label"
    assert float(after["generation"].numerator) == pytest.approx(float(before["generation"].numerator), rel=1e-5)
    assert float(before["parts"].denominator) == float(before["occurrences"].denominator) == 1


@pytest.mark.parametrize("settings", [{}, {"contiguous": True}, {"constrained": False}])
@pytest.mark.parametrize("unit", ["words", "pieces"])
def test_a_sentence_alone_has_the_same_loss_and_entities(settings: dict[str, Any], unit: str) -> None:
    head = head_of(seed=7, unit=unit, **settings)
    assert entities_alone_and_together(head, decoding(head), "generation") > 2


@torch.no_grad()
def test_options_limit_the_entities_of_a_word() -> None:
    head, states = head_of(seed=2, occurrences=True), states_of()
    counts = head.network.occurrences
    assert counts is not None
    for parameter in counts.parameters():
        parameter.zero_()
    counts[-1].bias[2] = 9.0  # two everywhere
    chosen: dict[str, dict[str, Any]] = {"two": {}, "beam": {"beam": 1}, "likeliest": {"more": "argmax"}}
    each = {name: head.propose(states, decoding(head, **options), Draw(0)).on_host() for name, options in chosen.items()}
    heads = sum(LENGTHS)
    assert len(each["two"]["score"]) <= 2 * heads
    assert len(each["beam"]["score"]) <= heads
    assert each["likeliest"]["score"].tolist() == each["two"]["score"].tolist()
    assert (each["two"]["score"] <= 1.0).all()


@torch.no_grad()
def test_the_span_classifier_rescores_generated_entities() -> None:
    head, states = head_of(span_classifier={"width": 4, "rescore_fragments": False}), states_of()
    assert head.span_classifier is not None
    torch.nn.init.zeros_(head.span_classifier.spans.linear.bias)
    generated = GeneratedEntities(
        place=torch.tensor([[0, 2, 3], [0, 1, 2], [2, 0, 2]]),  # sentence, label, units
        words=torch.tensor([[0, 1, 3, 9], [1, 2, 4, 0], [0, 2, 0, 0]]),  # arbitrary beyond the units
        score=torch.tensor([0.5, 0.25, 0.8]),
        head=torch.ones(3),
    )
    table = head.span_classifier.spans(states.words).softmax(1)  # (B, 1 + 2 C, M, M)
    probabilities = [
        table[0, 1 + 2 + C, 0, 3],
        table[0, 1 + 1, 1, 2],
        table[2, 1 + C, 0, 2],
    ]  # the first and the last are discontinuous
    expected = [score**0.7 * float(own) ** 0.3 for score, own in zip((0.5, 0.25, 0.8), probabilities, strict=True)]
    assert head._rescored(generated, head.span_classifier.read(states.words), 0.3).score.tolist() == pytest.approx(
        expected, rel=1e-4
    )
    assert head._rescored(generated, None, 0.0) is generated


def test_discontinuous_entities_have_a_threshold_of_their_own() -> None:
    head = head_of()
    assert [threshold.name for threshold in head.settings.thresholds()] == ["head", "score", "discontinuous"]
    assert [threshold.name for threshold in head_of(contiguous=True).settings.thresholds()] == ["head", "score"]
    generated = {
        "place": np.array([[0, 0, 2], [0, 1, 2]]),
        "words": np.array([[0, 1], [0, 2]]),  # contiguous, discontinuous
        "score": np.array([0.4, 0.4]),
        "head": np.ones(2),
    }
    for score, discontinuous, found in ((0.3, 0.5, ["A"]), (0.5, 0.3, ["B"]), (0.3, 0.3, ["A", "B"])):
        chosen = decoding(head, {"head": 0.5, "score": score, "discontinuous": discontinuous})
        assert [entity.label for entity in head.decode(generated, 1, chosen)[0]] == found


@torch.no_grad()
def test_pruning_keeps_entities_that_rescoring_can_raise_to_the_threshold() -> None:
    head, states = head_of(seed=2, span_classifier={"width": 4}), states_of()
    assert head.span_classifier is not None
    torch.nn.init.zeros_(head.span_classifier.spans.linear.bias)
    thresholds = {"score": 0.05, "head": 0.0}
    loose, strict = (
        head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), replace(chosen, thresholds=thresholds))
        for chosen in (decoding(head, own, score_share=0.5) for own in ({"score": 1e-6, "head": 0.0}, thresholds))
    )
    assert loose == strict
    assert sum(map(len, strict)) > 3


@torch.no_grad()
@pytest.mark.parametrize(("more", "taken"), [(0.5, 1), (0.3, 2), (0.1, 3)])
def test_one_more_entity_is_taken_if_it_is_likely_enough(more: float, taken: int) -> None:
    head, states = head_of(occurrences=True, most_at_one_word=3), states_of()
    counts = head.network.occurrences
    assert counts is not None
    for parameter in counts.parameters():
        parameter.zero_()
    counts[-1].bias[1:4] = torch.tensor([0.6, 0.32, 0.08]).log()  # a second with 0.4, a third with 0.2 if there is a second
    units = head.units(states)
    assert (head._heads(units, SetOptions(more=more))[1] == taken).all()
    assert (head._heads(units, SetOptions(more="argmax"))[1] == 1).all()


def test_the_two_directions_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    head = head_of(inverse=True)
    head.inverse = head_of(seed=5, inverse=True).network
    for step, not_trained, trained in ((0, "network", "inverse"), (1, "inverse", "network")):
        head.zero_grad()
        sum((p.numerator for p in head.loss(states_of(), gold_of(), Draw(0, 1, step)).values()), torch.zeros(())).backward()  # type: ignore[no-untyped-call]
        learned = {name.split(".")[0] for name, parameter in head.named_parameters() if parameter.grad is not None}
        assert learned == {trained}, not_trained
    assert Head.training_only == ("inverse.",)


STATISTICS = CorpusStatistics(
    labels=LABELS, lengths=(1, 4), spans=(1, 7), piece_lengths=(2, 9), most_at_one_word=3,
    most_words=512, encoder_decoder=False, discontinuous=True,
)  # fmt: skip


def statistics(**changed: Any) -> CorpusStatistics:
    return replace(STATISTICS, **changed)


def test_unset_values_are_chosen_from_the_corpus() -> None:
    config = Config().fitted(statistics())
    assert (config.longest, config.farthest, config.most_at_one_word, config.contiguous) == (6, 11, 3, False)
    assert (config.decoder, config.reads) == ("new", "words")
    in_pieces = Config(unit="pieces").fitted(statistics())
    assert (in_pieces.longest, in_pieces.farthest) == (14, 44)
    assert Config().fitted(statistics(most_at_one_word=50)).most_at_one_word == 8
    half = Config().fitted(statistics(encoder_decoder=True, discontinuous=False))
    assert (half.decoder, half.reads, half.contiguous) == ("pretrained", "pieces", True)
    assert "discontinuous" not in half.shapes()
    assert Config(longest=3).fitted(statistics()).longest == 3


def test_entities_that_cannot_be_generated_are_reported() -> None:
    config = Config(longest=2, farthest=4, most_at_one_word=1, contiguous=False)
    entities = [
        WordEntity("A", ((0, 2),)),
        WordEntity("A", ((0, 1),)),
        WordEntity("A", ((1, 4),)),
        WordEntity("A", ((2, 3), (8, 9))),
    ]
    fine, *reasons = config.unreachable(entities, [1] * 9)
    assert fine is None
    for reason, key in zip(reasons, ("most_at_one_word", "longest", "farthest"), strict=True):
        assert reason is not None
        assert key in reason
    assert Config(longest=2, unit="pieces").unreachable(entities[:1], [2, 2])[0] is not None


def test_only_constrained_sequences_are_searched_as_contiguous() -> None:
    assert Config(constrained=False).fitted(statistics(discontinuous=False)).contiguous is False
