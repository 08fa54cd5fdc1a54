"""Model folders that somebody tampered with: no code, no network, no question, little memory, and one line for each refusal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tampered_folders import SECRET

GO_THROUGH = Path(__file__).parent / "go_through.py"
Outcomes = list[dict[str, Any]]
EVERY = 40
"""Of the keys that are changed in turn, CI tries every so many: of another kind each time."""


@pytest.fixture(scope="module", params=[pytest.param(1, id="all", marks=pytest.mark.slow), pytest.param(EVERY, id="many")])
def outcomes(
    request: pytest.FixtureRequest,
    tiny_model: Path,
    untrained_models: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcomes:
    """What became of each folder. One process for all: its memory is limited, and starting it takes longer than a folder."""
    scratch = tmp_path_factory.mktemp("tampered")
    command = [sys.executable, str(GO_THROUGH), str(request.param), str(scratch), str(tiny_model)]
    done = subprocess.run(
        [*command, *map(str, untrained_models.values())],
        env={**os.environ, "HF_HUB_OFFLINE": "0", "HF_TOKEN": SECRET},  # whatever asks the network is to be seen
        input="y\n" * 1000,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_there_are_enough_of_them_and_the_good_ones_load(
    outcomes: Outcomes, untrained_models: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    assert len(outcomes) > (550 if "[all]" in request.node.name else 220)
    good = [one for one in outcomes if one["name"].endswith("as it was")]
    assert len(good) == 1 + len(untrained_models)
    assert {one["outcome"] for one in good} == {"loads"}


def test_no_code_runs_and_neither_network_nor_stdin_is_used(outcomes: Outcomes) -> None:
    assert [one for one in outcomes if one["ran"] or one["used"]] == []


def test_each_loads_or_is_refused_in_one_short_line(outcomes: Outcomes) -> None:
    assert [one for one in outcomes if one["outcome"] == "crash"] == []
    assert [one for one in outcomes if not str(one["message"]).isprintable() or len(one["message"]) > 1500] == []


def test_none_takes_much_memory_or_time(outcomes: Outcomes) -> None:
    assert [one for one in outcomes if "memory" in str(one["message"]) or "alloc" in str(one["message"])] == []
    assert [one for one in outcomes if one["seconds"] > 10] == []


def test_no_message_quotes_a_file_that_a_link_leads_to(outcomes: Outcomes) -> None:
    assert [one for one in outcomes if SECRET in one["message"]] == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("encoder: llava with code", "unknown encoder type 'llava'"),
        ("encoder: detr", "unknown encoder type 'detr'"),
        ("encoder: positions", "asks for a far larger model than"),
        ("encoder: layers", "'num_hidden_layers' is too large: the limit is 256"),
        ("tokenizer: doubling", "'normalizer' may make texts more than 256 times as long"),
        ("tokenizer: deep", "too deep: the limit is 32 levels"),
        ("tokenizer: empty", "its vocabulary is empty"),
        ("tokenizer: id out of range", "the tokenizer has 1,000,001 pieces"),
        ("weights nan", "holds values that are not finite"),
        ("weights inf", "holds values that are not finite"),
        ("weights torch.int8", "is stored as int8"),
        ("weights damaged", "its sha256 differs"),
        ("config.json is deep", "not valid JSON: too deep"),
        ("config.json is huge", "too large: the limit is 4 MB"),
        ("header endless", "its header is too large"),
    ],
)
def test_a_refusal_says_why(outcomes: Outcomes, name: str, told: str) -> None:
    (one,) = [one for one in outcomes if one["name"] == name]
    assert one["outcome"] == "refused"
    assert told in one["message"]


@pytest.mark.parametrize("name", ["weights torch.float16", "encoder: code", "encoder: backbone", "evil.py beside"])
def test_what_is_harmless_without_its_code_loads(outcomes: Outcomes, name: str) -> None:
    (one,) = [one for one in outcomes if one["name"] == name]
    assert one["outcome"] == "loads", one
