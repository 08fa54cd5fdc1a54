from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from anyner.encoding.batch import batch_of
from anyner.encoding.encoder import Encoder
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.encoder import FrozenPieces
from anyner.training.loop import Trainer
from anyner.training.run import build, run


def test_kept_pieces_are_what_the_encoder_gives_without_dropout(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny()
    recognizer, examples, _ = build(recipe, read_data(recipe.data, recipe.text))
    recognizer.model.train()
    windows = [example.window for example in examples]
    frozen = FrozenPieces(recognizer.proposer, windows, 256)
    assert recognizer.model.training
    recognizer.model.eval()
    places = [3, 50, 17]
    batch = batch_of([examples[place].window for place in places], recognizer.vocabulary.frame)
    with torch.no_grad():
        expected = recognizer.model.encoder.encode(batch)
    kept = frozen.batch(places)
    assert kept.shape == expected.shape
    inside = batch.attention_mask
    assert torch.allclose(kept[inside], expected[inside], atol=1e-5)
    assert kept[~inside].abs().max() == 0


def test_the_encoder_stands_still_in_frozen_epochs_and_reads_every_window_once(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    scoring: list[bool] = []
    encoders: list[tuple[torch.Tensor, torch.Tensor]] = []
    encode, score = Encoder.encode, Trainer._score

    def counting(encoder: Encoder, batch: Any) -> torch.Tensor:
        if not scoring:
            read.append(len(batch))
        return encode(encoder, batch)

    def looking(trainer: Trainer, *arguments: Any) -> None:
        pretrained = torch.cat([p.detach().flatten().clone() for p in trainer.model.encoder.pretrained.parameters()])
        head = torch.cat([p.detach().flatten().clone() for p in trainer.model.head.parameters()])
        encoders.append((pretrained, head))
        scoring.append(True)
        score(trainer, *arguments)
        scoring.clear()

    monkeypatch.setattr(Encoder, "encode", counting)
    monkeypatch.setattr(Trainer, "_score", looking)
    recipe = tiny("training.epochs=3", "training.frozen_epochs=2", "training.passages=false")
    start = build(recipe, read_data(recipe.data, recipe.text))[0].model.encoder.pretrained
    run(recipe, tmp_path / "m")
    (first, first_head), (second, second_head), (third, _) = encoders
    assert torch.equal(first, torch.cat([p.detach().flatten() for p in start.parameters()]))
    assert torch.equal(first, second)
    assert not torch.equal(first_head, second_head)
    assert not torch.equal(second, third)
    assert sum(read) == 60 + 60  # the windows once for both frozen epochs, and once in the third
