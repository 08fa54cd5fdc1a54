"""Out-of-fold predictions, the best epoch and thresholds, and folds that share nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyner
from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import NOTHING
from anyner.training import cross_validation as module
from anyner.training.auto import completed
from anyner.training.config import Recipe
from anyner.training.cross_validation import CrossValidation, Folds, cross_validate, read_refit, train_fold, with_refit
from anyner.training.data.augmentation import augmented
from anyner.training.data.splits import Corpora, DocumentSoftLabels, Splits, dev_passages, read_data
from anyner.training.processes import Interrupted
from anyner.training.progress import Listener
from anyner.training.run import run

Noting = Callable[[], tuple[Listener, list[str]]]
RECIPE = Recipe.of(
    {
        "data": {"synthetic": {"contiguous": True, "sentences": 60}},
        "encoder": {"scratch_width": 32, "pooling": "first", "lstm_layers": 0},
        "training": {
            "epochs": 4, "batch_sentences": 4, "head_lr": 0.006, "encoder_lr": 0.006, "word_dropout": 0, "average_epochs": 0
        },
    },
    "recipe",
)  # fmt: skip
FEW = RECIPE.updated(
    {
        "data": {"synthetic": {"sentences": 24, "contiguous": True}, "augmentation": 0.25},
        "training": {"epochs": 1, "head_lr": 0.01, "encoder_lr": 0.01},
    },
    "recipe",
)
PLAIN = Recipe.of({"data": {"synthetic": {}}}, "recipe")
AUGMENTED = Recipe.of({"data": {"synthetic": {}, "augmentation": 0.5}}, "recipe")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the fold models are moved instead of being removed."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def validated(models: Path, tmp_path_factory: pytest.TempPathFactory) -> CrossValidation:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "shutil", SimpleNamespace(rmtree=lambda folder: folder.rename(models / folder.name)))
        return cross_validate(RECIPE, tmp_path_factory.mktemp("folds"), folds=2)


def test_the_score_is_of_documents_not_trained_on(validated: CrossValidation, models: Path) -> None:
    result = validated
    documents = read_data(RECIPE.data, RECIPE.text, dev_trains=True).train
    total = NOTHING
    for fold in range(2):
        part = dev_passages(documents[fold::2])
        model = anyner.load(models / f"fold-{fold + 1}-of-2", "cpu")
        total += evaluate_documents(part, model.predict(list(part), thresholds=result.refit.thresholds)).strict
    assert result.score == total and result.score.gold == sum(len(one.entities) for one in documents)
    assert result.score.f1 > 0.2 and result.discontinuous == NOTHING
    epochs = [read_refit(models / f"fold-{fold}-of-2")[1].epoch for fold in (1, 2)]
    assert result.refit.epoch == round(sum(epochs) / 2)


def test_both_products_and_the_recipe_stay(validated: CrossValidation) -> None:
    assert sorted(path.name for path in validated.folder.iterdir()) == ["recipe.yaml", "refit.json", "soft_labels.jsonl"]
    assert Recipe.read(validated.folder / "recipe.yaml") == completed(RECIPE, Corpora.read(RECIPE.data))
    predicted = read(str(validated.folder / "soft_labels.jsonl")).documents
    made = read_data(RECIPE.data, RECIPE.text, dev_trains=True).train
    assert sorted(one.text for one in predicted) == sorted(one.text for one in made)
    assert validated.documents == 68 and validated.entities == sum(len(one.entities) for one in predicted) > 0
    assert all(entity.score is not None for one in predicted for entity in one.entities)


def test_a_training_reads_the_soft_labels(validated: CrossValidation) -> None:
    data = RECIPE.data.updated({"soft_labels": str(validated.folder / "soft_labels.jsonl")}, "data")
    assert sum(soft is not None for soft in read_data(data, RECIPE.text).soft_labels) == 60
    assert sum(soft is not None for soft in read_data(data, RECIPE.text, dev_trains=True).soft_labels) == 68


def test_a_refit_takes_epoch_and_thresholds(validated: CrossValidation, tmp_path: Path) -> None:
    recipe = with_refit(RECIPE, validated.folder)
    assert recipe.refit == validated.refit
    model = run(recipe, tmp_path / "model")
    assert model.outcome.epochs == validated.refit.epoch
    assert dict(anyner.load(model.folder, "cpu").config.thresholds) == validated.refit.thresholds


def test_each_fold_learns_from_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Splits] = []

    def spied(recipe: Recipe, folder: Path, resume: bool, listener: object, data: Splits) -> object:
        seen.append(data)
        assert recipe.training.seed == int(folder.name.split("-")[1]) - 1
        return run(recipe, folder, resume, None, data)

    monkeypatch.setattr(module, "run", spied)
    assert train_fold(FEW, tmp_path, 3, 2).name == "fold-2-of-3"
    cross_validate(FEW, tmp_path, folds=3)
    assert len(seen) == 3 and len({one.text for data in seen for one in data.dev}) == 27
    for data in seen:
        assert len(data.dev) == 9 and not {one.text for one in data.train} & {one.text for one in data.dev}
        assert len(data.train) == 18 + data.augmented and data.augmented > 0


def test_an_interrupted_call_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cross_validate(FEW, tmp_path / "whole", folds=2)
    trained: list[str] = []

    def stops_once(recipe: Recipe, folder: Path, resume: bool, listener: object, data: Splits) -> object:
        if trained == ["fold-1-of-2"]:
            trained.append("stopped")
            raise Interrupted
        trained.append(folder.name)
        return run(recipe, folder, resume, None, data)

    monkeypatch.setattr(module, "run", stops_once)
    with pytest.raises(Interrupted):
        cross_validate(FEW, tmp_path / "parts", folds=2)
    with pytest.raises(AnynerError, match="holds models of another recipe"):
        cross_validate(Recipe.of({**FEW.model_dump(), "architecture": "locate_label"}, "recipe"), tmp_path / "parts", folds=2)
    parts = cross_validate(FEW, tmp_path / "parts", folds=2)
    assert trained == ["fold-1-of-2", "stopped", "fold-2-of-2"]
    for name in ("soft_labels.jsonl", "refit.json"):
        assert (parts.folder / name).read_text(encoding="utf-8") == (whole.folder / name).read_text(encoding="utf-8")


def test_what_cannot_be_used_is_refused(validated: CrossValidation, tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"already holds refit\.json"):
        cross_validate(RECIPE, validated.folder, folds=2)
    with pytest.raises(AnynerError, match="already has `refit`"):
        cross_validate(with_refit(RECIPE, validated.folder), tmp_path / "again", folds=2)
    with pytest.raises(AnynerError, match="is for biaffine: its epoch and thresholds do not fit set_gner"):
        with_refit(Recipe.of({**RECIPE.model_dump(), "architecture": "set_gner"}, "recipe"), validated.folder)
    plain = json.loads((validated.folder / "refit.json").read_text(encoding="utf-8"))
    for wrong in ("{", "[]", json.dumps({**plain, "thresholds": None}), json.dumps({"epoch": 1})):
        (tmp_path / "refit.json").write_text(wrong, encoding="utf-8")
        with pytest.raises(AnynerError, match=r"refit\.json"):
            with_refit(RECIPE, tmp_path)


def on_disk(folder: Path, documents: Sequence[Document]) -> Recipe:
    folder.mkdir(exist_ok=True)
    for name, part in (("train", documents[:-4]), ("dev", documents[-4:])):
        write(part, folder / f"{name}.jsonl", "jsonl")
    return Recipe.of({"data": {"folder": str(folder)}, "training": {"epochs": 1, "head_lr": 0.01}}, "recipe")


def test_models_of_other_documents_are_refused(tmp_path: Path) -> None:
    """One document less shifts all later ones to other folds: models would predict what they were trained on."""
    documents = synthetic(20, contiguous=True).documents
    train_fold(on_disk(tmp_path / "data", documents), tmp_path / "out", 2, 1)
    for others in (documents[1:], (documents[0].with_entities(()), *documents[1:])):
        recipe = on_disk(tmp_path / "data", others)
        with pytest.raises(AnynerError, match="models trained on other documents"):
            cross_validate(recipe, tmp_path / "out", 2)


@pytest.mark.parametrize("there", ["soft_labels.jsonl", "refit.json", "config.json", "recipe.yaml"])
def test_nothing_is_written_over(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    with pytest.raises(AnynerError, match=f"already holds {there}"):
        cross_validate(RECIPE, tmp_path, folds=2)
    assert [path.name for path in tmp_path.iterdir()] == [there]


def test_problems_of_the_files_are_reported(noting: Noting, tmp_path: Path) -> None:
    lines = [{"text": f"Anna {n} sleeps", "entities": [{"label": "A", "start": 0, "end": 4}]} for n in range(8)]
    lines[3]["entities"] = [{"label": "A", "start": 0, "end": 99}]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    data = {"train": str(tmp_path / "train.jsonl"), "dev": str(tmp_path / "train.jsonl")}
    listener, notes = noting()
    cross_validate(Recipe.of({"data": data, "training": {"epochs": 1}}, "recipe"), tmp_path / "out", 2, listener)
    assert any("problems in the files (2 dropped)" in line for line in notes), notes


@pytest.mark.slow
def test_gold_is_not_in_the_soft_labels(tmp_path: Path) -> None:
    """A model that finds nothing predicts nothing."""
    blind = FEW.model_copy(update={"training": FEW.training.updated({"head_lr": 1e-9, "encoder_lr": 1e-9}, "training")})
    result = cross_validate(blind, tmp_path / "out", folds=2)
    lines = [json.loads(line) for line in (result.folder / "soft_labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 27
    assert all(line["entities"] == [] for line in lines)


def document(text: str, doc: str | None = None) -> Document:
    return Document(text, (Entity("A", ((0, 1),)),), doc=doc)


def folded(documents: Sequence[Document], count: int) -> list[tuple[Document, ...]]:
    folds = Folds.split(PLAIN, Path("out"), Splits(tuple(documents), (), ()), count)
    return [folds.held_out(fold) for fold in range(count)]


@given(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=4, max_size=20), st.integers(2, 4))
def test_folds_share_no_source_document(docs: list[str | None], count: int) -> None:
    documents = [document(f"text {number}", doc) for number, doc in enumerate(docs)]
    if len({doc for doc in docs if doc}) + docs.count(None) < count:
        with pytest.raises(AnynerError, match=f"too few for {count} folds"):
            folded(documents, count)
        return
    parts = folded(documents, count)
    assert sorted(one.text for part in parts for one in part) == sorted(one.text for one in documents)
    assert all(parts)
    sources = [{one.doc for one in part} - {None} for part in parts]
    assert sum(map(len, sources)) == len(set().union(*sources))


def test_equal_texts_share_a_fold() -> None:
    parts = folded([document("a b"), document("c"), document("a b"), document("d")], 2)
    assert [sorted(one.text for one in part) for part in parts] == [["a b", "a b", "d"], ["c"]]


def test_a_fold_gets_the_soft_labels_of_its_training_documents() -> None:
    documents = tuple(document(f"text {number}") for number in range(5))
    soft = tuple(None if number == 3 else DocumentSoftLabels((), covers_discontinuous=bool(number % 2)) for number in range(5))
    folds = Folds.split(PLAIN, Path("out"), Splits(documents, (), (), soft_labels=soft), 2)
    for fold in range(2):
        own = folds.splits(fold)
        assert own.train == documents[1 - fold :: 2] and own.dev == documents[fold::2]
        assert own.soft_labels == soft[1 - fold :: 2]


def test_a_fold_augments_its_own_training_documents() -> None:
    documents = synthetic(60).documents
    soft = (DocumentSoftLabels((), covers_discontinuous=True),) * 60
    folds = Folds.split(AUGMENTED, Path("out"), Splits(documents, (), (), soft_labels=soft), 2)
    for fold in range(2):
        own = folds.splits(fold)
        real = documents[1 - fold :: 2]
        assert own.augmented > 5 and own.train == (*real, *augmented(real, AUGMENTED.data.augmentation, AUGMENTED.text))
        assert own.soft_labels == (*soft[:30], *[None] * own.augmented)


def test_it_is_refused_in_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for call in (lambda: cross_validate(FEW, tmp_path / "out", 2), lambda: train_fold(FEW, tmp_path / "out", 2, 1)):
        with pytest.raises(AnynerError, match=r"^cross-validation runs in one process .* start it without torchrun"):
            call()
    assert not (tmp_path / "out").exists()


def test_a_fold_without_entities_is_refused_before_training() -> None:
    documents = [document("one"), Document("two"), document("three"), Document("four")]
    with pytest.raises(AnynerError, match="fold 2 of 2 has no entity: use fewer folds"):
        folded(documents, 2)
