"""`tokens` with `ner_tags`, as Hugging Face datasets have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.document import Document
from anyner.errors import AnynerError

TOKENS = ["Kofi", "Annan", "visited", "Ghana"]
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
NUMBERS = [1, 2, 0, 3]
FOUND = [("PER", "Kofi Annan"), ("LOC", "Ghana")]

LABELS = {"names": NAMES, "_type": "ClassLabel"}
OLD_LABELS = {"num_classes": 5, "names": NAMES, "names_file": None, "id": None, "_type": "ClassLabel"}
FEATURES: dict[str, Any] = {
    "old": {"tokens": {}, "ner_tags": {"feature": OLD_LABELS, "length": -1, "id": None, "_type": "Sequence"}},
    "sequence": {"ner_tags": {"feature": LABELS, "_type": "Sequence"}},
    "list": {"ner_tags": {"feature": LABELS, "_type": "List"}},
    "short": {"ner_tags": [LABELS]},
}
CARD = """---
language: en
dataset_info:
{}---
# A dataset
"""
CARD_FEATURES = """  features:
  - name: tokens
    {wrapper}: string
  - name: ner_tags
    {wrapper}:
      class_label:
        names:
          '0': O
          '1': B-PER
          '2': I-PER
          3: B-LOC
          4: I-LOC
