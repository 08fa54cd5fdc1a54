"""Blocks and the check find words and labels together."""

from typing import cast

import pytest
import torch
from head_batches import LABELS, LENGTHS, states_of
from nag_batches import decoding, head_of
from torch import Tensor

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.exact import Best, best_words
from anyner.architectures.nag_ner.proposals import InformedCheck, WrittenBlocks, WrittenRows, labelled
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


@torch.no_grad()
@pytest.mark.parametrize("links", [0, 4])
def test_blocks_in_doubt_show_their_next_best_with_gaps_as_well(links: int) -> None:
    head, states = head_of(check=4, links=links), states_of()
    assert head.check is not None
    all_pass = {"start": 0.0, "score": 0.0, "gaps": 0.0}
    sentences, blocks = head.writer.read(states), head._begun(states, decoding(head, all_pass, more=1.0)).blocks
    layout = head._laid_out(head.writer.said(sentences, blocks, head.writer(sentences, blocks)), blocks, sentences)
    every = best_words(layout.placed, layout.sizes, layout.end, head._gap(0.0), count=3, links=layout.links)
    sure = (every.score[:, 0] - head._total(layout)).exp()  # (Q,)
    doubt = float(sure.sort().values[len(sure) // 2])  # half of the blocks are less sure
    shown = head.propose(states, decoding(head, all_pass, alternatives=3, more=1.0, doubt=doubt), Draw(0))
    none = head.propose(states, decoding(head, all_pass, alternatives=3, more=1.0, doubt=0.0), Draw(0))
    gaps = 0
    for block, own in enumerate(sure.tolist()):
        rows, before = words_of(shown, block), words_of(none, block)
        gapped = [row for row in before[1:] if row[-1] >= len(row)]
        assert not gapped, "without doubt only the best has gaps"
        if own < doubt:
            searched = zip(every.words[block], every.count[block].tolist(), strict=True)
            assert rows == [tuple(row[:count].tolist()) for row, count in searched if count]
            gaps += sum(row[-1] >= len(row) for row in rows[1:])
        else:
            assert rows == before
    assert gaps, "some of the next best have gaps"


def words_of(proposals: WrittenBlocks, block: int) -> list[tuple[int, ...]]:
    """The rows of a block that are there, each once though it has two labels."""
    each = zip(proposals.words[block, ::2], proposals.count[block, ::2].tolist(), strict=True)
    return [tuple(row[:count].tolist()) for row, count in each if count]


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
