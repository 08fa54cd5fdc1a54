"""The head as a whole: losses against loops, all switches, and what must not depend on what."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from head_batches import INEXPRESSIBLE, LABELS, LENGTHS, assert_no_target, assert_opinions_are_written, gold_of, states_of
from set_batches import FITTED, decoding, head_of
from stand_ins import entities_alone_and_together

from anyner.architectures.draw import Draw
from anyner.architectures.set_gner.config import Config, SetOptions
from anyner.architectures.set_gner.head import CODE_LOSSES, CODE_WEIGHTS, GrownEntities, Head
from anyner.architectures.set_gner.positions import Positions
from anyner.architectures.set_gner.targets import IGNORED, UnitEntities, targets_of, unit_symbol
from anyner.architectures.settings import CorpusFacts
from anyner.layers.rows import Rows
from anyner.layers.units import units_of
from anyner.text.align import WordEntity

C = len(LABELS)
SWITCHES: list[dict[str, Any]] = [
    {}, {"positions": "factorised"}, {"positions": "vanilla"}, {"parts": False}, {"occurrences": False}, {"unit": "pieces"},
    {"token_embedding": False}, {"word_positions": False}, {"reads": "pieces"}, {"weighting": "code"}, {"negatives": 0.5},
    {"layers": 1}, {"decoder": "encoder", "width": None}, {"distances": 3}, {"check": 4},
]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("weighting", ["paper", "code"])
def test_generation_is_the_weighted_loss_of_every_row(weighting: str) -> None:
    head, states, gold = head_of(weighting=weighting), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(0, 1))
    generator = head.forwards.generator
    sentences = generator.read(units_of(states, "words", head._tokens[0]), states)
    targets = targets_of(UnitEntities.in_words(gold.host), LENGTHS, C, 3)
    of_label, of_unit, of_nothing = CODE_WEIGHTS if weighting == "code" else (1.0, 1.0, 1.0)
    loss = weight = 0.0
    for group in (targets.entities, targets.others):
        for sentence, units, symbols in zip(group.sentence.tolist(), group.units, group.symbols, strict=True):
            size = int((symbols != IGNORED).sum())
            row = torch.from_numpy(units[None, :size])
            rows = Rows(torch.tensor([sentence]), torch.tensor([sentence]), len(LENGTHS), 1)
            said = generator.log_probabilities(sentences, rows, generator.written(sentences, rows, row), row[:, 0], row)[0]
            for step, symbol in enumerate(symbols[:size].tolist()):
                own = of_unit if symbol >= unit_symbol(C) else of_nothing if symbol == C else of_label
                loss -= own * float(said[step, symbol])
                weight += own
    assert float(parts["generation"].numerator) == pytest.approx(loss, rel=1e-4)
    assert float(parts["generation"].denominator) == pytest.approx(weight)
    assert parts["parts"].weight == (CODE_LOSSES["parts"] if weighting == "code" else 1.0)


@pytest.mark.parametrize(("settings", "entity"), INEXPRESSIBLE)
def test_what_the_settings_cannot_express_is_no_target(settings: dict[str, Any], entity: WordEntity) -> None:
    assert_no_target(head_of(**settings).eval(), entity)


def test_what_other_models_hold_is_written() -> None:
    assert_opinions_are_written(head_of(opinions=1.0), head_of())


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("contiguous", [False, True])
def test_all_switches_learn_and_propose(switches: dict[str, Any], contiguous: bool) -> None:
    head = head_of(contiguous=contiguous, **switches).train()
    total = sum(
        (
            part.weight * part.numerator / part.denominator.clamp_min(1e-9)
            for part in head.loss(states_of(), gold_of(), Draw(0, 1)).values()
        ),
        torch.zeros(()),
    )
    total.backward()  # type: ignore[no-untyped-call]
    unused = [name for name, parameter in head.named_parameters() if parameter.grad is None or not parameter.grad.abs().sum()]
    # the first steps of a table that others share, or rows that nothing is asked of, are the only ones that may rest
    assert not [name for name in unused if "positions" not in name], unused
    head.eval()
    asked = decoding(head)
    with torch.no_grad():
        found = head.decode(head.propose(states_of(), asked, Draw(0)).on_host(), len(LENGTHS), asked)
    assert len(found) == len(LENGTHS)
    for length, entities in zip(LENGTHS, found, strict=True):
        for entity in entities:
            assert 0 <= entity.first <= entity.last < length
            assert len(entity.fragments) == 1 or not contiguous


@pytest.mark.parametrize("entities", [[[], [], []], [[WordEntity("A", ((0, length),))] for length in LENGTHS]])
@pytest.mark.parametrize("settings", [{}, {"contiguous": True}, {"weighting": "code"}, {"negatives": 0.01}])
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
    head.forwards.generator.symbol_bias[1:3] += 5.0  # B and C
    after = head.loss(states, gold, Draw(0))
    assert float(before["generation"].denominator) == 3, "all other words may begin an entity of another label"
    assert float(after["generation"].numerator) == pytest.approx(float(before["generation"].numerator), rel=1e-5)
    assert float(before["parts"].denominator) == float(before["occurrences"].denominator) == 1


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("unit", ["words", "pieces"])
def test_a_sentence_alone_has_the_same_loss_and_entities(contiguous: bool, unit: str) -> None:
    head = head_of(seed=2, contiguous=contiguous, unit=unit)
    assert entities_alone_and_together(head, decoding(head), "generation") > 3


@torch.no_grad()
def test_options_decide_how_many_entities_a_word_begins() -> None:
    head, states = head_of(seed=2, occurrences=True), states_of()
    counts = head.forwards.detector.occurrences
    assert counts is not None
    for parameter in counts.parameters():
        parameter.zero_()
    counts[-1].bias[2] = 9.0  # two everywhere
    each = {
        name: head.propose(states, decoding(head, **options), Draw(0)).on_host()
        for name, options in {"two": {}, "beam": {"beam": 1}, "expected": {"counting": "expected"}}.items()
    }
    heads = sum(LENGTHS)
    assert len(each["two"]["score"]) <= 2 * heads
    assert len(each["beam"]["score"]) <= heads
    assert len(each["expected"]["score"]) >= len(each["two"]["score"])
    assert (each["two"]["score"] <= 1.0).all()


@torch.no_grad()
def test_what_was_grown_and_its_check_become_one_score() -> None:
    head, states = head_of(check=4), states_of()
    assert head.check is not None
    torch.nn.init.zeros_(head.check.pairs.linear.bias)
    grown = GrownEntities(
        place=torch.tensor([[0, 2, 3], [0, 1, 2], [2, 0, 2]]),  # sentence, label, units
        words=torch.tensor([[0, 1, 3, 9], [1, 2, 4, 0], [0, 2, 0, 0]]),  # what is beyond the units means nothing
        score=torch.tensor([0.5, 0.25, 0.8]),
        head=torch.ones(3),
    )
    table = head.check.pairs(states.words).softmax(1)  # (B, 1 + 2 C, M, M)
    checked = [table[0, 1 + 2 + C, 0, 3], table[0, 1 + 1, 1, 2], table[2, 1 + C, 0, 2]]  # the first and the last have gaps
    wanted = [score**0.7 * float(own) ** 0.3 for score, own in zip((0.5, 0.25, 0.8), checked, strict=True)]
    assert head._agreed(grown, head.check.read(states.words), 0.3).score.tolist() == pytest.approx(wanted, rel=1e-4)
    assert head._agreed(grown, None, 0.0) is grown


def test_entities_with_gaps_have_a_threshold_of_their_own() -> None:
    head = head_of()
    assert [threshold.name for threshold in head.settings.thresholds()] == ["head", "score", "gaps"]
    assert [threshold.name for threshold in head_of(contiguous=True).settings.thresholds()] == ["head", "score"]
    grown = {
        "place": np.array([[0, 0, 2], [0, 1, 2]]),
        "words": np.array([[0, 1], [0, 2]]),  # without and with a gap
        "score": np.array([0.4, 0.4]),
        "head": np.ones(2),
    }
    for score, gaps, found in ((0.3, 0.5, ["A"]), (0.5, 0.3, ["B"]), (0.3, 0.3, ["A", "B"])):
        asked = decoding(head, {"head": 0.5, "score": score, "gaps": gaps})
        assert [entity.label for entity in head.decode(grown, 1, asked)[0]] == found


@torch.no_grad()
def test_no_entity_is_given_up_that_its_check_could_save() -> None:
    head, states = head_of(seed=2, check=4), states_of()
    assert head.check is not None
    torch.nn.init.zeros_(head.check.pairs.linear.bias)
    thresholds = {"score": 0.05, "head": 0.0}
    loose, strict = (
        head.decode(head.propose(states, asked, Draw(0)).on_host(), len(LENGTHS), replace(asked, thresholds=thresholds))
        for asked in (decoding(head, own, check_share=0.5) for own in ({"score": 1e-6, "head": 0.0}, thresholds))
    )
    assert loose == strict
    assert sum(map(len, strict)) > 3


@torch.no_grad()
@pytest.mark.parametrize(("more", "taken"), [(0.5, 1), (0.3, 2), (0.1, 3)])
def test_a_further_entity_is_asked_for_where_it_is_likely_enough(more: float, taken: int) -> None:
    head, states = head_of(occurrences=True, most_at_one_word=3), states_of()
    counts = head.forwards.detector.occurrences
    assert counts is not None
    for parameter in counts.parameters():
        parameter.zero_()
    counts[-1].bias[1:4] = torch.tensor([0.6, 0.32, 0.08]).log()  # a second with 0.4, a third with 0.2 if there is a second
    units = units_of(states, "words", None)
    _, expected, allowed = head._heads(units, SetOptions(more=more))
    assert (allowed == taken).all()
    assert torch.equal(expected, allowed)
    assert (head._heads(units, SetOptions(counting="likeliest"))[2] == 1).all()


def test_only_the_two_directions_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    head = head_of(inverse=True)
    head.inverse = head_of(seed=5, inverse=True).forwards
    for step, resting, learning in ((0, "forwards", "inverse"), (1, "inverse", "forwards")):
        head.zero_grad()
        sum((p.numerator for p in head.loss(states_of(), gold_of(), Draw(0, 1, step)).values()), torch.zeros(())).backward()  # type: ignore[no-untyped-call]
        learned = {name.split(".")[0] for name, parameter in head.named_parameters() if parameter.grad is not None}
        assert learned == {learning}, resting
    assert Head.training_only == ("inverse.",)


def test_positions_reach_a_thousand_words_and_never_fall_together() -> None:
    config = Config.of({**FITTED, "most_units": 1000, "longest": 20, "interval": 4}, "head")
    new = Positions(config, 16, None)
    last = new.of_rows(torch.tensor([999]), torch.arange(20))
    assert last.shape == (1, 20, 16)
    assert len({tuple(row.tolist()) for row in new.table.detach()[-40:]}) == 40
    taken_over = Positions(config, 16, 1026)
    assert taken_over.interval == 1, "a table of a checkpoint cannot grow: rows come closer"
    assert not torch.equal(
        taken_over.of_rows(torch.tensor([998]), torch.tensor([0])), taken_over.of_rows(torch.tensor([999]), torch.tensor([0]))
    )
    assert taken_over.of_rows(torch.tensor([5000]), torch.arange(20)).shape == (1, 20, 16), (
        "beyond the table the last row stands in"
    )


FACTS = CorpusFacts(
    labels=LABELS, lengths=(1, 4), spans=(1, 7), piece_lengths=(2, 9), most_at_one_word=3, most_in_a_document=3,
    most_words=512, encoder_decoder=False, discontinuous=True,
)  # fmt: skip


def facts(**changed: Any) -> CorpusFacts:
    return replace(FACTS, **changed)


def test_what_is_open_is_chosen_from_the_corpus() -> None:
    config = Config().fitted(facts())
    assert (config.longest, config.farthest, config.most_at_one_word, config.contiguous) == (6, 11, 3, False)
    assert (config.decoder, config.reads, config.word_positions) == ("new", "words", True)
    in_pieces = Config(unit="pieces").fitted(facts())
    assert (in_pieces.longest, in_pieces.farthest) == (14, 44)
    assert Config().fitted(facts(most_at_one_word=50)).most_at_one_word == 8
    half = Config().fitted(facts(encoder_decoder=True, discontinuous=False))
    assert (half.decoder, half.reads, half.word_positions, half.contiguous) == ("pretrained", "pieces", False, True)
    assert "discontinuous" not in half.shapes()
    assert Config(longest=3).fitted(facts()).longest == 3


def test_what_cannot_be_written_is_told() -> None:
    config = Config(longest=2, farthest=4, most_at_one_word=1, contiguous=False)
    entities = [
        WordEntity("A", ((0, 2),)),
        WordEntity("A", ((0, 1),)),
        WordEntity("A", ((1, 4),)),
        WordEntity("A", ((2, 3), (8, 9))),
    ]
    fine, *told = config.unreachable(entities, [1] * 9)
    assert fine is None
    for reason, key in zip(told, ("most_at_one_word", "longest", "farthest"), strict=True):
        assert reason is not None
        assert key in reason
    assert Config(longest=2, unit="pieces").unreachable(entities[:1], [2, 2])[0] is not None


@torch.no_grad()
def test_a_row_knows_how_far_its_next_word_is() -> None:
    plain, head = head_of(contiguous=False), head_of(contiguous=False, distances=2)
    head.load_state_dict(plain.state_dict(), strict=False)
    assert head.forwards.generator.distances is not None
    states, gold, draw = states_of(), gold_of(), Draw(0, 1)
    assert torch.equal(
        head.loss(states, gold, draw)["generation"].numerator, plain.loss(states, gold, draw)["generation"].numerator
    )
    head.forwards.generator.distances[1] += 1.0
    assert head.loss(states, gold, draw)["generation"].numerator != plain.loss(states, gold, draw)["generation"].numerator
