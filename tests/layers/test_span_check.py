"""The second opinion: which kind it reads off, and how two opinions become one."""

import pytest
import torch

from anyner.encoding.gold import Example, gold_of
from anyner.layers.fragment_check import FragmentCheck
from anyner.layers.outline import Outlines, outlined
from anyner.layers.span_check import SpanCheck, agreed, least_before
from anyner.text.align import WordEntity
from anyner.text.windows import Window


def outlines(gap: bool) -> Outlines:
    """Of words 0 to 4, word 2, and words 1 to 3, the last of them without word 2 if there is a `gap`."""
    words = torch.tensor([[0, 1, 2, 3, 4], [2, 0, 0, 0, 0], [1, 3, 0, 0, 0] if gap else [1, 2, 3, 0, 0]])
    return outlined(torch.tensor([0, 1, 1]), words, torch.tensor([5, 1, 2 if gap else 3]))


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [True, False])
def test_an_entity_is_looked_up_by_its_ends_label_and_gaps(contiguous: bool) -> None:
    torch.manual_seed(0)
    check = SpanCheck(6, 4, 3, contiguous=contiguous, dropout=0.5).eval()
    words = torch.randn(2, 5, 6)
    table = check.pairs(words).softmax(1)  # (B, kinds, M, M)
    assert table.shape[1] == (4 if contiguous else 7)
    found = check(check.read(words), outlines(not contiguous), torch.tensor([2, 0, 1]))
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
def test_fragments_have_a_say_where_there_are_gaps() -> None:
    torch.manual_seed(2)
    plain, check = (SpanCheck(6, 4, 3, contiguous=False, dropout=0.0, fragments=both).eval() for both in (False, True))
    assert plain.fragments is None and check.fragments is not None
    assert SpanCheck(6, 4, 3, contiguous=True, dropout=0.0, fragments=True).fragments is None
    plain.pairs.load_state_dict(check.pairs.state_dict())
    words, label = torch.randn(2, 5, 6), torch.tensor([2, 0, 1])
    for gap in (False, True):
        before, after = (one(one.read(words), outlines(gap), label) for one in (plain, check))
        assert torch.equal(after[:2], before[:2])
        table = check.fragments.pairs(words).sigmoid()  # (B, 2, M, M)
        both = (table[1, 0, 1, 1] * table[1, 1, 3, 3]).sqrt()
        assert after[2].item() == pytest.approx((before[2] * both).sqrt().item() if gap else before[2].item(), rel=1e-5)


def test_fragments_are_learned_span_by_span() -> None:
    entities = [[WordEntity("A", ((0, 2), (3, 4))), WordEntity("B", ((0, 5),))], [WordEntity("B", ((0, 1), (2, 3)))], []]
    lengths, known = (5, 3, 2), (None, None, frozenset({"A"}))
    windows = [Window(0, 0, list(range(n)), list(range(1, n + 1)), ["w"] * n, [(5,)] * n) for n in lengths]
    listed = zip(windows, entities, known, strict=True)
    gold = gold_of([Example.of(window, own, ("A", "B"), annotated) for window, own, annotated in listed])
    words, mask = torch.randn(3, 5, 6), torch.arange(5) < torch.tensor(lengths)[:, None]
    check = FragmentCheck(6, 4, 0.0)
    torch.nn.init.normal_(check.pairs.bilinear)
    logits = check.pairs(words)
    firsts, lasts = {(0, 0, 1), (1, 0, 0)}, {(0, 3, 3), (1, 2, 2)}
    total = torch.zeros(())
    for sentence, length in enumerate((5, 3)):  # of the third it is not known whether it has others
        for first in range(length):
            for last in range(first, length):
                for side, wanted in enumerate((firsts, lasts)):
                    logit = logits[sentence, side, first, last]
                    total = total - torch.nn.functional.logsigmoid(logit if (sentence, first, last) in wanted else -logit)
    loss = check.loss(words, mask, gold)
    assert loss.item() == pytest.approx(total.item(), rel=1e-5)
    loss.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in check.parameters())


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
