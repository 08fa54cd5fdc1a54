from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

TEXT = "😀 Pain in hip and knees"


def region(name: str, start: int, end: int, *labels: str, text: str | None = None) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": TEXT[start:end] if text is None else text, "labels": list(labels)}
    return {"id": name, "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual", "value": value}


def relation(one: str, other: str, *labels: str) -> dict[str, Any]:
    return {"from_id": one, "to_id": other, "type": "relation", "direction": "right", "labels": list(labels)}


def exported(path: Path, *annotations: dict[str, Any], **task: Any) -> Corpus:
    """A task as Label Studio exports it, after one with nothing in it."""
    made = {"id": 7, "annotations": list(annotations), "predictions": [], "data": {"text": TEXT}, "project": 1} | task
    empty = {"id": 6, "annotations": [{"id": 1, "result": []}], "data": {"text": "Nothing."}}
    path.write_text(json.dumps([empty, made]), encoding="utf-8")
    return read(path)


def by(*result: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": 3, "was_cancelled": False, "ground_truth": False, "result": list(result)} | fields


def keys(corpus: Corpus) -> list[tuple[str, Any]]:
    return [entity.key for entity in corpus.documents[-1].entities]


def test_each_label_of_a_region_is_an_entity(tmp_path: Path) -> None:
    corpus = exported(tmp_path / "x", by(region("a", 2, 6, "ADR", "Symptom"), region("b", 10, 13, "Body")))
    assert keys(corpus) == [("ADR", ((2, 6),)), ("Symptom", ((2, 6),)), ("Body", ((10, 13),))]
    assert (corpus.problems, corpus.documents[-1].id) == ((), "7")


def test_relations_named_discontinuous_join_regions_and_others_are_reported(tmp_path: Path) -> None:
    regions = [region("a", 2, 9, "ADR"), region("b", 18, 23, "ADR", "Body"), region("c", 10, 13, "Body")]
    corpus = exported(tmp_path / "x", by(*regions, relation("b", "a", "discontinuous"), relation("c", "a", "part-of")))
    assert keys(corpus) == [("ADR", ((2, 9), (18, 23))), ("Body", ((10, 13),)), ("Body", ((18, 23),))]
    (problem,) = corpus.problems
    assert 'results of the type "relation" are not read: 1 skipped' in problem.what


def test_of_several_annotators_the_ground_truth_or_the_first_is_read_and_reported(tmp_path: Path) -> None:
    one, other = by(region("a", 2, 6, "ADR")), by(region("z", 2, 9, "ADR"))
    corpus = exported(tmp_path / "x", by(was_cancelled=True), one, other)
    assert keys(corpus) == [("ADR", ((2, 6),))]
    assert "task 7 has 2 annotations that differ: the first is read" in corpus.problems[0].what
    corpus = exported(tmp_path / "x", one, other | {"ground_truth": True})
    assert keys(corpus) == [("ADR", ((2, 9),))]
    assert "the ground truth is read" in corpus.problems[0].what
    assert exported(tmp_path / "x", one, by(region("q", 2, 6, "ADR"))).problems == ()


def test_offsets_in_utf16_units_are_noticed_by_the_copies(tmp_path: Path) -> None:
    corpus = exported(tmp_path / "x", by(region("a", 3, 7, "ADR", text="Pain"), region("b", 11, 14, "Body", text="hip")))
    assert keys(corpus) == [("ADR", ((2, 6),)), ("Body", ((10, 13),))]
    assert "the offsets count UTF-16 units: converted" in corpus.problems[0].what


def test_a_task_without_annotation_is_no_document_without_entities(tmp_path: Path) -> None:
    prediction = {"model_version": "m", "result": [region("a", 2, 6, "ADR")]}
    corpus = exported(tmp_path / "x", predictions=[prediction])
    assert (len(corpus), corpus.problems[0].what) == (1, "task 7 was not annotated")
    (tmp_path / "x").write_text(json.dumps([{"data": {"comment": TEXT}, "predictions": [prediction]}]), encoding="utf-8")
    assert keys(read(tmp_path / "x")) == [("ADR", ((2, 6),))]  # a file for import: its predictions are all it has


def test_other_results_and_unclear_texts_are_reported(tmp_path: Path) -> None:
    choice = {"id": "c", "type": "choices", "from_name": "kind", "to_name": "text", "value": {"choices": ["x"]}}
    corpus = exported(tmp_path / "x", by(choice, choice))
    assert [problem.what for problem in corpus.problems] == ['results of the type "choices" are not read: 2 skipped']
    corpus = exported(tmp_path / "x", by(), data={"a": "one", "b": "two"})
    assert 'task 7: cannot tell which key of "data" is the text' in corpus.problems[0].what


def test_scores_are_written_as_predictions(tmp_path: Path) -> None:
    documents = [Document(TEXT, (Entity("ADR", ((2, 9), (18, 23)), 0.5),), id="a"), Document(TEXT, (Entity("B", ((2, 6),)),))]
    write(documents, tmp_path / "x", "label-studio")
    first, second = json.loads((tmp_path / "x").read_text(encoding="utf-8"))
    assert first.keys() == {"predictions", "data"} and second.keys() == {"annotations", "data"}
    assert read(tmp_path / "x").documents == tuple(documents)


@pytest.mark.parametrize(
    "content", ['[{"data": 1, "annotations": []}]', '[{"annotations": [{"result": 3}], "data": {}}]', '[{"data": {}}, 1]']
)
def test_nonsense_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content, encoding="utf-8")
    with pytest.raises(AnynerError, match=r"x:1: .*nothing else could be read"):
        read(tmp_path / "x")


