"""A model with every word feature on: trained, saved, loaded without the files it was trained from."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from anyner.corpora.synthetic import synthetic
from anyner.corpora.wordform import words_of
from anyner.corpora.writing import write
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.inference.config import WeightFormat
from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load
from anyner.storage.save import save
from anyner.text.words import iterate_words
from anyner.training.config import Recipe
from anyner.training.run import run


def tagged(count: int, seed: int) -> list[Document]:
    """Synthetic sentences with given words; a tag says whether a word has a capital letter."""
    found = []
    for document in synthetic(count, seed=seed, contiguous=True):
        given = replace(document, words=tuple(iterate_words(document.text, "unicode")))
        found.append(replace(given, pos=tuple("Aa"[word.islower()] for word in words_of(given))))
    return found


@pytest.fixture(scope="module")
def featured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model folder, all on; the corpus and the vectors it was made from are gone."""
    source = tmp_path_factory.mktemp("source")
    write(tagged(60, 0), source / "train.jsonl", "jsonl")
    write(tagged(12, 1), source / "dev.jsonl", "jsonl")
    torch.manual_seed(0)
    words = sorted({word for document in tagged(60, 0) for word in words_of(document)})
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in torch.randn(8).tolist())}\n" for word in words]
    (source / "v.txt").write_text("".join(lines), encoding="utf-8")
    plain = {
        "data": {"folder": str(source)},
        "text": {"words": "given"},
        "encoder": {
            "scratch": {"width": 32, "layers": 1, "vocabulary": 300},
            "features": {"shapes": 8, "pos": 4, "vectors": str(source / "v.txt"), "dropout": 0.1},
        },
        "head": {"width": 32},
        "training": {"epochs": 6, "batch_sentences": 8, "encoder_lr": 0.003, "head_lr": 0.005},
    }
    folder = run(Recipe.of(plain, "recipe"), tmp_path_factory.mktemp("featured") / "model").folder
    shutil.rmtree(source)
    return folder


def found(recognizer: Recognizer) -> list[object]:
    return [(d.text, e.key, e.score) for d in recognizer.predict(tagged(30, 2)) for e in d.entities]


def test_the_folder_is_self_contained_and_saves_as_it_was_loaded(featured: Path, tmp_path: Path) -> None:
    recognizer = load(featured, "cpu")
    entities = found(recognizer)
    assert len(entities) > 10
    again = load(save(recognizer, tmp_path / "again"), "cpu")
    assert found(again) == entities
    for name in ("features.json", "vectors.txt", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (featured / name).read_bytes()
    assert json.loads((featured / "features.json").read_text(encoding="utf-8"))["tags"] == ["A", "a"]
    assert "word features | word shapes, part-of-speech tags, static vectors" in (featured / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("form", ["bfloat16", "int8"])
def test_smaller_forms_hold_the_vectors_too(featured: Path, tmp_path: Path, form: WeightFormat) -> None:
    whole = load(featured, "cpu")
    small = load(save(whole, tmp_path / "small", form), "cpu")
    name = "encoder.word_layer.features.vectors"
    torch.testing.assert_close(small.model.state_dict()[name], whole.model.state_dict()[name], atol=0.03, rtol=0)


def test_every_feature_weighs_in_what_is_found(featured: Path) -> None:
    """With the rows of one feature turned round, the scores are others."""
    entities = found(load(featured, "cpu"))
    for name in ("pos.weight", "vectors", "shapes.weight"):
        recognizer = load(featured, "cpu")
        table = recognizer.model.state_dict()[f"encoder.word_layer.features.{name}"]
        table.copy_(table.flip(0))
        assert found(recognizer) != entities, name


@pytest.mark.parametrize(("name", "message"), [("features.json", "no features.json"), ("vectors.txt", "no vectors.txt")])
def test_a_missing_file_is_named(featured: Path, tmp_path: Path, name: str, message: str) -> None:
    folder = Path(shutil.copytree(featured, tmp_path / "copy"))
    (folder / name).unlink()
    with pytest.raises(AnynerError, match=message):
        load(folder, "cpu")


def test_words_that_do_not_fit_the_weights_are_refused(featured: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(featured, tmp_path / "copy"))
    with (folder / "vectors.txt").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(AnynerError, match=r"does not fit config.json: size mismatch.*features\.vectors") as caught:
        load(folder, "cpu")
    assert "\n" not in str(caught.value)
