"""The second opinion: which kind it reads off, and how two opinions become one."""

import pytest
import torch

from anyner.layers.span_check import SpanCheck, agreed, least_before
from anyner.layers.spanpool import Spans


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [True, False])
def test_an_entity_is_looked_up_by_its_ends_label_and_gaps(contiguous: bool) -> None:
    torch.manual_seed(0)
    check = SpanCheck(6, 4, 3, contiguous=contiguous, dropout=0.5).eval()
    words = torch.randn(2, 5, 6)
    table = check.pairs(words).softmax(1)  # (B, kinds, M, M)
    assert table.shape[1] == (4 if contiguous else 7)
    spans = Spans(torch.tensor([0, 1, 1]), torch.tensor([0, 2, 1]), torch.tensor([4, 2, 3]))
    label, gaps = torch.tensor([2, 0, 1]), torch.tensor([False, False, not contiguous])
    found = check(check.read(words), spans, label, gaps)
    assert found.tolist() == pytest.approx(
        [table[0, 3, 0, 4].item(), table[1, 1, 2, 2].item(), table[1, 2 if contiguous else 5, 1, 3].item()], rel=1e-5
    )


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_the_reach_is_that_of_a_loop_over_spans(contiguous: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    check = SpanCheck(6, 4, 3, contiguous=contiguous, dropout=0.0).eval()
    torch.nn.init.normal_(check.pairs.bilinear, std=2.0)
    monkeypatch.setattr("anyner.layers.boundary_pairs.LARGEST", 2 * 5 * 5 * at_once)
    words, lengths = torch.randn(2, 5, 6) * 3, (5, 3)
    table = check.pairs(words).softmax(1)  # (B, kinds, M, M)
    whole, gaps = check.reach(check.read(words), torch.arange(5) < torch.tensor(lengths)[:, None], 0.1)
    for found, kinds in ((whole, range(1, 4)), (gaps, range(4, table.shape[1]))):
        for b, length in enumerate(lengths):
            for first in range(5):
                lasts = [j for j in range(first, length) if any(table[b, kind, first, j] >= 0.1 for kind in kinds)]
                assert found[b, first] == max(lasts, default=-1)
    assert (whole >= 0).any()
    assert (gaps >= 0).any() == (not contiguous)


@torch.no_grad()
def test_at_first_nearly_nothing_is_an_entity() -> None:
    check = SpanCheck(6, 4, 3, contiguous=False, dropout=0.0).eval()
    assert check.pairs(torch.zeros(1, 3, 6)).softmax(1)[:, 0].min() > 0.9


def test_two_opinions_become_one() -> None:
    score, checked = torch.tensor([0.25, 0.9, 0.0]), torch.tensor([1.0, 0.4, 0.7])
    assert agreed(score, checked, 0.5).tolist() == pytest.approx([0.5, 0.6, 0.0])
    assert agreed(score, checked, 0.0).tolist() == pytest.approx(score.tolist())
    least = least_before(0.3, 0.25)
    assert agreed(torch.tensor(least), torch.tensor(1.0), 0.25).item() == pytest.approx(0.3)
    assert least_before(0.3, 0.0) == pytest.approx(0.3)
