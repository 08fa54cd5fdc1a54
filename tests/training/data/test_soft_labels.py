"""Soft labels: found by text, averaged over files, and learned in addition to the gold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from anyner.corpora.synthetic import synthetic
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.fragments import Fragments
from anyner.training.config import Recipe, Source
from anyner.training.data.splits import DocumentSoftLabels, read_data, read_soft_labels
from anyner.training.progress import Listener
from anyner.training.run import build, run


def source_of(path: Path, *documents: Document) -> Source:
    write(documents, path, "jsonl")
    return Source(path=str(path))


def one(text: str, *entities: tuple[str, int, int, float | None]) -> Document:
    return Document(text, tuple(Entity(label, ((start, end),), score) for label, start, end, score in entities))


def scores_of(soft: DocumentSoftLabels | None) -> dict[tuple[str, Fragments], object]:
    assert soft is not None
    return {entity.key: pytest.approx(entity.score) for entity in soft.entities}


def test_files_are_found_by_text_and_averaged(tmp_path: Path) -> None:
    first = source_of(tmp_path / "a.jsonl", one("pain here", ("A", 0, 4, 0.8)), one("none there"))
    second = source_of(tmp_path / "b.jsonl", one("pain here", ("A", 0, 4, 0.4), ("B", 5, 9, None)))
    documents = [one("unknown text"), one("pain here", ("A", 0, 4, None)), one("none there")]
    found, problems = read_soft_labels([first, second], documents)
    assert not problems
    assert found[0] is None and found[2] == DocumentSoftLabels((), covers_discontinuous=False)
    assert scores_of(found[1]) == {("A", ((0, 4),)): 0.6, ("B", ((5, 9),)): 0.5}


def test_a_text_that_is_there_twice_is_averaged(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a.jsonl", one("pain", ("A", 0, 4, 0.9)), one("pain"))
    found, _ = read_soft_labels([source], [one("pain")])
    assert scores_of(found[0]) == {("A", ((0, 4),)): 0.45}


def test_soft_labels_without_any_entity_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"data\.soft_labels: .*a\.jsonl has no entity in the training texts"):
        read_soft_labels([source_of(tmp_path / "a.jsonl", one("pain"), one("other", ("A", 0, 5, 0.5)))], [one("pain")])


def test_sources_of_soft_labels_take_no_labels() -> None:
    with pytest.raises(AnynerError, match="sources of soft labels take no `labels`"):
        Recipe.of({"data": {"synthetic": {}, "soft_labels": {"path": "a.jsonl", "labels": ["A"]}}}, "recipe")


def test_discontinuous_entities_are_averaged_over_models_that_cover_them(tmp_path: Path) -> None:
    gap = Entity("A", ((0, 4), (9, 13)), 0.6)
    first = source_of(tmp_path / "a.jsonl", Document("pain and ache", (gap,)), Document("ache"))
    second = source_of(tmp_path / "b.jsonl", one("pain and ache", ("A", 0, 4, 0.4)), one("ache", ("A", 0, 4, 0.4)))
    found, _ = read_soft_labels([first, second], [Document("pain and ache"), Document("ache")])
    assert scores_of(found[0]) == {gap.key: 0.6, ("A", ((0, 4),)): 0.2}
    assert scores_of(found[1]) == {("A", ((0, 4),)): 0.2}


def test_discontinuous_entities_are_covered_if_a_file_of_the_text_has_any(tmp_path: Path) -> None:
    gap = Entity("A", ((0, 4), (9, 13)), 0.6)
    first = source_of(tmp_path / "a.jsonl", Document("pain and ache", (gap,)), Document("ache"))
    second = source_of(tmp_path / "b.jsonl", one("pain there", ("A", 0, 4, 0.4)))
    found, _ = read_soft_labels([first, second], [Document("ache"), Document("pain there")])
    assert [soft.covers_discontinuous for soft in found if soft is not None] == [True, False]


@pytest.mark.parametrize("discontinuous", [False, True])
def test_examples_have_whether_soft_labels_cover_discontinuous_entities(folder: Path, discontinuous: bool) -> None:
    document = synthetic(40).documents[30]
    second = len(document.text.split()[0]) + 1 + len(document.text.split()[1]) + 1
    label = next(e.label for e in document.entities)
    with (folder / "soft.jsonl").open("a") as file:
        fragments = [[0, 1], [second, second + 1]] if discontinuous else [[0, 1]]
        file.write(
            json.dumps({"text": document.text, "entities": [{"label": label, "fragments": fragments, "score": 0.5}]}) + "\n"
        )
    chosen = recipe(folder)
    _, examples, _ = build(chosen, read_data(chosen.data, chosen.text))
    assert {one.soft_labels.covers_discontinuous for one in examples if one.soft_labels is not None} == {discontinuous}


def test_a_file_of_other_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"a\.jsonl has none of the training texts"):
        read_soft_labels([source_of(tmp_path / "a.jsonl", one("pain here"))], [one("other")])


def recipe(tmp_path: Path, **changes: object) -> Recipe:
    plain = {"data": {"synthetic": {"sentences": 40}, "augmentation": 0}, "training": {"epochs": 1}}
    plain["data"] |= {"soft_labels": str(tmp_path / "soft.jsonl"), **changes}  # type: ignore[operator]
    return Recipe.of(plain, "recipe")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With soft labels that have the first word as an entity, for half of the documents."""
    documents = synthetic(40).documents[:20]
    label = next(e.label for document in documents for e in document.entities)
    others = [replace(d, entities=(Entity(label, ((0, len(d.text.split()[0])),), 0.25),)) for d in documents]
    source_of(tmp_path / "soft.jsonl", *others)
    return tmp_path


def test_examples_carry_them_where_there_are_some(folder: Path) -> None:
    chosen = recipe(folder)
    _, examples, _ = build(chosen, read_data(chosen.data, chosen.text))
    has_soft_labels = [example.soft_labels for example in examples if example.soft_labels is not None]
    assert len(examples) == 40 and len(has_soft_labels) == 20
    assert all(soft.weight == 0.5 and soft.entities.thousandths.tolist() == [250] for soft in has_soft_labels)
    assert all(soft.entities.words.tolist() == [0] for soft in has_soft_labels)


def test_the_number_of_documents_with_soft_labels_is_reported(folder: Path) -> None:
    class Notes(Listener):
        def __init__(self) -> None:
            self.notes: list[str] = []

        def note(self, line: str) -> None:
            self.notes.append(line)

    listener = Notes()
    run(recipe(folder), folder / "model", listener=listener)
    assert any("soft labels for 20 of 40 training documents" in note for note in listener.notes)
