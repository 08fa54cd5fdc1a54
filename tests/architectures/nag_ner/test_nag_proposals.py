"""Blocks and the check find words and labels together."""

from typing import cast

import pytest
import torch
from head_batches import LABELS, LENGTHS, states_of
from nag_batches import decoding, head_of
from torch import Tensor

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.exact import Best
from anyner.architectures.nag_ner.proposals import InformedCheck, WrittenRows, labelled
from anyner.architectures.nag_ner.writer import Blocks
from anyner.layers.outline import Outlines
from anyner.layers.rows import Rows


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_what_was_written_and_its_check_become_one_score(contiguous: bool) -> None:
    head, states = head_of(check=4, contiguous=contiguous), states_of()
    assert head.check is not None
    torch.nn.init.zeros_(head.check.pairs.linear.bias)
    torch.nn.init.normal_(head.check.pairs.bilinear, std=3.0)
    plain, checked = (head.propose(states, decoding(head, check_share=share), Draw(0)) for share in (0.0, 0.3))
    sentences, blocks = head.writer.read(states), head._begun(states, decoding(head)).blocks
    every = torch.ones(len(blocks.word), len(LABELS), dtype=torch.bool)
    types = head._types(head.writer(sentences, blocks), every)[:, 1:].exp()  # (Q, C)
    table = head.check.pairs(states.words).softmax(1)  # (B, kinds, M, M)
    compared = 0
    changed = 0
    for block, (sentence, word, _) in enumerate(plain.place.tolist()):
        for row in range(plain.score.shape[1]):
            size, score, said = int(plain.count[block, row]), float(plain.score[block, row]), types[block]
            if score > 0:
                own = int(plain.label[block, row])
                assert own == int(said.argmax())
                last = word + int(plain.words[block, row, size - 1])
                kind = 1 + (0 if contiguous or last - word + 1 == size else len(LABELS))
                likely = table[sentence, kind : kind + len(LABELS), word, last]  # (C,)
                both = (score / said[own] * said) ** 0.7 * likely**0.3  # (C,)
                two = slice(2 * row, 2 * row + 2)
                assert checked.label[block, two].tolist() == both.topk(2).indices.tolist()
                assert checked.score[block, two].tolist() == pytest.approx(both.topk(2).values.tolist(), rel=1e-4)
                assert torch.equal(checked.words[block, two], plain.words[block, row].expand(2, -1))
                compared += 1
                changed += int(both.argmax()) != own
    assert compared > 5 and changed, "the check has a say in the label, too"


@torch.no_grad()
def test_a_check_chooses_among_the_best_of_every_block() -> None:
    head, states = head_of(check=4), states_of()
    assert head.check is not None
    torch.nn.init.normal_(head.check.pairs.bilinear, std=3.0)
    all_pass = {"start": 0.0, "score": 0.0, "gaps": 0.0}
    asked = [decoding(head, all_pass, alternatives=number, more=1.0) for number in (1, 3)]
    one, several = (head.propose(states, own, Draw(0)) for own in asked)
    assert one.score.shape[1] == 2 and several.score.shape[1] == 6, "two labels of each"
    assert torch.allclose(several.score[:, 0], one.score[:, 0]) and torch.equal(several.words[:, 0], one.words[:, 0])
    assert ((several.score > 0).sum(1) > 1).any()
    found = [head.decode(own.on_host(), len(LENGTHS), own_asked) for own, own_asked in zip((one, several), asked, strict=True)]
    scores = [sum(entity.score or 0.0 for sentence in own for entity in sentence) for own in found]
    assert scores[1] > scores[0], "of one word the check has taken another row"
    unchecked = head.propose(states, decoding(head, all_pass, alternatives=3, more=1.0, check_share=0.0), Draw(0))
    assert unchecked.score.shape[1] == 1


class Says:
    """A check that says the same of every entity."""

    share = 0.5

    def __init__(self, *likely: float) -> None:
        self.likely = torch.tensor(likely)

    def __call__(self, entities: Outlines) -> Tensor:
        return self.likely.expand(len(entities.sentence), -1)


@pytest.mark.parametrize(("second", "labels"), [(0.04, {"A", "B"}), (0.001, {"A"})])
def test_a_span_may_have_two_labels_though_the_check_finds_the_first_far_likelier(second: float, labels: set[str]) -> None:
    """Of two blocks of one word each is sure of another label."""
    nothing = torch.zeros(2, dtype=torch.long)
    best = Best(torch.zeros(2, 1), torch.ones(2, 1, dtype=torch.long), torch.zeros(2, 1, 1, dtype=torch.long))
    blocks = Blocks(Rows.of_counts((2,), torch.device("cpu")), nothing, torch.arange(2))
    rows = WrittenRows(blocks, best, sure=torch.full((2, 1), 0.9), last=nothing, long_sure=torch.zeros(2))
    types = torch.tensor([[0.95, 0.03, 0.01], [0.05, 0.9, 0.01]])
    check = cast(InformedCheck, Says(0.93, second, 0.01))
    asked = decoding(head_of(), {"start": 0.05, "score": 0.15, "gaps": 0.15})
    found = decode(labelled(rows, types, torch.ones(2), check).on_host(), 1, asked)
    assert {entity.label for entity in found[0]} == labels
