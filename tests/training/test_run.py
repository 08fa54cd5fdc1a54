from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import anyner
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.training.auto import completed
from anyner.training.config import Recipe
from anyner.training.data.splits import Corpora, Splits, dev_passages, read_data
from anyner.training.progress import EpochRecord, Listener
from anyner.training.run import TrainingResult, build, run

Noting = Callable[[], tuple[Listener, list[str]]]
Writer = Callable[[Path, list[Document]], str]
ANNA = Document("Anna saw Bern.", (Entity("Person", ((0, 4),)),))
LONGER = ("training.epochs=4", "training.encoder_lr=0.01", "training.head_lr=0.01")
PLAIN = Document("Anna saw Bern.")


@pytest.fixture(scope="module")
def result(
    tiny: Callable[..., Recipe], noting: Noting, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TrainingResult, list[str]]:
    listener, lines = noting()
    return run(tiny(*LONGER), tmp_path_factory.mktemp("run") / "model", listener=listener), lines


def test_the_folder_holds_everything_and_nothing_else(result: tuple[TrainingResult, list[str]]) -> None:
    names = {path.name for path in result[0].folder.iterdir()}
    expected = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert names == {*expected, "README.md", "metrics.json", "metrics.jsonl", "recipe.yaml", "training.svg"}


def test_the_recipe_in_the_folder_is_the_one_that_was_run(
    result: tuple[TrainingResult, list[str]], tiny: Callable[..., Recipe]
) -> None:
    given = tiny(*LONGER)
    assert Recipe.read(result[0].folder / "recipe.yaml") == completed(given, Corpora.read(given.data))


def test_the_saved_thresholds_are_those_of_the_best_epoch_and_repeat_its_dev_score(
    result: tuple[TrainingResult, list[str]], tiny: Callable[..., Recipe]
) -> None:
    folder, outcome = result[0].folder, result[0].outcome
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    best = records[outcome.best_epoch]
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["thresholds"] == best["thresholds"]
    assert best["dev_f1"] == outcome.best_f1 == max(record["dev_f1"] for record in records) > 0
    recipe = tiny(*LONGER)
    score = anyner.evaluate(anyner.load(folder), dev_passages(read_data(recipe.data, recipe.text).dev)).strict
    assert score.f1 == outcome.best_f1
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["dev"]["f1"] == outcome.best_f1


def test_what_is_trained_is_reported(result: tuple[TrainingResult, list[str]]) -> None:
    first, second, third = result[1][:3]
    assert first.startswith("biaffine on from_scratch: 60 training documents with ")
    assert "8 dev documents" in first
    assert re.fullmatch(r"parameters: encoder [\d,]+, head [\d,]+", second)
    chosen = "architecture=biaffine, text.words=split, training.batch_tokens=1024"
    assert third == f"chosen from the corpus (--set KEY=VALUE changes it): {chosen}"


def test_a_folder_that_holds_a_model_is_not_trained_over(
    result: tuple[TrainingResult, list[str]], tiny: Callable[..., Recipe]
) -> None:
    with pytest.raises(AnynerError, match="already holds a model") as caught:
        run(tiny(), result[0].folder)
    assert str(result[0].folder) in str(caught.value)


