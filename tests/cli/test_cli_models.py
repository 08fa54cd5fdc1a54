"""The commands around a model: train, evaluate, models, info."""

import json
import re
from pathlib import Path

import pytest
from command_line import anyner_command

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write
from anyner.evaluation.report import error_line

SMALL = ["--set", "encoder.scratch_width=16"]
FROM_SCRATCH = ["--encoder", "from_scratch", *SMALL]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for split, size in (("train", 20), ("dev", 5), ("test", 5)):
        write(synthetic(size, contiguous=True, split=split), tmp_path / "data" / f"{split}.jsonl", "jsonl")  # type: ignore[arg-type]
    return tmp_path / "data"


def test_train_from_a_folder(data: Path, tmp_path: Path) -> None:
    command = ["train", "--data", data, "--architecture", "biaffine", *FROM_SCRATCH, "-o", tmp_path / "m"]
    answer = anyner_command(*command, "--set", "training.epochs=1")
    assert answer.code == 0
    assert answer.out.startswith(f"{tmp_path / 'm'}: dev F1 ") and answer.out.count("\n") == 1
    assert "20 training documents" in answer.err and "epoch 1: loss" in answer.err
    assert anyner.load(tmp_path / "m").config.architecture == "biaffine"
    anyner_command(*command).assert_one_line("already holds a model")


def test_a_refit_trains_on_train_and_dev(data: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert anyner_command("train", "-q", "--data", data, *FROM_SCRATCH, "-o", first, "--set", "training.epochs=2").code == 0
    answer = anyner_command("train", "--refit-from", first, "-o", second)
    assert answer.code == 0 and answer.out.startswith(f"{second}: trained on train and dev (epoch ")
    assert "25 training documents" in answer.err and "dev included" in answer.err and "dev P" not in answer.err
    assert anyner.load(second).config.thresholds == anyner.load(first).config.thresholds
    shown = anyner_command("info", second).out
    assert "used for training" in shown and "best epoch" not in shown
    assert "best epoch" in anyner_command("info", first).out
    anyner_command("train", "--refit-from", second, "-o", tmp_path / "third").assert_one_line("was itself trained on dev")
    anyner_command("train", "--refit-from", tmp_path, "-o", tmp_path / "third").assert_one_line("is not a model folder")
    assert anyner_command("train", "--refit-from", first).code == 2
    assert anyner_command("train", "--refit-from", first, "--data", data, "-o", tmp_path / "third").code == 2


def test_train_from_a_recipe_into_its_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text("data: {synthetic: {sentences: 24}}\ntraining: {epochs: 7}\n")
    answer = anyner_command("train", "small.yaml", "--set", "training.epochs=1", "--quiet", *SMALL)
    assert answer.code == 0
    assert answer.out.startswith(f"{Path('runs') / 'small'}: dev F1 ") and "of 1)" in answer.out
    assert answer.err.startswith("anyner: nothing was learned") == ("dev F1 0.00" in answer.out)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("training.epoch=3", "training.epoch"),
        ("training.epochs=many", "training.epochs"),
        ("training.epochs=0", "training.epochs"),
        ("nonsense=1", "nonsense"),
        ("training.epochs", "key.sub=value"),
        ("architecture=astrology", "astrology"),
        ("head.colour=red", "colour"),
    ],
)
def test_bad_changes_name_the_key_and_leave_nothing(tmp_path: Path, change: str, part: str) -> None:
    few = ("--set", "data.synthetic.sentences=24")
    answer = anyner_command("train", "-q", "--data", "synthetic", *FROM_SCRATCH, *few, "-o", tmp_path / "m", "--set", change)
    answer.assert_one_line(part)
    assert not (tmp_path / "m").exists()


def test_bad_recipes_and_folders(tmp_path: Path) -> None:
    for content in ("- a list", "data: {synthetic: {}}\nodd: 1", "{", "data: {}"):
        (tmp_path / "r.yaml").write_text(content)
        anyner_command("train", tmp_path / "r.yaml", "-o", tmp_path / "m").assert_one_line("r.yaml")
    anyner_command("train", "--data", tmp_path / "gone", "-o", tmp_path / "m").assert_one_line("gone", "no such folder")
    anyner_command("train", "--data", "synthetic:train", "-o", tmp_path / "m").assert_one_line("synthetic:train")
    anyner_command("train", "-o", tmp_path, "--resume").assert_one_line("recipe.yaml")
    assert anyner_command("train", tmp_path / "r.yaml", "--data", "synthetic").code == 2


@pytest.fixture
def few_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.cli.corpus._SIZES", {"train": 100, "dev": 50, "test": 50})


@pytest.mark.usefixtures("few_documents")
def test_evaluate_gives_the_library_s_figures(tiny_model: Path, tmp_path: Path) -> None:
    gold = synthetic(50, contiguous=True, split="dev")
    expected = anyner.evaluate(anyner.load(tiny_model), gold)
    answer = anyner_command("evaluate", tiny_model, "synthetic:contiguous:dev", "--json", "--train", "synthetic:contiguous")
    assert (answer.code, answer.err) == (0, "")
    figures = json.loads(answer.out)
    assert figures["documents"] == 50 and figures["strict"] == expected.strict.to_json()
    assert {"seen", "unseen"} <= {part["name"] for part in figures["slices"]}
    report = anyner_command("evaluate", tiny_model, "synthetic:contiguous:dev")
    assert report.out.startswith(f"strict micro F1 {100 * expected.strict.f1:.2f} ")
    assert "seen in training" not in report.out
    to_file = anyner_command("evaluate", tiny_model, "synthetic:contiguous:dev", "-o", tmp_path / "new" / "report.txt")
    assert (to_file.code, to_file.out) == (0, "")
    assert (tmp_path / "new" / "report.txt").read_text(encoding="utf-8") == report.out


