"""Settings of set_gner that are gone: models that used them as the library works today still load, others are refused."""

from typing import Any

import pytest

from anyner.errors import AnynerError
from anyner.storage.format import upgraded


def old(head: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {"format": 2, "architecture": "set_gner", "head": head, "options": options}


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"counting": "asked", "more": 0.4}, 0.4),
        ({"counting": "threshold", "more": 0.4}, 0.4),
        ({"counting": "likeliest", "more": 0.4}, "argmax"),
        ({"more": 0.4}, 0.4),
    ],
)
def test_the_likeliest_number_is_a_value_of_more(options: dict[str, Any], more: float | str) -> None:
    assert upgraded(old({}, options), "model")["options"] == {"more": more}


@pytest.mark.parametrize(("reads", "positions"), [("words", True), ("pieces", False)])
def test_words_have_positions_where_they_are_read(reads: str, positions: bool) -> None:
    assert upgraded(old({"reads": reads, "word_positions": positions}, {}), "model")["head"] == {"reads": reads}
    with pytest.raises(AnynerError, match=rf"head\.word_positions is {not positions}"):
        upgraded(old({"reads": reads, "word_positions": not positions}, {}), "model")


@pytest.mark.parametrize(("head", "power"), [({}, 0.0), ({"constrained": True}, 0.0), ({"constrained": False}, 1.0)])
def test_sequences_rank_by_length_where_they_are_not_constrained(head: dict[str, Any], power: float) -> None:
    assert upgraded(old(head, {"length_power": power}), "model").get("options", {}) == {}
    with pytest.raises(AnynerError, match=r"options\.length_power is"):
        upgraded(old(head, {"length_power": 1.0 - power}), "model")