@pytest.mark.parametrize("name", ["README.md", "recipe.yaml", "metrics.json", "model.safetensors"])
def test_files_that_are_not_a_trainings_are_not_written_over(tiny: Callable[..., Recipe], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(AnynerError, match=f"holds {name}, which the training would overwrite"):
        run(tiny(), tmp_path)
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_what_a_document_has_is_annotated_there_whatever_it_says(tiny: Callable[..., Recipe]) -> None:
    train = (Document("Anna sleeps", (Entity("A", ((0, 4),)),), labels=frozenset({"B"})), Document("no", labels=frozenset({"B"})))
    both = (*train, Document("Bern", (Entity("B", ((0, 4),)),)))
    recognizer, examples, _ = build(tiny(), Splits(both, (), ()))
    assert recognizer.config.labels == ("A", "B")
    assert [example.annotated.tolist() for example in examples] == [[True, True], [False, True], [True, True]]


def test_an_unfinished_training_must_be_resumed_and_nothing_else_can_be(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="holds no checkpoint to resume from: repeat the command that began the training"):
        run(tiny(), tmp_path, resume=True)
    (tmp_path / "config.json").touch()
    with pytest.raises(AnynerError, match="holds a finished model: there is nothing to resume"):
        run(tiny(), tmp_path, resume=True)
    (tmp_path / "config.json").unlink()
    (tmp_path / "checkpoint.safetensors").touch()
    with pytest.raises(AnynerError, match="holds an unfinished training: resume it"):
        run(tiny(), tmp_path)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_data_without_an_entity_are_refused_before_anything_is_written(
    tiny: Callable[..., Recipe], tmp_path: Path, written: Writer, split: str
) -> None:
    paths = {name: written(tmp_path / f"{name}.jsonl", [PLAIN if name == split else ANNA]) for name in ("train", "dev")}
    changes = ["data.synthetic=null", *(f"data.{name}={path}" for name, path in paths.items())]
    with pytest.raises(AnynerError, match=f"data.{split} has no entity: "):
        run(tiny(*changes), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_an_empty_training_file_is_one_line_that_names_it(tiny: Callable[..., Recipe], tmp_path: Path, written: Writer) -> None:
    train, dev = written(tmp_path / "train.jsonl", []), written(tmp_path / "dev.jsonl", [ANNA])
    with pytest.raises(AnynerError) as caught:
        run(tiny("data.synthetic=null", f"data.train={train}", f"data.dev={dev}"), tmp_path / "m")
    assert train in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("architecture=magic", "unknown architecture 'magic'"),
        ("head.witdh=3", "head: unknown key 'witdh'"),
        ("encoder.source=./nowhere", "encoder.source: no such folder: ./nowhere"),
        ("text.window=600", "text.window 600 is longer than the encoder's 512"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line_that_names_it(
    tiny: Callable[..., Recipe], tmp_path: Path, change: str, named: str
) -> None:
    with pytest.raises(AnynerError) as caught:
        run(tiny(change), tmp_path / "m")
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_two_trainings_of_one_process_may_differ_in_precision(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    for precision in ("float32", "bfloat16", "float32"):
        folder = tmp_path / f"{precision}-{len(list(tmp_path.iterdir()))}"
        assert run(tiny("training.epochs=1", f"training.precision={precision}"), folder).outcome.steps == 15


def test_preparing_is_the_same_for_the_same_seed(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny()
    data = read_data(recipe.data, recipe.text)
    one, other = (build(recipe, data)[0] for _ in range(2))
    assert one.vocabulary.tokenizer.to_str() == other.vocabulary.tokenizer.to_str()
    assert all((weight == other.model.state_dict()[name]).all() for name, weight in one.model.state_dict().items())


def test_a_training_is_resumed_only_as_it_began(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    class Stopping(Listener):
        def epoch(self, record: EpochRecord) -> None:
            if record.epoch == 2:
                raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        run(tiny("training.epochs=3"), tmp_path / "m", listener=Stopping())
    with pytest.raises(AnynerError, match=r"m: training\.seed has changed since the training began"):
        run(tiny("training.epochs=3", "training.seed=5"), tmp_path / "m", resume=True)
    assert run(tiny("training.epochs=3"), tmp_path / "m", resume=True).outcome.epochs == 3


def test_a_file_in_place_of_the_folder_is_refused_first(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AnynerError, match="is a file, not a folder"):
        run(tiny(), tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_real_sentences_with_discontinuous_entities_are_oversampled(tiny: Callable[..., Recipe]) -> None:
    changes = ("data.synthetic.contiguous=false", "data.augmentation=0.5", "data.oversample_discontinuous=3")
    recipe = tiny(*changes, "architecture=nag_ner", "head=null")
    data = read_data(recipe.data, recipe.text)
    _, examples, _ = build(recipe, data)
    real, augmented = examples[: len(examples) - data.augmented], examples[len(examples) - data.augmented :]
    discontinuous = [any(entity.discontinuous for entity in document.entities) for document in data.train]
    assert 0 < sum(discontinuous[: len(real)]) < len(real) and any(discontinuous[len(real) :]), "documents of both kinds"
    assert [example.times for example in real] == [3 if own else 1 for own in discontinuous[: len(real)]]
    assert {example.times for example in augmented} == {1}
