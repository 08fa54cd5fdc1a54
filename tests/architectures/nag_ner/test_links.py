"""Links between words over gaps: what they are made of, and that the head learns and predicts with the same ones."""

from typing import cast

import pytest
import torch
from head_batches import gold_of, states_of
from nag_batches import decoding, head_of
from stand_ins import FakeEncoder, entities_alone_and_together
from test_exact import everything

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.links import Links, over_gaps
from anyner.encoding.encoder import Encoder
from anyner.errors import AnynerError
from anyner.text.align import WordEntity


@torch.no_grad()
def test_a_link_is_of_both_words_and_their_distance() -> None:
    torch.manual_seed(0)
    links = Links(6, 4, 3, dropout=0.0)
    links.distance.copy_(torch.tensor([0.0, 1.0, 5.0]))
    words = torch.randn(2, 5, 6)
    found = links(words)
    for before in range(5):
        for behind in range(before, 5):
            both = (links.before(words[1, before]) * links.behind(words[1, behind])).sum() / 2
            far = links.distance[min(behind - before, 2)]
            assert float(found[1, before, behind]) == pytest.approx(float(both + far), abs=1e-5)


def test_only_words_with_others_between_them_are_linked() -> None:
    linked = over_gaps(torch.ones(2, 4, 4), -1.0)[0] > 0
    assert linked.nonzero().tolist() == [[0, 2], [0, 3], [1, 3]]


@torch.no_grad()
def test_the_loss_is_that_of_the_row_among_all_rows_with_their_links() -> None:
    """Tried out row by row, for an entity with a gap and for the block of one more entity at its word, where there is none."""
    head, price = head_of(links=4, tail=False, negatives=0, spare_negatives=0, farthest=5), 0.7
    assert head.writer.links is not None and head.writer.gap is not None
    for parameter in head.writer.links.parameters():
        torch.nn.init.normal_(parameter)
    torch.nn.init.constant_(head.writer.gap, price)
    torch.nn.init.zeros_(head.writer.word_places)  # sentences are believed to stand elsewhere in training
    states, gold = states_of((5,)), gold_of((5,), [[WordEntity("A", ((0, 1), (2, 4)))]])
    sentences = head.writer.read(states)
    blocks = head._begun(states, decoding(head, {"start": 0.0, "score": 0.0}, more=0.0)).blocks
    layout = head._laid_out(head.writer.said(sentences, blocks, head.writer(sentences, blocks)), blocks, sentences)
    assert layout.links is not None
    wanted = 0.0
    for rank, row in ((0, (0, 2, 3)), (1, (0,))):
        block = int(((blocks.word == 0) & (blocks.rank == rank)).nonzero())
        end = torch.logaddexp(layout.end[block], layout.more[block])
        rows = everything(layout.placed[block], layout.sizes[block], end, contiguous=False, gap=price, links=layout.links[block])
        total = float(torch.tensor([score for score, _ in rows]).logsumexp(0))
        wanted += total - {found: score for score, found in rows}[row]
    assert float(head.loss(states, gold, Draw(0))["writing"].numerator) == pytest.approx(wanted, rel=1e-4)


def test_with_links_a_sentence_alone_has_the_same_loss_and_entities() -> None:
    head = head_of(seed=2, links=4, negatives=9)
    assert entities_alone_and_together(head, decoding(head), "writing") > 2


@pytest.mark.parametrize("settings", [{"space": "sentence"}, {"writing": "positions"}], ids=str)
def test_links_are_for_rows_of_words_alone(settings: dict[str, str]) -> None:
    encoder = FakeEncoder()
    with pytest.raises(AnynerError, match=r"head\.links is for rows of words"):
        head_of(encoder=encoder, links=4, **settings).start(cast(Encoder, encoder), lambda word: (5,))