def test_the_short_form_has_the_same_entities(tmp_path: Path) -> None:
    regions = [region("a", 2, 6, "ADR", "Symptom")["value"], region("b", 10, 13, "Body")["value"]]
    about = {"annotator": 1, "annotation_id": 5, "created_at": "2026-01-02", "updated_at": "2026-01-02", "lead_time": 3.5}
    short = {"text": TEXT, "id": 7, "label": regions, "sentiment": ["bad"], **about}
    (tmp_path / "min.json").write_text(json.dumps([short]), encoding="utf-8")
    corpus = read(tmp_path / "min.json")
    assert corpus.documents[0].id == "7" and corpus.documents[0].text == TEXT
    assert keys(corpus) == [("ADR", ((2, 6),)), ("Symptom", ((2, 6),)), ("Body", ((10, 13),))]
    assert [problem.what for problem in corpus.problems] == ['results of the type "sentiment" are not read: 1 skipped']


SETUP = """<View><Relations/><Labels name="label" toName="text">{labels}</Labels><Text name="text" value="$text"/></View>"""


def test_its_own_library_accepts_and_converts_what_is_written(tmp_path: Path) -> None:
    """The validator of Label Studio, and its converter to JSON-MIN, which is read back."""
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="label-studio-sdk is not installed")
    converter = pytest.importorskip("label_studio_sdk.converter")
    documents = synthetic(60).documents
    (tmp_path / "in").mkdir()
    write(documents, tmp_path / "in/tasks.json", "label-studio")
    tasks = json.loads((tmp_path / "in/tasks.json").read_text(encoding="utf-8"))
    labels = "".join(f'<Label value="{label}"/>' for label in sorted({e.label for d in documents for e in d.entities}))
    interface = sdk.LabelInterface(SETUP.format(labels=labels))
    assert all(interface.validate_annotation(annotation) for task in tasks for annotation in task["annotations"])
    for number, task in enumerate(tasks):
        task["id"] = number
        task["annotations"][0] |= {"id": number, "completed_by": 1, "was_cancelled": False}
    (tmp_path / "in/tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    (tmp_path / "setup.xml").write_text(SETUP.format(labels=labels), encoding="utf-8")
    converter.Converter(str(tmp_path / "setup.xml"), project_dir=None).convert_to_json_min(
        str(tmp_path / "in"), str(tmp_path / "out")
    )
    (short,) = (tmp_path / "out").iterdir()
    for document, again in zip(documents, read(short).documents, strict=True):
        fragments = sorted((entity.label, (one,)) for entity in document.entities for one in entity.fragments)
        assert again.text == document.text and sorted(entity.key for entity in again.entities) == sorted(set(fragments))