"""


def _read(folder: Path, *items: dict[str, Any]) -> Corpus:
    path = folder / "train.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return read(path)


def _found(document: Document) -> list[tuple[str, str]]:
    return [(entity.label, entity.text) for entity in document.entities]


@pytest.mark.parametrize(
    "tags",
    [
        ["B-PER", "I-PER", "O", "B-LOC"],
        ["I-PER", "I-PER", "O", "I-LOC"],
        ["B-PER", "E-PER", "O", "S-LOC"],
        ["B-PER", "L-PER", "O", "U-LOC"],
    ],
)
def test_tags_as_strings(tmp_path: Path, tags: list[str]) -> None:
    corpus = _read(tmp_path, {"id": "7", "tokens": TOKENS, "ner_tags": tags})
    assert corpus.problems == ()
    (document,) = corpus
    assert (document.id, document.text, _found(document)) == ("7", "Kofi Annan visited Ghana", FOUND)


def test_the_scheme_shows_in_all_tags_of_a_file(tmp_path: Path) -> None:
    first = {"tokens": ["Accra"], "ner_tags": ["I-LOC"]}
    assert _read(tmp_path, first).problems == ()  # could be IOB1
    corpus = _read(tmp_path, first, {"text": "no tags"}, {"tokens": TOKENS, "ner_tags": ["B-PER", "I-PER", "O", "B-LOC"]})
    assert [_found(document) for document in corpus] == [[("LOC", "Accra")], [], FOUND]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (1, True) and "invalid in IOB2" in problem.what


@pytest.mark.parametrize("form", FEATURES)
@pytest.mark.parametrize("name", ["dataset_info.json", "dataset_infos.json"])
def test_numbers_are_named_by_the_features_beside_the_file(tmp_path: Path, form: str, name: str) -> None:
    info = {"description": "", "features": FEATURES[form], "splits": {"train": {"num_examples": 1}}}
    (tmp_path / name).write_text(json.dumps(info if name == "dataset_info.json" else {"default": info, "again": info}))
    corpus = _read(tmp_path, {"tokens": TOKENS, "ner_tags": NUMBERS, "pos_tags": [0, 0, 1, 0]})
    assert corpus.problems == ()
    assert _found(corpus.documents[0]) == FOUND


@pytest.mark.parametrize("wrapper", ["sequence", "list"])
@pytest.mark.parametrize("several", [False, True])
def test_numbers_are_named_by_the_card_beside_the_file(tmp_path: Path, wrapper: str, several: bool) -> None:
    features = CARD_FEATURES.format(wrapper=wrapper)
    (tmp_path / "README.md").write_text(CARD.format("- config_name: one\n" + features if several else features))
    corpus = _read(tmp_path, {"tokens": TOKENS, "ner_tags": NUMBERS})
    assert corpus.problems == ()
    assert _found(corpus.documents[0]) == FOUND


@pytest.mark.parametrize("names", [NAMES, {str(number): name for number, name in enumerate(NAMES)}])
def test_names_of_the_user_win(tmp_path: Path, names: Any) -> None:
    other = {"ner_tags": {"feature": {"names": NAMES[::-1], "_type": "ClassLabel"}, "_type": "Sequence"}}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": other}))
    (tmp_path / "label_names.json").write_text(json.dumps(names))
    assert _found(_read(tmp_path, {"tokens": TOKENS, "ner_tags": NUMBERS}).documents[0]) == FOUND


@pytest.mark.parametrize(
    "card",
    [
        None,
        "# A page\n\n---\n",
        "---\n- [broken\n---\n",
        "---\nlicense: mit\n---\n",
        CARD.format("  features:\n  - name: tokens\n"),
    ],
)
def test_numbers_without_names_say_what_to_put_where(tmp_path: Path, card: str | None) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    with pytest.raises(AnynerError) as caught:
        _read(tmp_path, {"text": "no tags"}, {"tokens": TOKENS, "ner_tags": NUMBERS})
    message = str(caught.value)
    assert message.startswith(f'{tmp_path / "train.jsonl"}:2: "ner_tags" are numbers without names')
    assert "dataset_info.json beside the file" in message and "label_names.json" in message and "\n" not in message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("dataset_info.json", "{broken", "not valid JSON"),
        ("label_names.json", "{broken", "not valid JSON"),
        ("label_names.json", '"O"', "expected a list of tags"),
        ("label_names.json", '{"O": 0, "B-PER": 1}', "expected a list of tags"),
        (
            "dataset_infos.json",
            json.dumps({"a": {"features": FEATURES["list"]}, "b": {"features": {"ner_tags": [{"names": ["O", "B-X"]}]}}}),
            "different names",
        ),
    ],
)
def test_bad_names_are_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(AnynerError, match=message) as caught:
        _read(tmp_path, {"tokens": TOKENS, "ner_tags": NUMBERS})
    assert str(tmp_path / name) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([1, 2, 0], "4 tokens, but 3 tags"),
        ([1, 2, 0, "O"], "neither a list of strings nor of whole numbers"),
        ([1, 2, 0, None], "neither a list"),
        ([True, False, False, False], "neither a list"),
        ("B-PER", "neither a list"),
    ],
)
def test_tags_that_do_not_fit_drop_their_line(tmp_path: Path, tags: Any, message: str) -> None:
    corpus = _read(tmp_path, {"text": "before"}, {"tokens": TOKENS, "ner_tags": tags})
    assert [document.text for document in corpus] == ["before"]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (2, False) and message in problem.what


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([1, 2, 0, -100], "tag -100 is out of range: label_names.json names 5 tags; read as O"),
        ([1, 2, 0, 5], "tag 5 is out of range"),
        (["B-PER", "I-PER", "O", "LOC"], "tag 'LOC' is malformed"),
    ],
)
def test_a_bad_tag_is_read_as_o_and_reported(tmp_path: Path, tags: Any, message: str) -> None:
    (tmp_path / "label_names.json").write_text(json.dumps(NAMES))
    corpus = _read(tmp_path, {"tokens": TOKENS, "ner_tags": tags})
    assert _found(corpus.documents[0]) == FOUND[:1]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (1, False) and message in problem.what


@pytest.mark.parametrize(
    "beside", [{"text": "Kofi Annan visited Ghana"}, {"spans": ["PER: Kofi Annan"], "langs": ["en"] * 4}, {"label": "news"}]
)
def test_tags_win_over_what_has_no_positions(tmp_path: Path, beside: dict[str, Any]) -> None:
    corpus = _read(tmp_path, {"tokens": TOKENS, "ner_tags": ["B-PER", "I-PER", "O", "B-LOC"], **beside})
    assert corpus.problems == ()
    assert _found(corpus.documents[0]) == FOUND


@pytest.mark.parametrize("key", ["entities", "spans"])
def test_tags_beside_entities_are_reported(tmp_path: Path, key: str) -> None:
    entities = [{"label": "PER", "start": 0, "end": 2}]
    corpus = _read(tmp_path, {"tokens": TOKENS, "ner_tags": ["O", "O", "O", "B-LOC"], key: entities})
    assert _found(corpus.documents[0]) == FOUND[:1]
    (problem,) = corpus.problems
    assert '"ner_tags" is not read: entities are looked for under "' + key in problem.what
