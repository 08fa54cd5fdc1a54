"""The error for a misspelt key of a recipe, a head or its options suggests the intended key."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import anyner_command

SMALL = ("encoder.scratch_width=16", "data.synthetic.sentences=24")
TRAIN = (
    *("train", "-q", "--data", "synthetic", "--encoder", "from_scratch"),
    *(part for change in SMALL for part in ("--set", change)),
)


@pytest.mark.parametrize(
    ("change", "suggestion"),
    [
        ("trainng.epochs=3", "unknown key 'trainng'; did you mean 'training'?"),
        ("training.epoch=3", "unknown key 'training.epoch'; did you mean 'training.epochs'?"),
        ("data.synthetic.contigous=true", "'data.synthetic.contigous'; did you mean 'data.synthetic.contiguous'?"),
        ("head.witdh=3", "head: unknown key 'witdh'; did you mean 'width'?"),
    ],
)
def test_set_suggests_the_key_that_was_meant(tmp_path: Path, change: str, suggestion: str) -> None:
    anyner_command(*TRAIN, "-o", tmp_path / "m", "--set", change).assert_one_line(suggestion)


def test_options_of_an_architecture_too(tmp_path: Path) -> None:
    command = (*TRAIN, "--architecture", "diffusion_ner", "-o", tmp_path / "m", "--set", "options.stepz=3")
    anyner_command(*command).assert_one_line("options: unknown key 'stepz'; did you mean 'steps'?")
