"""`preset: paper`: the published method, part by part, with nothing of ours."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusion_batches import decoding, head_of, predicted
from head_batches import gold_of, states_of

from anyner.architectures.diffusion_ner import head as head_module
from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.diffusion_ner.network import FEED_FORWARD, HEADS, LAYERS, Denoiser, Pointed, Predictions
from anyner.architectures.diffusion_ner.targets import NO_SOURCE, by_predictions, costs, noised, on_device
from anyner.architectures.draw import Draw
from anyner.architectures.settings import with_preset
from anyner.layers.contiguous import Entities
from anyner.training.config import Recipe

ROOT = Path(__file__).parents[3]
HEAD, OPTIONS = with_preset(Config, {"preset": "paper"}, {})


def paper_head(spans: int = 6) -> Head:
    return head_of(**{**HEAD, "width": 8, "spans": spans})


def test_the_preset_has_the_papers_numbers() -> None:
    config, options = Config.of(HEAD, "head"), DiffusionOptions.of(OPTIONS, "options")
    assert (config.spans, options.spans, options.steps) == (60, 60, 5)  # K and gamma
    assert (config.diffusion_steps, config.schedule) == (1000, "cosine")  # T
    assert ([sizes["paper"] for sizes in (LAYERS, HEADS, FEED_FORWARD)], config.dropout) == ([2, 8, 1024], 0.1)
    assert config.width is None, "the encoder's"
    assert config.span_classifier.width == 0


def test_the_preset_names_only_what_differs_from_the_default() -> None:
    default, options = Config().model_dump(), DiffusionOptions().model_dump()
    assert all(default[key] != value for key, value in Config.PAPER.items())
    assert all(options[key] != value for key, value in Config.PAPER_OPTIONS.items())


def test_every_difference_is_on_the_page() -> None:
    page = (ROOT / "docs" / "diffusion-ner.md").read_text(encoding="utf-8")
    table = page[page.index("## Paper and default") :].split("\n## ")[0]
    for key in (*Config.PAPER, *(f"options.{key}" for key in Config.PAPER_OPTIONS)):
        assert f"| `{key}" in table, key


def test_the_recipe_is_the_preset_with_the_encoder_of_the_paper() -> None:
    recipe = Recipe.read(ROOT / "recipes" / "diffusion_ner" / "paper.yaml")
    assert recipe.head == {"preset": "paper"}
    assert not recipe.options
    assert (recipe.encoder.pooling, recipe.encoder.lstm_layers) == ("max", 2)


def test_gold_is_expanded_by_repetition() -> None:
    gold, head = Entities.of(gold_of().host).rows(3), paper_head()
    noisy = noised(gold, states_of(), head.settings, head.alpha_bar, Draw(0, 1))
    assert sorted(noisy.source[0].tolist()) == [0, 0, 0, 1, 1, 1]
    assert noisy.source[1].tolist() == [0] * 6
    assert noisy.source[2].tolist() == [NO_SOURCE] * 6, "without entities there is nothing to repeat"


@pytest.mark.parametrize("seed", range(5))
def test_matching_goes_by_the_predictions_and_is_optimal(seed: int) -> None:
    gold, head = Entities.of(gold_of().host).rows(3), paper_head()
    generator = torch.Generator().manual_seed(seed)
    predictions = Predictions(*(2 * torch.randn(3, 6, size, generator=generator) for size in (5, 5, 4)))
    entities = on_device(gold, states_of())
    assigned, cost = by_predictions(predictions, gold, entities, head.settings)[0], costs(predictions, entities)[0].numpy()
    assert sorted(assigned) == [0, 0, 0, 1, 1, 1], "every span of a sentence with entities learns one of them"
    every = (cost[np.arange(6), list(other)].sum() for other in set(permutations(assigned)))
    assert cost[np.arange(6), assigned].sum() == pytest.approx(min(every), abs=1e-5)


@torch.no_grad()
def test_a_span_learns_the_type_of_the_entity_assigned_to_it() -> None:
    head, states, gold = paper_head(), states_of(), gold_of()
    parts = head.loss(states, gold, Draw(0, 1))
    assert parts.keys() == {"boundary", "type"}
    rows = Entities.of(gold.host).rows(3)
    noisy = noised(rows, states, head.settings, head.alpha_bar, Draw(0, 1))
    predictions = predicted(head, states, *map(torch.from_numpy, (noisy.first, noisy.last, noisy.step)))
    assigned = by_predictions(predictions, rows, on_device(rows, states), head.settings)
    label = np.where(assigned >= 0, np.take_along_axis(rows.label, np.maximum(assigned, 0), 1) + 1, 0)
    expected = -predictions.types.log_softmax(-1).gather(2, torch.from_numpy(label)[..., None]).sum()
    assert float(parts["type"].numerator) == pytest.approx(float(expected), rel=1e-5)
    assert float(parts["boundary"].denominator) == 12, "all spans of both sentences with entities"


@torch.no_grad()
def test_the_step_is_added_to_the_span_encoders_output() -> None:
    """H = SpanEncoder(words, spans) + E_t: the output of the layers does not depend on the step."""
    head, states = paper_head(), states_of((5,))
    denoiser, place = head.denoiser, torch.tensor([[0, 1, 3]])
    sentence, times = denoiser.read(states), denoiser.time(torch.tensor([3, 900]))[:, None]  # (2, 1, w)
    encoded = [denoiser.pointed(sentence, place, place, time).spans - time for time in times]
    assert torch.allclose(*encoded, atol=1e-5)
    assert denoiser.position is denoiser.type_left is denoiser.final_norm is None


@torch.no_grad()
def test_the_type_is_read_from_the_span_alone() -> None:
    denoiser: Denoiser = paper_head().denoiser
    sentence, vectors = denoiser.read(states_of((5,))), torch.randn(1, 6, 8)
    one, other = (denoiser.typed(sentence, Pointed(vectors, torch.randn(1, 6, 5), torch.randn(1, 6, 5))) for _ in range(2))
    assert torch.equal(one.types, other.types)


@torch.no_grad()
def test_only_the_last_step_counts_and_nothing_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    head, states = paper_head(), states_of((9,))
    asked = decoding(head, score=0.0, **OPTIONS)
    assert isinstance(asked.options, DiffusionOptions)
    read: list[Predictions] = []
    best = head_module.best

    def recorded(predictions: Predictions, least: float) -> tuple[torch.Tensor, torch.Tensor]:
        read.append(predictions)
        return best(predictions, least)

    monkeypatch.setattr(head_module, "best", recorded)
    monkeypatch.setattr(head_module, "voted", None)
    head.propose(states, asked, Draw(0))
    *_, (*_, last) = head.denoise(states, head.denoiser.read(states), asked.options, Draw(0))
    assert len(read) == 1
    assert torch.equal(read[0].left, last.left)
    assert torch.equal(read[0].right, last.right)


def test_windows_are_denoised_whole() -> None:
    segments = paper_head().segments(states_of((300, 7)))
    assert segments.length.tolist() == [300, 7]
