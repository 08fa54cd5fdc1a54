"""The search finds what trying everything finds, and heads do not touch each other."""

from itertools import combinations

import pytest
import torch
from head_batches import LABELS, LENGTHS, states_of
from set_batches import head_of

from anyner.architectures.set_gner.finished import NONE, Limits, Reach
from anyner.architectures.set_gner.generator import Generator, Sentences
from anyner.architectures.set_gner.search import grown
from anyner.architectures.set_gner.targets import unit_symbol
from anyner.layers.rows import Rows
from anyner.layers.units import units_of

C = len(LABELS)
Scored = dict[tuple[tuple[int, ...], int], float]


def read(**settings: object) -> tuple[Generator, Sentences]:
    head, states = head_of(seed=3, **settings), states_of()
    generator = head.forwards.generator
    return generator, generator.read(units_of(states, "words", head._tokens[0]), states)


def everything(generator: Generator, sentences: Sentences, sentence: int, head: int, longest: int) -> Scored:
    """The log probability of every entity that begins at a word, one by one, each as a row of its own."""
    length, rules = LENGTHS[sentence], generator.rules
    found: Scored = {}
    for size in range(longest):
        for more in combinations(range(head + 1, min(length, head + rules.farthest)), size):
            words = (head, *more)
            if rules.contiguous and words[-1] - head != size:
                continue
            rows = Rows(torch.tensor([sentence]), torch.tensor([sentence]), len(LENGTHS), 1)
            units = torch.tensor([words])
            said = generator.log_probabilities(sentences, rows, generator.written(sentences, rows, units), units[:, 0], units)[0]
            symbols = [unit_symbol(C) + (0 if rules.contiguous else word) for word in more]
            before = sum(float(said[step, symbol]) for step, symbol in enumerate(symbols))
            for label in range(C):
                found[words, label] = before + float(said[size, label])
    return found


def found_at(result: object, head: int) -> Scored:
    units, size, symbol, log = (getattr(result, name)[head] for name in ("units", "size", "symbol", "log_probability"))
    return {
        (tuple(units[place, : size[place]].tolist()), int(symbol[place])): float(log[place])
        for place in range(len(size))
        if log[place] > NONE
    }


