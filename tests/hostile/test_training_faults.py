"""What a training does with corpora, settings, losses and folders that nobody would choose."""

from __future__ import annotations

from typing import Any

import pytest

from anyner.architectures.registry import head_class, names
from anyner.architectures.settings import CorpusFacts
from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.training.config import Recipe, changed
from anyner.training.data import Splits
from anyner.training.run import prepare

TINY: dict[str, Any] = {
    "data": {"synthetic": {"contiguous": True, "train": 40, "dev": 8, "test": 1}},
    "encoder": {"fresh_width": 16, "fresh_layers": 1, "fresh_vocabulary": 200},
    "training": {"epochs": 2, "batch_sentences": 8, "encoder_lr": 0.003, "head_lr": 0.003},
}


def tiny(*changes: str) -> Recipe:
    return Recipe.of(changed(TINY, changes), "recipe")


LENGTHS = ("longest", "farthest", "stretch")


@pytest.mark.parametrize("architecture", names())
def test_what_is_fitted_to_a_corpus_is_no_longer_than_a_window(architecture: str) -> None:
    sizes = (1, 2, 10_000)
    facts = CorpusFacts(("A",), sizes, sizes, sizes, 1, 1, 512, encoder_decoder=False, discontinuous=True)
    settings = head_class(architecture).Config.of({}, "head").fitted(facts).model_dump()
    fitted = [settings[key] for key in LENGTHS if settings.get(key)] or [max(settings["lengths"])]
    assert fitted and max(fitted) <= 512


@pytest.mark.parametrize("architecture", names())
def test_an_entity_longer_than_a_window_is_told_and_leaves_the_settings_alone(architecture: str) -> None:
    documents = synthetic(20, seed=1, contiguous=True).documents
    text = " ".join(["word"] * 10_000)
    endless = Document(text, (Entity("Person", ((0, len(text)),)),))
    with_it, _, check = prepare(tiny(f"architecture={architecture}"), Splits((*documents, endless), (), ()))
    without, _, _ = prepare(tiny(f"architecture={architecture}"), Splits(documents, (), ()))
    assert check.lines() == [
        f"1 of {check.entities} training entities ({100 / check.entities:.1f} %) cannot be reached: longer than a window"
    ]
    assert with_it.config.head == without.config.head
