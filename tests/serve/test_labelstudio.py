"""Label Studio gets the JSON that its documentation describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from served import StandIn
from test_app import posted

from anyner.corpora.reading import read
from anyner.errors import AnynerError
from anyner.serve.labelstudio import tags_of

CONFIG = """
<View>
  <Labels name="ner" toName="body"><Label value="Pair"/><Label value="Other" background="red"/></Labels>
  <Text name="body" value="$note"/>
</View>
"""
VERSION = "stand-in-ffffffffffff"


def test_tasks_get_regions_and_discontinuous_entities_relations() -> None:
    task = {"id": 7, "data": {"note": "Ann met Bob"}, "annotations": [], "meta": {}}
    body = {"tasks": [task], "project": "1.1700000000", "label_config": CONFIG, "params": {"login": None}, "model_version": None}
    region: dict[str, Any] = {"from_name": "ner", "to_name": "body", "type": "labels", "score": 0.5}
    assert posted(body).json() == {
        "results": [
            {
                "result": [
                    {**region, "id": "1-1", "value": {"start": 0, "end": 3, "text": "Ann", "labels": ["Pair"]}},
                    {**region, "id": "1-2", "value": {"start": 8, "end": 11, "text": "Bob", "labels": ["Pair"]}},
                    {"type": "relation", "from_id": "1-1", "to_id": "1-2", "direction": "right", "labels": ["discontinuous"]},
                ],
                "score": 0.5,
                "model_version": VERSION,
            }
        ],
        "model_version": VERSION,
    }


def test_an_accepted_prediction_is_read_as_the_same_entities(tmp_path: Path) -> None:
    """Label Studio exports an accepted prediction with the results it was given."""
    (prediction,) = posted({"tasks": [{"data": {"text": "Ann met Bob"}}]}).json()["results"]
    task = {"id": 7, "data": {"text": "Ann met Bob"}, "annotations": [{"result": prediction["result"]}]}
    (tmp_path / "export.json").write_text(json.dumps([task]), encoding="utf-8")
    corpus = read(tmp_path / "export.json")
    assert (corpus.documents[0].entities, corpus.problems) == (StandIn().predict("Ann met Bob").entities, ())


def test_without_a_config_all_labels_and_the_names_of_their_template() -> None:
    prediction = posted({"tasks": [{"data": {"text": "Ann"}}]}).json()["results"][0]
    (region,) = prediction["result"]
    assert (region["from_name"], region["to_name"], region["value"]["labels"]) == ("label", "text", ["Name"])


def test_setup_returns_the_version_and_health_is_up() -> None:
    body = {"project": "1.17", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "x"}
    assert posted(body, "/setup").json() == {"model_version": VERSION}
    wrong = posted({"schema": "<View/>"}, "/setup")
    assert wrong.status_code == 400 and wrong.json()["error"].startswith("label_config: no <Labels")


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("<View>", "label_config: not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><View>&b;</View>', "label_config: XML entities are not allowed"),
        ('<View><Labels name="a" toName="b"/><Image name="b" value="$b"/></View>', "label_config: no <Labels"),
    ],
)
def test_a_config_that_cannot_be_used_is_refused(config: str, line: str) -> None:
    with pytest.raises(AnynerError, match=f"^{line}"):
        tags_of(config)


def test_a_task_without_its_text_is_refused() -> None:
    answer = posted({"tasks": [{"data": {"text": "a"}}, {"data": {"text": 3}}]})
    assert (answer.status_code, answer.json()["error"]) == (400, "tasks[1]: data has no text 'text'")