def all_heads() -> tuple[Rows, torch.Tensor]:
    rows = Rows.of_counts(LENGTHS, torch.device("cpu"))
    return rows, torch.cat([torch.arange(length) for length in LENGTHS])


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("farthest", [3, 9])
@pytest.mark.parametrize("length_power", [0.0, 1.0])
def test_the_best_are_those_of_trying_everything(contiguous: bool, farthest: int, length_power: float) -> None:
    generator, sentences = read(contiguous=contiguous, farthest=farthest)
    rows, heads = all_heads()
    result = grown(generator, sentences, rows, heads, Limits(200, 6, -1e9, length_power))
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth = everything(generator, sentences, sentence, head, 6)
        found = found_at(result, number)
        assert found == pytest.approx(truth, abs=1e-4)
        ranks = [value / len(words) ** length_power for (words, _), value in found.items()]
        assert ranks == sorted(ranks, reverse=True)
        assert float(torch.tensor(list(truth.values())).exp().sum()) < 1, "the rest is nothing, or what is too far"


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_few_places_keep_what_many_rank_first(contiguous: bool) -> None:
    generator, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    few, many = (grown(generator, sentences, rows, heads, Limits(places, 6, -1e9)) for places in (60, 200))
    for number in range(len(heads)):
        kept = dict(list(found_at(many, number).items())[:60])
        assert found_at(few, number) == pytest.approx(kept, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_nothing_improbable_is_kept_and_nothing_probable_is_lost(contiguous: bool) -> None:
    generator, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    loose, strict = (grown(generator, sentences, rows, heads, Limits(200, 6, least)) for least in (-1e9, -3.0))
    for number in range(len(heads)):
        kept = {entity: value for entity, value in found_at(loose, number).items() if value >= -3.0}
        assert found_at(strict, number) == pytest.approx(kept, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_head_grows_the_same_entities_whatever_the_others_do(contiguous: bool) -> None:
    generator, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    together = grown(generator, sentences, rows, heads, Limits(4, 6, -1e9))
    for chosen in ([0, 3, 6], [4], [5, 8]):
        some = grown(generator, sentences, rows[torch.tensor(chosen)], heads[chosen], Limits(4, 6, -1e9))
        for place, number in enumerate(chosen):
            assert found_at(some, place) == pytest.approx(found_at(together, number), abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_nothing_takes_a_place_where_it_counts(contiguous: bool) -> None:
    generator, sentences = read(contiguous=contiguous)
    generator.symbol_bias[C:] += 9.0  # "no entity" and "fragment" win
    rows, heads = all_heads()
    counting = grown(generator, sentences, rows, heads, Limits(3, 6, -1e9, null_counts=True))
    assert set(counting.symbol[:, :2].flatten().tolist()) == {C, C + 1}
    assert int(grown(generator, sentences, rows, heads, Limits(3, 6, -1e9)).symbol.max()) < C


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_with_a_reach_the_best_are_those_of_trying_everything_within_it(seed: int) -> None:
    generator, sentences = read(contiguous=False)
    rows, heads = all_heads()
    random = torch.Generator().manual_seed(seed)
    whole, gaps = (torch.randint(-1, 5, (len(heads),), generator=random) for _ in range(2))
    limits = Limits(200, 6, -1e9, reach=Reach(whole, gaps))
    result = grown(generator, sentences, rows, heads, limits)
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth = {
            (words, label): value
            for (words, label), value in everything(generator, sentences, sentence, head, 6).items()
            if words[-1] <= (whole if words[-1] - head + 1 == len(words) else gaps)[number]
        }
        assert found_at(result, number) == pytest.approx(truth, abs=1e-4)
    counting = grown(generator, sentences, rows, heads, Limits(200, 6, -1e9, null_counts=True, reach=Reach(whole, gaps)))
    assert all({((head,), C), ((head,), C + 1)} <= set(found_at(counting, n)) for n, head in enumerate(heads.tolist()))


@torch.no_grad()
@pytest.mark.parametrize("places", [1, 3])
def test_few_places_within_a_reach_have_the_right_scores_and_the_best_without_gaps(places: int) -> None:
    generator, sentences = read(contiguous=False)
    rows, heads = all_heads()
    reach = Reach(torch.full_like(heads, 4), torch.full_like(heads, 4))
    result = grown(generator, sentences, rows, heads, Limits(places, 6, -1e9, reach=reach))
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth, found = everything(generator, sentences, sentence, head, 6), found_at(result, number)
        assert found == pytest.approx({entity: truth[entity] for entity in found}, abs=1e-4)
        whole = max(value for (words, _), value in truth.items() if words[-1] - head + 1 == len(words))
        assert max(found.values()) >= whole - 1e-4 and len(found) == places


@torch.no_grad()
@pytest.mark.parametrize("sentence", [0, 2])
def test_a_likely_entity_with_gaps_is_found_with_one_place(sentence: int) -> None:
    generator, sentences = read(contiguous=False)
    truth = {entity: value for entity, value in everything(generator, sentences, sentence, 0, 3).items() if has_gap(entity[0])}
    assert truth
    rows = Rows(torch.tensor([sentence]), torch.tensor([sentence]), len(LENGTHS), 1)
    nothing, everywhere = torch.tensor([-1]), torch.tensor([9])
    limits = Limits(1, 2, -1e9, reach=Reach(nothing, everywhere))
    (found,) = found_at(grown(generator, sentences, rows, torch.tensor([0]), limits), 0).items()
    likeliest_jump = max(
        {words for words, _ in truth if len(words) == 2}, key=lambda words: jump(generator, sentences, rows, words)
    )
    assert found[0][0] == likeliest_jump and found[1] == pytest.approx(truth[found[0]], abs=1e-4)


def has_gap(words: tuple[int, ...]) -> bool:
    return words[-1] - words[0] + 1 > len(words)


def jump(generator: Generator, sentences: Sentences, rows: Rows, words: tuple[int, ...]) -> float:
    """The log probability of the second word behind the first."""
    units = torch.tensor([words[:1]])
    said = generator.log_probabilities(sentences, rows, generator.written(sentences, rows, units), units[:, 0], units)
    return float(said[0, 0, unit_symbol(C) + words[1]])


@torch.no_grad()
def test_no_heads_grow_nothing() -> None:
    generator, sentences = read()
    nothing = torch.zeros(0, dtype=torch.long)
    result = grown(generator, sentences, Rows(nothing, nothing, 3, 0), nothing, Limits(4, 6, -9.0))
    assert result.size.shape == result.log_probability.shape == (0, 4)
