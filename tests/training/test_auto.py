"""The rules that choose what a recipe leaves open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers.normalizers import BertNormalizer
from transformers import BertConfig

import anyner
from anyner.corpora.corpus import Corpus
from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.encoding.config import EncoderConfig
from anyner.encoding.pretrained import encoder_from_config, train_vocabulary
from anyner.settings import Settings, is_by_rule
from anyner.text.config import TextConfig
from anyner.training.auto import choices, choices_line, completed, open_keys
from anyner.training.config import DataConfig, Recipe, TrainingConfig
from anyner.training.data.splits import Corpora, split_data
from anyner.training.run import build

SCRATCH = {"data": {"train": "train.jsonl"}, "encoder": {"source": "from_scratch"}}
ENGLISH = {"data": {"train": "train.jsonl"}, "encoder": {"source": "bundled:general-en"}}


def corpora(sentences: int, *, contiguous: bool = True, dev: int = 10) -> Corpora:
    few = synthetic(min(sentences, 50), contiguous=contiguous).documents
    train = (few * (sentences // len(few) + 1))[:sentences]
    return Corpora(Corpus(train), synthetic(dev, split="dev") if dev else Corpus(()), Corpus(()))


def chosen(plain: dict[str, Any], found: Corpora) -> dict[str, Any]:
    return choices(Recipe.of(plain, "recipe"), found)


def test_nothing_stays_open_and_what_a_recipe_has_stays() -> None:
    recipe = Recipe.of({**SCRATCH, "training": {"epochs": 3, "head_lr": 0.5}}, "recipe")
    assert "training.batch_sentences" in open_keys(recipe) and "training.epochs" not in open_keys(recipe)
    ready = completed(recipe, corpora(100))
    assert open_keys(ready) == [] and (ready.training.epochs, ready.training.head_lr) == (3, 0.5)
    assert completed(ready, corpora(5000)) == ready
    assert Recipe.of(ready.plain(), "recipe") == ready, "saved as plain keys"


def test_every_setting_by_rule_has_a_rule() -> None:
    groups: dict[str, type[Settings]] = {
        "": Recipe, "data.": DataConfig, "encoder.": EncoderConfig, "text.": TextConfig, "training.": TrainingConfig
    }  # fmt: skip
    keys = {f"{group}{name}" for group, kind in groups.items() for name in kind.model_fields if is_by_rule(kind, name)}
    assert keys == set(chosen(SCRATCH, corpora(20)))


@pytest.mark.parametrize(("sentences", "batch"), [(20, 8), (3200, 16), (4800, 24), (30000, 32)])
def test_a_larger_corpus_has_larger_batches_and_enough_steps(sentences: int, batch: int) -> None:
    found = chosen(ENGLISH, corpora(sentences))
    assert found["training.batch_sentences"] == batch
    assert found["training.epochs"] >= 10
    assert found["training.epochs"] * sentences / batch >= 1600
    assert found["training.average_epochs"] >= 1


def test_a_batch_that_is_given_decides_the_rest() -> None:
    found = chosen({**ENGLISH, "training": {"batch_sentences": 32}}, corpora(100))
    assert found["training.encoder_lr"] == 1.2e-4 and found["training.epochs"] == 512
    assert found["training.batch_tokens"] == 32 * 256


def test_few_steps_are_larger_ones() -> None:
    def rate(steps: int) -> float:
        return float(
            chosen({**ENGLISH, "training": {"batch_sentences": 32, "epochs": steps}}, corpora(32))["training.encoder_lr"]
        )

    assert rate(3200) == rate(1600) == 1.2e-4
    assert rate(1600) < rate(1200) < rate(800) == rate(1) == 2.4e-4
    assert chosen(ENGLISH, Corpora(Corpus(()), Corpus(()), Corpus(())))["training.encoder_lr"] > 0, "refused later, by name"


def test_a_wide_encoder_learns_slowly_and_a_new_one_fast() -> None:
    narrow = chosen({**SCRATCH, "encoder": {"source": "bundled:biomed-en"}}, corpora(6400))
    assert narrow["training.encoder_lr"] == 1.2e-4
    assert chosen(SCRATCH, corpora(6400))["training.encoder_lr"] == 1e-3


def test_given_words_are_kept() -> None:
    raw, cut = Document("Kofi Annan"), Document.from_words(["Kofi", "Annan"], [])
    for documents, words in [((raw,), "split"), ((raw, cut), "given")]:
        assert chosen(SCRATCH, Corpora(Corpus(documents), Corpus(()), Corpus(())))["text.words"] == words


def test_shapes_choose_the_architecture_and_augmentation() -> None:
    flat, split = chosen(SCRATCH, corpora(50)), chosen(SCRATCH, corpora(50, contiguous=False))
    keys = ("architecture", "data.augmentation", "data.oversample_discontinuous")
    assert [flat[key] for key in keys] == ["biaffine", 0.0, 1]
    assert [split[key] for key in keys] == ["set_gner", 0.3, 3]
    given = Recipe.of(SCRATCH, "recipe")
    assert "oversample" not in choices_line(given, completed(given, corpora(50)))


@pytest.mark.parametrize(("lowercase", "width"), [(True, 32), (False, 0)])
def test_an_encoder_that_does_not_see_capitals_gets_word_shapes(lowercase: bool, width: int, tmp_path: Path) -> None:
    vocabulary = train_vocabulary(("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 200)
    vocabulary.tokenizer.normalizer = BertNormalizer(lowercase=lowercase)
    vocabulary.save(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    encoder_from_config(BertConfig(vocab_size=200, **sizes)).save_pretrained(tmp_path)
    assert chosen({**SCRATCH, "encoder": {"source": str(tmp_path)}}, corpora(20))["encoder.word_shapes"] == width


def test_an_encoder_from_scratch_sees_capitals_and_that_of_a_bundled_model_does_not() -> None:
    assert [chosen(plain, corpora(20))["encoder.word_shapes"] for plain in (SCRATCH, ENGLISH)] == [0, 32]


def test_without_a_dev_file_source_documents_are_held_out_and_this_is_reported() -> None:
    documents = tuple(Document(f"Text {place}", doc=f"{place // 4}") for place in range(80))
    found = Corpora(Corpus(documents), Corpus(()), Corpus(()))
    given = Recipe.of(SCRATCH, "recipe")
    recipe = completed(given, found)
    splits = split_data(found, recipe.data, recipe.text)
    assert len(splits.dev) == 8 and not {one.doc for one in splits.dev} & {one.doc for one in splits.train}
    assert "data.held_out=0.1" in choices_line(given, recipe) and choices_line(recipe, recipe) == ""


def test_a_folder_with_a_train_file_alone_is_enough(tmp_path: Path, written: Callable[[Path, list[Document]], str]) -> None:
    (tmp_path / "data").mkdir()
    written(tmp_path / "data" / "train.jsonl", list(synthetic(30, contiguous=True).documents))
    recipe = {
        "data": {"folder": str(tmp_path / "data")},
        "encoder": {"scratch_width": 16, "lstm_layers": 0},
        "training": {"epochs": 1},
    }
    folder = anyner.train(recipe, tmp_path / "model").folder
    assert Recipe.read(folder / "recipe.yaml").data.held_out == 0.1


def test_an_encoder_for_another_language_is_noticed_before_the_first_step(
    tmp_path: Path, written: Callable[[Path, list[Document]], str]
) -> None:
    texts = ["เขาอยู่กรุงเทพ มาก", "กรุงเทพ เมืองใหญ่"]
    documents = [Document(text, (Entity("LOC", ((0, 4),)),)) for text in texts]
    path = written(tmp_path / "train.jsonl", documents)
    recipe = Recipe.of({"data": {"train": path, "dev": path}, "encoder": {"source": "bundled:general-en"}}, "recipe")
    found = Corpora.read(recipe.data)
    recipe = completed(recipe, found)
    _, _, check = build(recipe, split_data(found, recipe.data, recipe.text))
    assert any("of the training words are not in the encoder's vocabulary" in line for line in check.lines())
