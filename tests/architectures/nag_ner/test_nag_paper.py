"""`head.preset: paper` is the published method: its inputs, its losses and its decoding, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from head_batches import ENTITIES, LENGTHS, gold_of, states_of
from nag_batches import FITTED, decoding, head_of
from stand_ins import FakeEncoder
from torch.nn import functional

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.config import END, FIRST_UNIT, Config, NagOptions
from anyner.architectures.nag_ner.head import Head
from anyner.architectures.nag_ner.network import only_best
from anyner.architectures.settings import with_preset

WIDTH = FITTED["width"]
HEAD, OPTIONS = with_preset(Config, {"preset": "paper"}, {})
FOR_TESTS: dict[str, Any] = {"longest": 4, "most_at_one_word": 3, "tail": False}  # small enough for small batches


def paper_head(encoder: FakeEncoder | None = None, **settings: object) -> Head:
    return head_of(encoder=encoder, **{**HEAD, **FOR_TESTS, **settings})


def test_every_key_of_the_preset_differs_from_the_default() -> None:
    assert Config.of({**FITTED, **HEAD}, "head").PAPER
    assert not [key for key, value in HEAD.items() if key != "span_classifier" and getattr(Config(), key) == value]
    assert not [key for key, value in OPTIONS.items() if getattr(NagOptions(), key) == value]


def test_losses_are_those_of_equation_7() -> None:
    head = paper_head()
    parts = head.loss(states_of(), gold_of(), Draw(0, 1))
    assert set(parts) == {"starts", "generation"}
    assert float(parts["starts"].denominator) == sum(LENGTHS), "all words count in L_ne"
    # blocks: one per entity, and one per word without any; label, units and end of each, without `<s>`
    entities = (1 + 4 + 1) + (1 + 2 + 1) + (1 + 2 + 1) + (1 + 1 + 1)
    free = sum(LENGTHS) - len({(n, entity.first) for n, own in enumerate(ENTITIES) for entity in own})
    assert float(parts["generation"].denominator) == entities + 3 * free
    assert all(part.weight == 1.0 for part in parts.values())


@torch.no_grad()
def test_block_inputs_are_mask_position_wspe_and_nepe() -> None:
    encoder = FakeEncoder()
    table = torch.nn.Embedding(20, WIDTH)  # as wide as the decoder, so that positions are not projected
    encoder.tables = replace(encoder.tables, positions=table)
    head, states, seen = paper_head(encoder), states_of(), []
    network = head.network
    network.decoder.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    blocks, _ = head._expected_blocks(states, decoding(head, **OPTIONS))
    hidden = network(network.read(states), blocks)
    assert hidden.shape == seen[0].shape == (len(blocks.word), 4 + 2, WIDTH)
    piece = states.first_piece[blocks.sentence, blocks.word]
    wspe = table.weight[piece + 1]  # piece 0 has row 1 of this table
    expected = network.mask + network.positions + (wspe + network.ranks[blocks.rank])[:, None]
    assert torch.allclose(seen[0], expected, atol=1e-6)
    assert network.head_word is None and network.next_words is None and network.last_word is None
    assert head.span_classifier is None and isinstance(head.start_classifier, torch.nn.Linear)


@torch.no_grad()
def test_a_position_sees_the_earlier_ones_of_its_block_only() -> None:
    head, states = paper_head(), states_of()
    sentences = head.network.read(states)
    blocks, _ = head._expected_blocks(states, decoding(head, **OPTIONS))
    before = head.network(sentences, blocks)
    head.network.positions[3, 0] += 1.0
    after = head.network(sentences, blocks)
    assert torch.allclose(before[:, :3], after[:, :3]) and not torch.allclose(before[:, 3:], after[:, 3:])


@torch.no_grad()
def test_every_position_has_a_softmax_over_the_whole_vocabulary() -> None:
    encoder = FakeEncoder()
    head, states = paper_head(encoder), states_of()
    sentences = head.network.read(states)
    blocks, _ = head._expected_blocks(states, decoding(head, **OPTIONS))
    hidden = head.network(sentences, blocks)
    output, kept = (head.network.output(hidden[:, 1:], blocks, sentences, greedy=greedy) for greedy in (False, True))
    assert output.shape == (len(blocks.word), 4 + 1, FIRST_UNIT + max(LENGTHS))
    layer = head.network.output
    query = layer.norm(functional.gelu(layer.transform(hidden[:, 1:])))  # type: ignore[operator]
    logits = torch.cat([layer.special(query), query @ encoder.tables.tokens.weight.T], dim=-1)
    log = logits.log_softmax(-1)
    assert torch.allclose(output[..., END], log[..., END], atol=1e-5)
    assert torch.equal(kept.isfinite(), output >= log.amax(-1, keepdim=True) - 1e-6)


def test_greedy_decoding_keeps_the_best_symbol_of_each_position() -> None:
    symbols = torch.tensor([[[-3.0, -9.0, -0.1, -2.0], [-0.5, -9.0, -4.0, -2.0], [-1.0, -9.0, -1.5, -2.0]]])
    best = torch.tensor([[-0.1, -0.5, -0.7]])  # at the last position, of a piece that is not in the sentence
    kept = only_best(symbols, best[..., None])[0]
    assert kept.isfinite().nonzero().tolist() == [[0, 2], [1, 0]]


@torch.no_grad()
@pytest.mark.parametrize(("no_entity", "found"), [(-9.0, True), (9.0, False)])
def test_a_block_whose_best_label_is_no_entity_gives_none(no_entity: float, found: bool) -> None:
    head, states = paper_head(space="pointer"), states_of()
    head.network.types.bias[0] = no_entity
    output = head.network.output
    output.special.weight.zero_()
    output.special.bias[:] = torch.tensor([0.0, -50.0])
    head.network.output.distance[0, 0] = 50.0  # type: ignore[operator]
    head.network.output.distance[1:] = -50.0  # type: ignore[operator]
    chosen = decoding(head, {"start": 0.0, "score": 0.05, "discontinuous": 0.05}, **OPTIONS)
    entities = head.decode(head.propose(states, chosen, Draw(0)).on_host(), len(LENGTHS), chosen)
    assert any(entities) == found
    assert all(len(entity.word_indices) == 1 for own in entities for entity in own)
