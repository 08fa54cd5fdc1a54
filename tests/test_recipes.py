from __future__ import annotations

from pathlib import Path

import pytest

from anyner.architectures.registry import config_class
from anyner.architectures.settings import with_preset
from anyner.training.config import Recipe

FOLDER = Path(__file__).parent.parent / "recipes"
RECIPES = sorted(FOLDER.rglob("*.yaml"))


def test_there_are_recipes_and_no_file_has_another_ending() -> None:
    assert RECIPES
    assert not list(FOLDER.rglob("*.yml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_recipe_loads_with_the_settings_of_its_architecture(path: Path) -> None:
    recipe = Recipe.read(path)
    config = config_class(recipe.architecture)
    head, _ = with_preset(config, recipe.head, recipe.options)
    config.of(head, f"{path}: head")
    assert path.parent.name in (recipe.architecture, FOLDER.name)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_recipe_names_no_place_of_one_machine(path: Path) -> None:
    recipe = Recipe.read(path)
    sources = [*recipe.data.train, *recipe.data.dev, *recipe.data.test]
    places = [recipe.encoder.source, recipe.data.folder or "", *(source.path for source in sources)]
    assert not [place for place in places if Path(place).is_absolute() or place.startswith("~")]
