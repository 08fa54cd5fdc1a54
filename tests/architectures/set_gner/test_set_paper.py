"""`head.preset: paper` against the paper: symbols, targets, positions, search and decoding, each done here by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from head_batches import LABELS, LENGTHS, gold_of, states_of
from set_batches import FITTED, decoding, head_of, in_words, sequences_of_one

from anyner.architectures.draw import Draw
from anyner.architectures.set_gner.config import Config, SetOptions
from anyner.architectures.set_gner.head import Head
from anyner.architectures.set_gner.targets import END, FRAGMENT, NO_ENTITY, targets_of
from anyner.architectures.settings import CorpusStatistics, with_preset
from anyner.text.align import WordEntity

C = len(LABELS)
BETA = 4
STATISTICS = CorpusStatistics(
    labels=LABELS, lengths=(1, 4), spans=(1, 7), piece_lengths=(2, 9), most_at_one_word=3,
    most_words=512, encoder_decoder=False, discontinuous=False,
)  # fmt: skip


def paper_head(seed: int = 0, **own: object) -> Head:
    sizes = {key: value for key, value in FITTED.items() if key not in ("reads", "span_classifier")}
    head, _ = with_preset(Config, {"preset": "paper"}, {})
    return head_of(seed, **{**head, **sizes, **own})


def paper_options(**own: Any) -> dict[str, Any]:
    return with_preset(Config, {"preset": "paper"}, own)[1]


def test_the_preset_is_the_published_method_in_plain_keys() -> None:
    head, options = with_preset(Config, {"preset": "paper"}, {})
    config, chosen = Config.of(head, "head"), SetOptions.of(options, "options")
    assert (config.reads, config.unit, config.distances) == ("pieces", "words", 0)
    assert (config.constrained, config.interval, config.parts, config.occurrences) == (False, 4, True, True)
    assert config.span_classifier.width == 0
    assert not config.inverse, "the main results are without it; it has rows of its own"
    assert (chosen.beam, chosen.more) == (BETA, "argmax")
    assert [threshold.name for threshold in config.thresholds()] == ["head"], (
        "the best of each head are entities, however improbable"
    )
    fitted = config.fitted(STATISTICS)
    assert fitted.contiguous is False, "the same search for every corpus"
    assert fitted.reads == "pieces"
    assert with_preset(Config, {"preset": "paper", "inverse": True}, {"beam": 1})[0]["inverse"], "single keys win"


def test_targets_are_those_of_the_papers_example() -> None:
    """Swollen , burning feet and ankles: every word starts a sequence, a head one for each of its entities."""
    entities = [WordEntity.of_words("A", words) for words in ((0, 3), (0, 5), (2, 3), (2, 5))]
    head = paper_head()
    targets = targets_of(in_words(gold_of((7,), [entities]), (7,)), (7,), C, head.settings)
    first_word, end = C + 3, C + END
    assert (C + NO_ENTITY, C + FRAGMENT, end, first_word) == (C, C + 1, C + 2, head.network.first_unit)
    assert targets.entities.targets.tolist() == [[first_word + word, 0, end] for word in (3, 5, 3, 5)]
    assert targets.entities.inputs.tolist() == [[first, word, 0 - first_word] for first, word in ((0, 3), (0, 5), (2, 3), (2, 5))]
    others = {
        int(unit): symbols.tolist() for (unit, _), symbols in zip(targets.others.inputs, targets.others.targets, strict=True)
    }
    assert others == {1: [C, end], 3: [C + 1, end], 4: [C, end], 5: [C + 1, end], 6: [C, end]}
    assert targets.occurrences.tolist() == [[2, 0, 2, 0, 0, 0, 0]]
    assert targets.parts[0].tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]]


@torch.no_grad()
def test_every_symbol_but_padding_is_in_the_softmax_and_labels_are_inputs() -> None:
    head, states = paper_head(), states_of()
    network, sentences = head.network, head.network.read(head.units(states), states)
    elements = torch.tensor([[1, 0, 2 - network.first_unit]])  # back to the first word, then a label
    rows = sequences_of_one(2)
    output = network(sentences, rows, elements, elements[:, 0])
    log = network.log_probabilities(sentences, rows, output, elements[:, 0], elements)[0]  # (3, C + 3 + U)
    real = C + 3 + LENGTHS[2]
    assert torch.allclose(log[:, :real].exp().sum(1), torch.ones(3), atol=1e-5)
    assert (log[:, :real] > -50).all() and (log[:, real:] < -1000).all()
    # by hand: positions i * tau + t (equation 13), label embeddings and word vectors in one table, one decoder pass
    table = torch.cat([network.symbols, sentences.keys.new_zeros(0, network.width), sentences.inputs[2, network.first_unit :]])
    inputs = table[elements[0] + network.first_unit] + network.positions.table[1 * 4 + torch.arange(3)]
    by_hand = network.decoder(inputs[None], rows, sentences.memory)
    assert torch.allclose(by_hand, output, atol=1e-5)
    keys = torch.cat([sentences.symbol_keys, sentences.keys[2]])
    logits = network.query(by_hand[0]) @ keys.T * network.sharpness
    logits[:, : network.first_unit] += network.symbol_bias
    assert torch.allclose(log[:, :real], logits[:, :real].log_softmax(1), atol=1e-4)


def beam_search(head: Head, sentence: int, word: int, keep: int) -> list[tuple[tuple[int, ...], float]]:
    """The paper's, with lists: the best `keep` finished sequences by log probability divided by length."""
    network, states = head.network, states_of()
    sentences, rows = network.read(head.units(states), states), sequences_of_one(sentence)
    end, words = C + END, range(LENGTHS[sentence])
    symbols = [symbol for symbol in [*range(C + 3), *(C + 3 + own for own in words)] if symbol != end]
    beams, finished = [((word,), 0.0)], list[tuple[tuple[int, ...], float]]()
    assert head.settings.longest is not None
    for _ in range(head.settings.longest + 1):
        longer = []
        for elements, total in beams:
            one = torch.tensor([elements])
            log = network.log_probabilities(sentences, rows, network(sentences, rows, one, one[:, 0]), one[:, 0], one)[0, -1]
            finished.append((elements, total + float(log[end])))
            longer += [((*elements, symbol - network.first_unit), total + float(log[symbol])) for symbol in symbols]
        beams = sorted(longer, key=lambda one: -one[1])[:BETA]
    return sorted(finished, key=lambda one: -one[1] / len(one[0]))[:keep]


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_entities_are_the_likeliest_number_of_the_best_sequences_of_a_beam_search(seed: int) -> None:
    head, states = paper_head(seed), states_of()
    head.network.symbol_bias[:C] += 1.0  # untrained labels seldom come first
    chosen = decoding(head, {"head": 0.5}, **paper_options())
    found = head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    parts, counts = head.network.detect(states.words)
    assert parts is not None and counts is not None
    for sentence, length in enumerate(LENGTHS):
        expected = dict[tuple[str, tuple[int, ...]], float]()
        for word in range(length):
            number = int(counts[sentence, word, 1:].argmax()) + 1
            if parts[sentence, word, 0].sigmoid() < 0.5:
                continue
            for elements, log in beam_search(head, sentence, word, number):
                until = next((place for place, element in enumerate(elements) if element < 0), None)
                if (
                    until is None
                    or elements[until] + head.network.first_unit >= C
                    or sorted(set(elements[:until])) != [*elements[:until]]
                ):
                    continue  # no label, or words out of order: it takes a place but is not an entity
                key = (LABELS[elements[until] + head.network.first_unit], elements[:until])
                score = min(1.0, float(torch.tensor(log).exp()) * number)
                expected[key] = max(score, expected.get(key, 0.0))
        own = {(entity.label, entity.word_indices): entity.score for entity in found[sentence]}
        assert own == pytest.approx(expected, abs=1e-5)


@torch.no_grad()
def test_without_rescoring_no_entity_is_dropped_by_its_score() -> None:
    head, states = paper_head(), states_of()
    head.network.symbol_bias[:C] += 3.0
    chosen = decoding(head, {"head": 0.0}, **paper_options())
    found = head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    assert min(entity.score or 0.0 for own in found for entity in own) < 0.05
    assert head.decode(head.propose(states, replace(chosen, thresholds={"head": 1.0}), Draw(0)).on_host(), 3, chosen) == [
        [],
        [],
        [],
    ]
