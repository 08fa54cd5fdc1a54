"""The search equals brute force, and heads are independent of each other."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
import torch
from head_batches import LABELS, LENGTHS, states_of
from set_batches import head_of, sequences_of_one

from anyner.architectures.set_gner.config import NONE, Limits
from anyner.architectures.set_gner.network import Network, Sentences
from anyner.architectures.set_gner.search import Hypotheses, Reach, generate
from anyner.architectures.set_gner.targets import END
from anyner.layers.sequences import Sequences

C = len(LABELS)
Scored = dict[tuple[tuple[int, ...], int], float]


def read(**settings: object) -> tuple[Network, Sentences]:
    head, states = head_of(seed=3, **settings), states_of()
    return head.network, head.network.read(head.units(states), states)


def outputs(network: Network, sentences: Sentences, sentence: int, elements: tuple[int, ...]) -> torch.Tensor:
    """Log probabilities after each element of one sequence: (T, symbols + units)."""
    rows, one = sequences_of_one(sentence), torch.tensor([elements])
    return network.log_probabilities(sentences, rows, network(sentences, rows, one, one[:, 0]), one[:, 0], one)[0]


def everything(network: Network, sentences: Sentences, sentence: int, head: int, longest: int) -> Scored:
    """The log probability of every entity that starts at a word, by brute force, each as a separate sequence."""
    length, config = LENGTHS[sentence], network.settings
    found: Scored = {}
    for size in range(longest):
        for more in combinations(range(head + 1, min(length, head + (config.farthest or 0))), size):
            words = (head, *more)
            if config.contiguous and words[-1] - head != size:
                continue
            log = outputs(network, sentences, sentence, words)
            symbols = [network.first_unit + word for word in more]
            before = sum(float(log[step, symbol]) for step, symbol in enumerate(symbols))
            for label in range(C):
                found[words, label] = before + float(log[size, label])
    return found


def found_at(best: Hypotheses, head: int) -> Scored:
    units, size, label, log = best.units[head], best.size[head], best.label[head], best.log[head]
    return {
        (tuple(units[place, : size[place]].tolist()), int(label[place])): float(log[place])
        for place in range(len(size))
        if log[place] > NONE
    }


def all_heads() -> tuple[Sequences, torch.Tensor]:
    rows = Sequences.of(np.repeat(np.arange(len(LENGTHS)), LENGTHS), len(LENGTHS), torch.device("cpu"))
    return rows, torch.cat([torch.arange(length) for length in LENGTHS])


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("farthest", [3, 9])
@pytest.mark.parametrize("by_length", [False, True])
def test_the_best_are_those_of_brute_force(contiguous: bool, farthest: int, by_length: bool) -> None:
    network, sentences = read(contiguous=contiguous, farthest=farthest)
    rows, heads = all_heads()
    result = generate(network, sentences, rows, heads, Limits(200, 6, -1e9, by_length))
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth = everything(network, sentences, sentence, head, 6)
        found = found_at(result, number)
        assert found == pytest.approx(truth, abs=1e-4)
        ranks = [value / len(words) ** by_length for (words, _), value in found.items()]
        assert ranks == sorted(ranks, reverse=True)
        assert float(torch.tensor(list(truth.values())).exp().sum()) < 1, "the rest is no entity, or too far"


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_narrow_beam_keeps_the_first_of_a_wide_one(contiguous: bool) -> None:
    network, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    few, many = (generate(network, sentences, rows, heads, Limits(places, 6, -1e9)) for places in (60, 200))
    for number in range(len(heads)):
        kept = dict(list(found_at(many, number).items())[:60])
        assert found_at(few, number) == pytest.approx(kept, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_pruning_drops_the_improbable_and_nothing_else(contiguous: bool) -> None:
    network, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    loose, strict = (generate(network, sentences, rows, heads, Limits(200, 6, least)) for least in (-1e9, -3.0))
    for number in range(len(heads)):
        kept = {entity: value for entity, value in found_at(loose, number).items() if value >= -3.0}
        assert found_at(strict, number) == pytest.approx(kept, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_head_generates_the_same_entities_whatever_the_other_heads_are(contiguous: bool) -> None:
    network, sentences = read(contiguous=contiguous)
    rows, heads = all_heads()
    together = generate(network, sentences, rows, heads, Limits(4, 6, -1e9))
    for chosen in ([0, 3, 6], [4], [5, 8]):
        some = generate(network, sentences, rows[torch.tensor(chosen)], heads[chosen], Limits(4, 6, -1e9))
        for place, number in enumerate(chosen):
            assert found_at(some, place) == pytest.approx(found_at(together, number), abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_within_a_reach_the_best_are_those_of_brute_force(seed: int) -> None:
    network, sentences = read(contiguous=False)
    rows, heads = all_heads()
    random = torch.Generator().manual_seed(seed)
    whole, split = (torch.randint(-1, 5, (len(heads),), generator=random) for _ in range(2))
    result = generate(network, sentences, rows, heads, Limits(200, 6, -1e9), reach=Reach(whole, split))
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth = {
            (words, label): value
            for (words, label), value in everything(network, sentences, sentence, head, 6).items()
            if words[-1] <= (whole if words[-1] - head + 1 == len(words) else split)[number]
        }
        assert found_at(result, number) == pytest.approx(truth, abs=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("places", [1, 3])
def test_a_narrow_beam_within_a_reach_has_the_right_scores_and_the_best_contiguous_entity(places: int) -> None:
    network, sentences = read(contiguous=False)
    rows, heads = all_heads()
    reach = Reach(torch.full_like(heads, 4), torch.full_like(heads, 4))
    result = generate(network, sentences, rows, heads, Limits(places, 6, -1e9), reach=reach)
    for number, (sentence, head) in enumerate(zip(rows.sentence.tolist(), heads.tolist(), strict=True)):
        truth, found = everything(network, sentences, sentence, head, 6), found_at(result, number)
        assert found == pytest.approx({entity: truth[entity] for entity in found}, abs=1e-4)
        whole = max(value for (words, _), value in truth.items() if words[-1] - head + 1 == len(words))
        assert max(found.values()) >= whole - 1e-4 and len(found) == places


@torch.no_grad()
@pytest.mark.parametrize("sentence", [0, 2])
def test_a_likely_discontinuous_entity_is_found_with_a_beam_of_one(sentence: int) -> None:
    network, sentences = read(contiguous=False)
    truth = {entity: value for entity, value in everything(network, sentences, sentence, 0, 3).items() if has_gap(entity[0])}
    assert truth
    rows = sequences_of_one(sentence)
    reach = Reach(torch.tensor([-1]), torch.tensor([9]))
    (found,) = found_at(generate(network, sentences, rows, torch.tensor([0]), Limits(1, 2, -1e9), reach=reach), 0).items()
    second = outputs(network, sentences, sentence, (0,))[0, network.first_unit :]  # (U,) after the first word
    likeliest_jump = max({words for words, _ in truth if len(words) == 2}, key=lambda words: float(second[words[1]]))
    assert found[0][0] == likeliest_jump and found[1] == pytest.approx(truth[found[0]], abs=1e-4)


def has_gap(words: tuple[int, ...]) -> bool:
    return words[-1] - words[0] + 1 > len(words)


@torch.no_grad()
def test_no_heads_generate_nothing() -> None:
    network, sentences = read()
    nothing = torch.zeros(0, dtype=torch.long)
    result = generate(network, sentences, Sequences(nothing, nothing, 3, 0), nothing, Limits(4, 6, -9.0))
    assert result.size.shape == result.log.shape == (0, 4)


def all_sequences(
    network: Network, sentences: Sentences, sentence: int, head: int, elements: int
) -> dict[tuple[int, ...], float]:
    """Every sequence of at most `elements` elements and its log probability with the end symbol."""
    length, end = LENGTHS[sentence], C + END
    followers = [*range(-network.first_unit, -1), *range(length)]  # symbols but the end, and words
    found = {}
    for size in range(elements):
        for more in product(followers, repeat=size):
            log = outputs(network, sentences, sentence, (head, *more))
            steps = [float(log[step, symbol + network.first_unit]) for step, symbol in enumerate(more)]
            found[head, *more] = sum(steps) + float(log[size, end])
    return found


@torch.no_grad()
@pytest.mark.parametrize("by_length", [False, True])
def test_without_constraints_the_best_of_all_sequences_are_found_and_keep_their_ranks(by_length: bool) -> None:
    network, sentences = read(constrained=False)
    for sentence, head in ((2, 0), (2, 1), (1, 0)):
        truth = all_sequences(network, sentences, sentence, head, 3)
        ranked = sorted(truth, key=lambda sequence: -truth[sequence] / len(sequence) ** by_length)
        limits = Limits(400, 2, by_length=by_length)  # two words, and a label
        best = generate(network, sentences, sequences_of_one(sentence), torch.tensor([head]), limits)
        places = best.log[0] > NONE
        for place, sequence in enumerate(ranked):
            # read up to the first symbol: what follows a label is ignored
            until = next((number for number, element in enumerate(sequence) if element < 0), len(sequence))
            words, rising = sequence[:until], all(a < b for a, b in pairwise(sequence[:until]))
            label = sequence[until] + network.first_unit if until < len(sequence) else C
            is_entity = label < C and rising
            assert bool(places[place]) == is_entity, sequence
            if is_entity:
                assert tuple(best.units[0, place, : best.size[0, place]].tolist()) == words
                assert int(best.label[0, place]) == label
                assert float(best.log[0, place]) == pytest.approx(truth[sequence], abs=1e-4)
        assert not places[len(ranked) :].any()
