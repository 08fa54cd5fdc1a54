from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.training.config import Recipe

PLAIN = {
    "data": {"synthetic": {"contiguous": True, "sentences": 100}},
    "encoder": {"scratch_width": 32, "pooling": "first", "lstm_layers": 0},
    "head": {"width": 32},
    "training": {"epochs": 9, "batch_sentences": 4, "encoder_lr": 0.01, "head_lr": 0.003, "word_dropout": 0, "average_epochs": 0},
}
TEST = synthetic(30, seed=4, contiguous=True, split="dev")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("api")
    (folder / "r.yaml").write_text(yaml.safe_dump(PLAIN), encoding="utf-8")
    return anyner.train(folder / "r.yaml", folder / "model", ["training.epochs=5"]).folder


def test_train_takes_a_file_with_changes_and_load_reads_what_it_wrote(trained: Path) -> None:
    assert len((trained / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    document = anyner.load(trained, "cpu").predict("She felt pain in the left knee.")
    assert document.text == "She felt pain in the left knee."


def test_train_takes_a_recipe_and_its_changes_too(tmp_path: Path) -> None:
    recipe = Recipe.of(PLAIN, "recipe")
    result = anyner.train(recipe, tmp_path / "m", ["training.epochs=1", "data.synthetic.sentences=20"])
    assert (result.outcome.epochs, result.outcome.steps) == (1, 5)
    with pytest.raises(AnynerError, match=r"unknown key 'training\.epoch'"):
        anyner.train(recipe, tmp_path / "n", ["training.epoch=1"])


def test_train_takes_the_keys_of_a_recipe(tmp_path: Path) -> None:
    result = anyner.train(PLAIN, tmp_path / "m", ["training.epochs=1", "data.synthetic.sentences=20"])
    assert (result.outcome.epochs, result.outcome.steps) == (1, 5)
    with pytest.raises(AnynerError, match=r"^recipe: 'data'"):
        anyner.train({"data": 1}, tmp_path / "n")


def test_evaluate_scores_what_predict_finds(trained: Path) -> None:
    ner = anyner.load(trained, "cpu")
    evaluation = anyner.evaluate(ner, TEST)
    found = [{e.key for e in ner.predict(document.text).entities} for document in TEST]
    correct = sum(len(keys & {e.key for e in gold.entities}) for keys, gold in zip(found, TEST, strict=True))
    assert evaluation.documents == 30
    assert (evaluation.strict.correct, evaluation.strict.predicted) == (correct, sum(map(len, found)))
    assert evaluation.strict.correct > 0


def test_evaluate_shows_what_is_predicted_on_the_way(trained: Path) -> None:
    seen: list[str] = []

    def watched(documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            seen.append(document.text)
            yield document

    ner = anyner.load(trained, "cpu")
    assert anyner.evaluate(ner, TEST, watched=watched) == anyner.evaluate(ner, TEST)
    assert seen == [document.text for document in TEST]


def test_evaluate_passes_thresholds_and_policy_on(trained: Path) -> None:
    ner = anyner.load(trained, "cpu")
    strict, loose = (anyner.evaluate(ner, TEST, thresholds={"score": score}, overlap="all").strict for score in (0.95, 0.1))
    assert strict.predicted < loose.predicted
    assert anyner.evaluate(ner, TEST, thresholds={"score": 0.1}, overlap="flat").strict.predicted < loose.predicted
    with pytest.raises(AnynerError, match="unknown threshold 'phi'"):
        anyner.evaluate(ner, TEST, thresholds={"phi": 0.1})


def test_evaluate_with_the_surfaces_of_train_tells_seen_from_unseen(trained: Path) -> None:
    ner = anyner.load(trained, "cpu")
    surfaces = [entity.text for document in list(TEST)[:10] for entity in document.entities]

    def names(evaluation: object) -> str:
        return str(evaluation.to_json()["slices"])  # type: ignore[attr-defined]

    assert "unseen" in names(anyner.evaluate(ner, TEST, train_surfaces=surfaces))
    assert "unseen" not in names(anyner.evaluate(ner, TEST))


def test_evaluate_attaches_neighbours_for_a_model_that_reads_them(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ner = anyner.load(trained, "cpu")
    text = ner.config.text.model_copy(update={"context": 1})
    with_context = anyner.Recognizer(ner.runtime, ner.vocabulary, ner.config.model_copy(update={"text": text}))
    given: list[anyner.Document] = []
    whole = anyner.Recognizer.stream

    def listening(recognizer: anyner.Recognizer, texts: object, **chosen: object) -> object:
        given.extend(texts)  # type: ignore[arg-type]
        return whole(recognizer, texts, **chosen)  # type: ignore[arg-type]

    monkeypatch.setattr(anyner.Recognizer, "stream", listening)
    sentences = [anyner.Document(text, doc="d", sentence=n) for n, text in enumerate(["Anna slept.", "Bern woke."])]
    anyner.evaluate(with_context, sentences)
    assert [document.after for document in given] == ["Bern woke.", ""]


def test_wrong_arguments_are_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"documents: expected documents, got a file name"):
        anyner.evaluate(None, "test.jsonl")  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match=r"changes: expected a list of key\.sub=value"):
        anyner.train("recipe.yaml", tmp_path, "training.epochs=1")
    with pytest.raises(AnynerError, match="recipe: expected a YAML file, a dict or a Recipe, got int"):
        anyner.train(1, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match=r"recognizer: expected a model from anyner\.load, got str"):
        anyner.evaluate("general-en", [Document("x")])  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match="documents: expected a list of documents, got Document"):
        anyner.write(Document("x"), tmp_path / "x.jsonl", "jsonl")  # type: ignore[arg-type]
    with pytest.raises(AnynerError, match="document 2: expected Document, got str"):
        anyner.write([Document("x"), "y"], tmp_path / "x.jsonl", "jsonl")  # type: ignore[list-item]
    assert not (tmp_path / "x.jsonl").exists()
    with pytest.raises(AnynerError, match="got NoneType"):
        anyner.load(None)  # type: ignore[arg-type]