@pytest.mark.usefixtures("few_documents")
def test_evaluate_lists_errors_and_writes_a_report(tiny_model: Path, tmp_path: Path) -> None:
    expected = anyner.evaluate(anyner.load(tiny_model), synthetic(50, contiguous=True, split="dev")).errors
    command = ("evaluate", tiny_model, "synthetic:contiguous:dev", "--errors")
    answer = anyner_command(*command, "--report", tmp_path / "report.html")
    assert answer.code == 0 and "report.html: open it" in answer.err
    assert answer.out.splitlines()[-len(expected) :] == [error_line(case) for case in expected]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>") and f"{len(expected)}</strong>" in page
    figures = json.loads(anyner_command(*command, "--json").out)
    assert len(figures["errors"]) == len(expected) == sum(figures["causes"].values())
    anyner_command(*command, "--report", tmp_path).assert_one_line("folder")


def test_compare_takes_models_and_predictions(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    anyner.write(synthetic(20, contiguous=True, split="dev").documents, corpus, "jsonl")
    anyner_command("predict", "-i", corpus, "-m", tiny_model, "-o", found)
    same = json.loads(anyner_command("compare", tiny_model, found, corpus, "--json").out)
    assert same["differences"] == [] and same["difference"]["p_value"] == 1
    answer = anyner_command("compare", corpus, found, corpus, "--errors", "--report", tmp_path / "page.html")
    assert answer.code == 0 and answer.out.startswith(f"A: {corpus}\nB: {found}\nstrict micro F1 of A minus B: +")
    assert "\nonly A found it  " in answer.out and "paired bootstrap p = " in answer.out
    assert (tmp_path / "page.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    found.write_text("".join(found.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    anyner_command("compare", corpus, found, corpus).assert_one_line("found.jsonl: 19 documents")
    monkeypatch.delattr("anyner.cli.compare.load_model")  # mistakes in B are reported before A runs
    anyner_command("compare", tiny_model, found, corpus).assert_one_line("found.jsonl: 19 documents")
    anyner_command("compare", tiny_model, tmp_path / "nothing", corpus).assert_one_line("nothing")


def test_evaluate_takes_predictions(tiny_model: Path, tmp_path: Path) -> None:
    corpus, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    anyner.write(synthetic(20, contiguous=True, split="dev").documents, corpus, "jsonl")
    anyner_command("predict", "-i", corpus, "-m", tiny_model, "-o", found)
    of_model, of_file = (anyner_command("evaluate", name, corpus) for name in (tiny_model, found))
    assert (of_file.code, of_file.out) == (0, of_model.out)
    anyner_command("evaluate", found, corpus, "--threshold", "score=0.9").assert_one_line("predictions are scored as they are")
    anyner_command("evaluate", found, corpus, "-o", found).assert_one_line("is read by this command")
    found.write_text("".join(found.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    anyner_command("evaluate", found, corpus).assert_one_line("found.jsonl: 19 documents, but the corpus has 20")


def test_evaluate_passes_choices_on(tiny_model: Path) -> None:
    command = ("evaluate", tiny_model, "synthetic:contiguous:dev", "--json")
    usual = json.loads(anyner_command(*command).out)["strict"]["predicted"]
    strict = json.loads(anyner_command(*command, "--threshold", "score=0.999").out)["strict"]["predicted"]
    assert strict < usual
    anyner_command(*command, "--threshold", "odd=1").assert_one_line("odd")


def test_evaluate_needs_documents(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    anyner_command("evaluate", tiny_model, tmp_path / "empty.jsonl").assert_one_line("empty")
    anyner_command("evaluate", tiny_model, tmp_path / "empty.jsonl", "--format", "jsonl").assert_one_line("no document")


def test_info_of_a_model(tiny_model: Path) -> None:
    answer = anyner_command("info", tiny_model)
    assert answer.code == 0
    dev = json.loads((tiny_model / "metrics.json").read_text())["dev"]
    for part in ("biaffine", "Person, Place, Symptom", "unicode splitter", f"{100 * dev['f1']:.2f}", "of 6", "from_scratch"):
        assert part in answer.out


def test_info_of_the_installation() -> None:
    import torch

    out = anyner_command("info").out
    assert anyner.__version__ in out and torch.__version__ in out and "biaffine" in out and "cpu" in out


def test_models_lists_what_is_bundled(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some-model").symlink_to(tiny_model)
    monkeypatch.setattr("anyner.storage.bundled._HERE", tmp_path)
    out = anyner_command("models").out
    assert re.search(r"^some-model +\d+ MB +biaffine +flat, nested +BodyPart, .*Person", out, re.MULTILINE), out
    monkeypatch.setattr("anyner.storage.bundled._HERE", tmp_path / "nowhere")
    answer = anyner_command("models")
    assert answer.code == 0 and answer.out == "" and "no bundled models" in answer.err


@pytest.mark.parametrize(
    ("named", "folder"), [((), "synthetic-contiguous"), (("--architecture", "biaffine"), "biaffine-synthetic-contiguous")]
)
def test_a_model_folder_is_named_after_its_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: tuple[str, ...], folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ("--set", "data.synthetic.sentences=16", "--set", "training.epochs=1")
    answer = anyner_command("train", "-q", "--data", "synthetic:contiguous", *named, "--encoder", "from_scratch", *SMALL, *few)
    assert answer.code == 0 and (tmp_path / "runs" / folder / "config.json").is_file()
