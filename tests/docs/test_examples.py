"""What the pages tell a reader to run does run: `bash` and `python` blocks, page by page, in order, in a folder of their own."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_pages import ROOT, RUN, Block, blocks, name_of, pages, read
from typer.testing import CliRunner

import anyner
from anyner import Document, Entity
from anyner.cli import corpus as embedded
from anyner.cli.main import app
from anyner.corpora.synthetic import synthetic
from anyner.storage.load import find

SIZES = {"sentences": 16}
FEWER = {"train": 4, "dev": 3, "test": 6}
"""Of what is trained on with all weights of a bundled encoder."""
FEWER_EPOCHS = "1"
"""In the place of every number of epochs that a command names."""
_EPOCHS = re.compile(r"(?<=training\.epochs=)\d+")
_EMBEDDED = re.compile(r"(?<=--data )synthetic(:contiguous)? .*--encoder from_scratch")
_SMALLER = " --set data.synthetic.sentences=16 --set encoder.scratch_width=32"
_SHELL = re.compile(r"[|<>;&$*]")


def examples(page: Path) -> list[Block]:
    """Files of a package are tried where it is built."""
    return [block for block in blocks(read(page)) if block.mark in RUN and not block.code.startswith("# file: ")]


def smaller(path: Path) -> dict[str, Any]:
    """A recipe that trains in a second: on fewer sentences, and with a smaller encoder."""
    recipe: dict[str, Any] = yaml.safe_load(read(path))
    recipe["data"]["synthetic"] |= SIZES
    recipe["training"]["epochs"] = 1
    if recipe["encoder"].get("source", "").startswith("bundled:"):
        recipe["training"] |= {"batch_sentences": 4, "encoder_lr": 4e-3, "head_lr": 4e-3}
    recipe["encoder"] |= {"source": "from_scratch", "scratch_width": 32}
    return recipe


@pytest.fixture(scope="module")
def demo_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In the place of the model of `make demo`."""
    recipe = smaller(ROOT / "recipes/biaffine/demo-bundled.yaml")
    return anyner.train(recipe, tmp_path_factory.mktemp("demo") / "demo", changes=["training.epochs=3"]).folder


@pytest.fixture
def workshop(demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What CONTRIBUTING.md promises the blocks: the demo model, corpora, and the recipes made small enough for a test."""
    shutil.copytree(demo_model, tmp_path / "runs/demo")
    for folder in ("data/mine", "my-corpus"):
        (tmp_path / folder).mkdir(parents=True)
        for split in ("train", "dev", "test"):
            documents = synthetic(FEWER[split], contiguous=True, split=split).documents
            anyner.write(documents, tmp_path / folder / f"{split}.jsonl", "jsonl")
    (tmp_path / "my-model").symlink_to(find("general-en"))
    (tmp_path / "my-folder").mkdir()
    people = [Document("Angela Merkel lives in Berlin.", [Entity("PER", ((0, 13),)), Entity("LOC", ((23, 29),))])]
    anyner.write(people, tmp_path / "my-folder/dev.jsonl", "jsonl")
    words = [Document.from_words(["Pain", "in", "hip"], [Entity("Symptom", ((0, 3),))])]
    anyner.write(words, tmp_path / "posts.jsonl", "jsonl-tokens")
    (tmp_path / "notes.txt").write_text("Mild stiffness.\nHe took Cryoprin.\n", encoding="utf-8")
    for path in (*ROOT.glob("recipes/*/demo*.yaml"), *ROOT.glob("recipes/*/paper.yaml")):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(yaml.safe_dump(smaller(path)), encoding="utf-8")
    monkeypatch.setattr(embedded, "_SIZES", FEWER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_line(line: str) -> str:
    """One line of a shell; `anyner` runs in this process, for each start of torch costs seconds."""
    if line.startswith("anyner ") and not _SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", line)):
        command = _EMBEDDED.sub(lambda found: found[0] + _SMALLER, _EPOCHS.sub(FEWER_EPOCHS, line))
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        return result.stdout
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def run_block(block: Block, names: dict[str, object]) -> str:
    if block.mark == "bash":
        return "".join(run_line(line) for line in block.code.splitlines() if line.strip())
    if block.code.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.code, names, "page", None, block.line)
        failed = doctest.DocTestRunner().run(test, clear_globs=False).failed
        assert failed == 0, block.code
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, f"line {block.line}", "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize("page", [page for page in pages() if examples(page)], ids=name_of)
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page: Path, workshop: Path) -> None:
    names: dict[str, object] = {"__name__": "__page__"}
    for block in examples(page):
        printed = run_block(block, names)
        if block.output is not None and "runs/" not in block.code:  # models there were trained on less than a reader's
            assert printed == block.output, f"{name_of(page)}:{block.line}"
