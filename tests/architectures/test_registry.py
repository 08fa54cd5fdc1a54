"""Architectures are found by name; their settings without loading torch."""

import subprocess
import sys
import types

import pytest

from anyner.architectures import registry
from anyner.architectures.base import Head
from anyner.architectures.settings import HeadConfig
from anyner.errors import AnynerError
from anyner.text.align import WordEntity


def test_every_folder_with_a_head_is_listed_and_keeps_the_contract() -> None:
    assert "biaffine" in registry.names()
    assert list(registry.names()) == sorted(registry.names())
    for name in registry.names():
        config, head = registry.config_class(name), registry.head_class(name)
        assert issubclass(config, HeadConfig)
        assert issubclass(head, Head)
        assert head.Config is config
        thresholds = config().thresholds()
        assert config().default_thresholds() == {threshold.name: threshold.default for threshold in thresholds}
        for threshold in thresholds:
            assert all(candidate >= threshold.loosest for candidate in threshold.candidates)
            assert list(threshold.candidates) == sorted(threshold.candidates)
            assert threshold.default >= threshold.loosest


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    for find in (registry.config_class, registry.head_class):
        with pytest.raises(AnynerError, match=r"unknown architecture 'bert': expected one of .*biaffine"):
            find("bert")


def test_settings_load_without_torch() -> None:
    code = "import sys; from anyner.architectures.registry import config_class, names; [config_class(n)() for n in names()]"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)


def test_another_package_can_register_one_but_not_replace_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class TheirConfig(HeadConfig):
        pass

    package, config = types.ModuleType("their_package"), types.ModuleType("their_package.config")
    config.Config = TheirConfig  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_package", package)
    monkeypatch.setitem(sys.modules, "their_package.config", config)
    points = [types.SimpleNamespace(name=name, value="their_package") for name in ("theirs", "biaffine")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.ENTRY_POINTS else [])
    registry._modules.cache_clear()
    try:
        assert "theirs" in registry.names()
        assert registry.config_class("theirs") is TheirConfig
        assert registry.config_class("biaffine") is not TheirConfig
    finally:
        monkeypatch.undo()
        registry._modules.cache_clear()
    assert "theirs" not in registry.names()


def test_discontinuous_gold_is_unreachable_for_contiguous_shapes_only() -> None:
    class Everything(HeadConfig):
        def shapes(self) -> frozenset:  # type: ignore[type-arg]
            return frozenset({"flat", "discontinuous"})

    gold = [WordEntity("X", ((0, 2),)), WordEntity("X", ((0, 1), (2, 3)))]
    assert HeadConfig().unreachable(gold, [1] * 9) == [None, "discontinuous"]
    assert Everything().unreachable(gold, [1] * 9) == [None, None]
