"""Shared by all tests: no network, one thread, and a tiny trained model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")


# `make test` takes the repeatable profile, so that its result depends on the code alone; plain pytest looks for new cases.
settings.register_profile("quick", max_examples=40, deadline=None)
settings.register_profile("repeatable", max_examples=20, deadline=None, derandomize=True)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if double := [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]:
        raise pytest.UsageError(f"several tests have one id, and pytest-xdist would run only the first: {double[0]}")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bulk prediction in chunks of seven documents."""
    from anyner.bulk import chunks

    monkeypatch.setattr(chunks, "MOST_DOCUMENTS", 7)


@pytest.fixture
def checkpoint_every(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes trainings of this process write a checkpoint every N steps instead of every five minutes."""
    from anyner.training.loop import Trainer

    return lambda steps: monkeypatch.setattr(Trainer, "_checkpoint_due", lambda trainer: trainer.place.step % steps == 0)


@pytest.fixture(scope="session", autouse=True)
def export_after_training() -> Iterator[Callable[..., None]]:
    """The export at the end of a training; disabled in tests, as it takes longer than most of their trainings."""
    from anyner import api

    real = api._add_graph
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api, "_add_graph", lambda *_: None)
        yield real


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder: biaffine on a small encoder from scratch, trained for a few seconds on the contiguous synthetic corpus."""
    import torch

    import anyner
    from anyner.training.config import Recipe

    torch.set_num_threads(1)
    plain = {
        "data": {"synthetic": {"contiguous": True, "sentences": 60}},
        "encoder": {"source": "from_scratch", "scratch_width": 32, "pooling": "first", "lstm_layers": 0},
        "training": {"word_dropout": 0, "average_epochs": 0, "epochs": 6, "encoder_lr": 3e-3, "head_lr": 5e-3},
    }
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return anyner.train(Recipe.of(plain, "the tiny recipe"), folder).folder
