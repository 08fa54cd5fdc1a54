"""A folder of texts: which are shown, in which order, and that no correction is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

import anyner
from anyner.corpora.reading import ANNOTATIONS, read_splits
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.inference.config import Calibration
from anyner.serve.annotate import AnnotationFolder, margin, order
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

THRESHOLDS = {"score": 0.4, "discontinuous": 0.2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("Pain in hip.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("Pain in knees.", encoding="utf-8")
    (tmp_path / "b.ann").write_text("T1\tSymptom 0 4\tPain\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"text": "One."}\n{"text": ""}\n{"text": "Two."}\n', encoding="utf-8")
    for name in ("train.jsonl", "dev.jsonl"):
        anyner.write([Document("Hip pain.", (Entity("Symptom", ((0, 8),)),))], tmp_path / name, "jsonl")
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    return tmp_path


def symptom(document: Document) -> Document:
    return Document(document.text, (Entity("Symptom", ((0, 4),), 0.5),))


def test_the_texts_of_a_folder(folder: Path) -> None:
    texts = AnnotationFolder(folder).texts
    assert [text.name for text in texts] == ["a.txt", "b.txt", "c.jsonl 1", "c.jsonl 3"]
    assert [entity.text for entity in texts[1].document.entities] == ["Pain"]


def test_corrections_are_training_data_beside_the_train_corpus(folder: Path) -> None:
    annotating = AnnotationFolder(folder)
    for text in annotating.texts[:2]:
        annotating.store(text, symptom(text.document))
    annotating.store(annotating.texts[0], Document("Pain in hip."))
    again = AnnotationFolder(folder)
    stored = [again.annotated()[text.document.text] for text in again.texts[:2]]
    assert [[(one.key, one.score) for one in document.entities] for document in stored] == [[], [(("Symptom", ((0, 4),)), None)]]
    splits = read_splits(folder)
    assert [document.text for document in splits.train] == ["Hip pain.", "Pain in knees.", "Pain in hip."]
    (folder / "train.jsonl").unlink()
    assert len(read_splits(folder).train) == 2


def test_a_correction_belongs_to_its_text_wherever_that_moves(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"text": "One."}\n{"text": "Two.", "id": "n2"}\n', encoding="utf-8")
    annotating = AnnotationFolder(tmp_path)
    for text in annotating.texts:
        annotating.store(text, symptom(text.document))
    assert [(one.id, one.text) for one in read_splits(tmp_path).train] == [("", "One."), ("n2", "Two.")]
    file.write_text('{"text": "New."}\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    moved = AnnotationFolder(tmp_path)
    done = moved.annotated()
    assert [text.document.text in done for text in moved.texts] == [False, True, True] and not moved.problems
    for text in moved.texts:
        moved.store(text, symptom(text.document))
    assert [document.text for document in read_splits(tmp_path).train] == ["New.", "One.", "Two."]


def test_a_changed_text_takes_the_place_of_the_older_one_with_its_id(tmp_path: Path) -> None:
    texts = {
        "a.txt": "Pain.",
        "b.jsonl": '{"text": "One.", "id": "1"}\n{"text": "Two."}\n',
        "c.jsonl": '{"text": "Three.", "id": 3}',
    }
    for name, content in texts.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    before = AnnotationFolder(tmp_path)
    for text in before.texts:
        before.store(text, symptom(text.document))
    for name, content in texts.items():
        (tmp_path / name).write_text(content.replace(".", "!"), encoding="utf-8")
    (tmp_path / "d.jsonl").write_text('{"text": "Another.", "id": 3}', encoding="utf-8")
    changed = AnnotationFolder(tmp_path)
    assert len(changed.annotated()) == 4, "nothing is lost before the new text is annotated"
    assert [(problem.line, problem.kept) for problem in changed.problems] == [(line, True) for line in (1, 2, 3, 4)]
    for text in changed.texts:
        changed.store(text, symptom(text.document))
    left = {problem.line for problem in AnnotationFolder(tmp_path).problems}
    stored = [document.text for document in read_splits(tmp_path).train]
    assert sorted(stored[line - 1] for line in left) == ["Three.", "Two."], "no id, and an id of two texts"
    assert len(stored) == 5 + 2


def test_what_cannot_be_kept_whole_is_refused(folder: Path) -> None:
    (folder / ANNOTATIONS).write_text('{"text": "Pain."}\n{"text": "Pa', encoding="utf-8")
    with pytest.raises(AnynerError, match=rf"{ANNOTATIONS}:2: not valid JSON.*repair the file first"):
        AnnotationFolder(folder)
    with pytest.raises(AnynerError, match="no such folder"):
        AnnotationFolder(folder / "nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(AnynerError, match="has no texts to annotate"):
        AnnotationFolder(folder / "empty")


def test_a_kill_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    """Processes that store one text after another are killed; what they reported as stored is there, and the file is intact."""
    (tmp_path / "many.jsonl").write_text("".join(f'{{"text": "Pain {number}."}}\n' for number in range(300)), encoding="utf-8")
    annotating = AnnotationFolder(tmp_path)
    for delay in (0.02, 0.05, 0.1):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                for number, text in enumerate(annotating.texts):
                    annotating.store(text, symptom(text.document))
                    os.write(writing, number.to_bytes(2, "big"))
            finally:
                os._exit(0)
        os.close(writing)
        reported = os.read(reading, 2)  # the first is stored
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(reading, 4096):
            reported += more
        os.close(reading)
        stored = AnnotationFolder(tmp_path).annotated()
        assert {text.document.text for text in annotating.texts[: len(reported) // 2]} <= stored.keys()
        assert all(len(document.entities) == 1 for document in stored.values())
    assert AnnotationFolder(tmp_path).texts == annotating.texts, "what a kill leaves behind is no text"


def test_the_margin_of_a_text_is_that_of_its_least_sure_candidate() -> None:
    entities = (Entity("A", ((0, 1),), 0.9), Entity("A", ((0, 1), (2, 3)), 0.3))
    assert margin(Document("a b", entities), THRESHOLDS) == 0.1
    assert margin(Document("a b", entities), {"score": 0.4}) == 0.1
    assert margin(Document("a b", entities[:1]), THRESHOLDS) == 0.5
    assert margin(Document("a b"), THRESHOLDS) == 1.0
    halved = Calibration(temperature=2.0)
    assert margin(Document("a b", entities[:1]), {"score": 0.8}, halved) == round(0.9 - halved.probability(0.8), 4)
    assert margin(Document("a b", entities[:1]), THRESHOLDS, Calibration(temperature=2.0, thresholds={"A": 0.7})) == 0.2


def test_the_least_sure_text_comes_first(tmp_path: Path) -> None:
    texts = ["The sky is blue.", "Normal and malignant B cells express CD23 mRNA.", "CD23 mRNA and perhaps some factors."]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    recognizer = anyner.load("biomed-en", runtime="onnx")

    async def ordered() -> dict[int, float]:
        service = Service(("cells",), ServeSettings())
        service.add("cells", recognizer)
        try:
            return await order(AnnotationFolder(tmp_path), service)
        finally:
            service.close()

    sure = asyncio.run(ordered())
    assert list(sure.values()) == sorted(sure.values())
    thresholds = recognizer.config.thresholds
    candidates = recognizer.predict(texts, thresholds={name: value / 2 for name, value in thresholds.items()})
    assert sure == {number: margin(document, thresholds) for number, document in enumerate(candidates)}
