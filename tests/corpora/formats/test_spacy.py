from __future__ import annotations

from pathlib import Path

import pytest

from anyner.corpora.formats import spacy as module
from anyner.corpora.reading import read, recognised
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

FILES = Path(__file__).parent.parent / "files"
FLAT = ["Zoë Alden", "Cryoprin", "Kelford"]


def test_a_docbin_is_recognised_without_spacy() -> None:
    assert recognised(FILES / "docbin.spacy").name == "spacy"


def test_entities_and_span_groups_of_a_file_of_spacy() -> None:
    pytest.importorskip("spacy", reason="the extra spacy is not installed")
    corpus = read(FILES / "docbin.spacy")
    assert [[entity.text for entity in document.entities] for document in corpus] == [FLAT, [FLAT[0], "Zoë", *FLAT[1:]], []]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(3, True)]


def test_overlapping_entities_are_in_the_span_group_alone(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
    text = "Pain  in hip."
    flat = Document(text, (Entity("ADR", ((0, 8),), 0.5), Entity("Body", ((9, 12),))))
    nested = Document(text, (Entity("ADR", ((0, 12),)), Entity("Body", ((9, 12),))))
    write([flat, nested, Document(text)], tmp_path / "x", "spacy")
    docs = list(spacy.tokens.DocBin().from_disk(tmp_path / "x").get_docs(spacy.blank("en").vocab))
    assert [[(span.text, span.label_) for span in doc.ents] for doc in docs] == [[("Pain  in", "ADR"), ("hip", "Body")], [], []]
    assert [doc.has_annotation("ENT_IOB") for doc in docs] == [True, False, True]  # missing, not "no entities"
    assert [[span.text for span in doc.spans["sc"]] for doc in docs] == [["Pain  in", "hip"], ["Pain  in hip", "hip"], []]
    assert read(tmp_path / "x").documents == (flat, nested, Document(text))
    with pytest.raises(AnynerError, match="it is discontinuous"):
        write([Document(text, (Entity("ADR", ((0, 4), (9, 12))),))], tmp_path / "x", "spacy")


def test_a_file_that_unpacks_to_far_too_much_or_is_cut_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (FILES / "docbin.spacy").read_bytes()
    monkeypatch.setattr(module, "_LARGEST", 100)
    monkeypatch.setattr(module, "_LARGEST_RATIO", 1)
    with pytest.raises(AnynerError, match="unpacks to more than"):
        module._check_size(tmp_path / "x", data)
    with pytest.raises(AnynerError, match="cannot be read"):
        module._check_size(tmp_path / "x", data[:20] + b"zz" + data[22:])
