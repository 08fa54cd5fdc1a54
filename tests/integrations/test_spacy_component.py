from __future__ import annotations

import pickle
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.overlap import resolve
from anyner.storage.load import find

spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
component = pytest.importorskip("anyner.integrations.spacy")
tokens = pytest.importorskip("spacy.tokens")

CELLS = "Normal and malignant B cells express CD23 mRNA."
TEXTS = [CELLS, "", " \n ", f"🙂  {CELLS}\n\n\tAnti-CD23\xa0T-cells don't.", *(document.text for document in synthetic(12))]


@pytest.fixture(scope="module", autouse=True)
def loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(component, "load", cache(component.load))
        yield


@pytest.fixture(scope="module")
def ner() -> anyner.Recognizer:
    loaded: anyner.Recognizer = component.load("biomed-en", None, runtime="auto")
    return loaded


def pipeline(**config: object) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("anyner", config={"model": "biomed-en", **config})
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Any:
    return pipeline()


def test_pyproject_names_the_factory_for_spacy() -> None:
    plain = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    value = plain["project"]["entry-points"]["spacy_factories"]["anyner"]
    assert EntryPoint("anyner", value, "spacy_factories").load() is component.SpacyComponent


def test_entities_are_those_of_predict(nlp: Any, ner: anyner.Recognizer) -> None:
    docs = list(nlp.pipe(TEXTS))
    expected = ner.predict(TEXTS)
    assert [doc._.anyner for doc in docs] == [document.entities for document in expected]
    assert any(entity.discontinuous for entity in docs[0]._.anyner)
    for doc, document in zip(docs, expected, strict=True):
        contiguous = [entity for entity in document.entities if not entity.discontinuous]
        group = doc.spans["anyner"]
        for span, entity in zip(group, contiguous, strict=True):
            assert span.label_ == entity.label and span.start_char <= entity.start and span.end_char >= entity.end
        assert group.attrs["scores"] == [entity.score for entity in contiguous]
        flat = [entity.label for entity in resolve(contiguous, "flat")]
        assert [span.label_ for span in doc.ents] == flat
    assert "CD23" in spacy.displacy.render(docs[0], style="span", options={"spans_key": "anyner"}, jupyter=False)


def test_spans_are_widened_to_whole_tokens(nlp: Any) -> None:
    whole = tokens.Doc(nlp.vocab, words=["(CD23", "mRNA)", "rose."], spaces=[True, True, False])
    doc = nlp.get_pipe("anyner")(whole)
    assert "CD23 mRNA" in [entity.text for entity in doc._.anyner]
    assert "(CD23 mRNA)" in [span.text for span in doc.spans["anyner"]] and [span.text for span in doc.ents] == ["(CD23 mRNA)"]


def test_entities_that_a_doc_already_has_stay(nlp: Any) -> None:
    doc = nlp.make_doc(CELLS)
    doc.ents = [doc.char_span(37, 41, label="MINE")]
    found = nlp.get_pipe("anyner")(doc)
    assert [(span.text, span.label_) for span in found.ents] == [("malignant B cells", "cell_type"), ("CD23", "MINE")]
    assert pipeline(ents=None, spans_key="mine", thresholds={"score": 0.95})(CELLS).ents == ()


def test_a_stored_pipeline_brings_its_model(tmp_path: Path, nlp: Any) -> None:
    shutil.copytree(find("biomed-en"), tmp_path / "trained")
    pipeline(model=str(tmp_path / "trained")).to_disk(tmp_path / "nlp")
    shutil.rmtree(tmp_path / "trained")
    loaded = spacy.load(tmp_path / "nlp")
    loaded.to_disk(tmp_path / "nlp")  # onto itself
    assert loaded(CELLS)._.anyner == nlp(CELLS)._.anyner
    assert spacy.blank("en").from_bytes(nlp.to_bytes()).pipe_names == []
    copy = pipeline(model="general-en").from_bytes(nlp.to_bytes())
    assert copy.get_pipe("anyner").model == "biomed-en" and len(nlp.to_bytes()) < 1_000_000
    nlp.get_pipe("anyner").recognizer  # noqa: B018
    assert pickle.loads(pickle.dumps(nlp.get_pipe("anyner"))).model == "biomed-en"


def test_a_forked_process_loads_its_own_model_and_frees_no_other(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = nlp.get_pipe("anyner")
    before = own.recognizer
    with monkeypatch.context() as forked:
        forked.setattr(component.os, "getpid", lambda: -1)
        forked.setattr(component, "load", lambda *_, **__: "another")
        assert own.recognizer == "another"
        assert before in own._loaded.values()  # its threads are not there: freeing it would wait for them for ever
    assert own.recognizer is before


def test_a_stored_doc_keeps_its_entities(nlp: Any) -> None:
    doc = nlp(CELLS)
    stored = tokens.DocBin(docs=[doc], store_user_data=True).to_bytes()
    (read,) = tokens.DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert read._.anyner == doc._.anyner and read._.anyner[0].text == doc._.anyner[0].text
    assert read.spans["anyner"].attrs["scores"] == doc.spans["anyner"].attrs["scores"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"ents": "best"}, "unknown overlap policy 'best'"),
        ({"model": "nothing"}, "cannot find model nothing"),
        ({"thresholds": {"nothing": 0.5}}, "unknown threshold 'nothing'"),
    ],
)
def test_bad_settings_are_one_line(config: dict[str, Any], message: str) -> None:
    with pytest.raises(AnynerError, match=message):
        pipeline(**config)(CELLS)
