from __future__ import annotations

from pathlib import Path

import pytest

from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

EXPORT = r"""#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|coarseValue|PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=webanno.custom.Symptom|severity
#T_RL=webanno.custom.Cause|kind|BT_webanno.custom.Symptom


#Text=😀 Zoë Alden \[ill\]
1-1	0-2	😀	_	_	_	_	_	_	_
1-2	3-6	Zoë	PROPN	NNP	*[1]|*[2]	PER[1]|GIVEN\_NAME[2]	_	_	_
1-3	7-12	Alden	PROPN	NNP	*[1]	PER[1]	_	_	_
1-4	13-18	\[ill\]	_	_	_	_	_	_	_
1-4.1	14-17	ill	_	_	_	_	*	cause	1-1[1_1]

#Text=Knee
#Text=pain
2-1	19-23	Knee	_	_	_	_	mild[3]	_	_
2-2	24-28	pain	_	_	_	_	mild[3]	_	_
"""


def test_an_export_with_layers_stacked_nested_and_sub_token_annotations(tmp_path: Path) -> None:
    path = tmp_path / "note.tsv"
    path.write_text(EXPORT, encoding="utf-8")
    corpus = read(path)
    first, second = corpus
    assert (first.text, second.text) == ("😀 Zoë Alden [ill]", "Knee\npain")
    assert [(entity.label, entity.text) for entity in first.entities] == [
        ("PER", "Zoë Alden"), ("GIVEN_NAME", "Zoë"), ("Symptom", "ill")
    ]  # fmt: skip
    assert [entity.key for entity in second.entities] == [("mild", ((0, 9),))]
    assert (first.doc, first.sentence, second.sentence) == ("note", 0, 1)
    assert first.words == ((0, 1), (2, 5), (6, 11), (12, 17))
    found = [(problem.line, problem.what) for problem in corpus.problems]
    assert [line for line, _ in found] == [2, 5] and all("is not read" in what for _, what in found)
    assert len(read(tmp_path)) == 2  # the folder of an exported project


def test_an_annotation_over_two_sentences_is_reported(tmp_path: Path) -> None:
    changed = EXPORT.replace("_	_	_	_	*	cause	1-1[1_1]", "_	_	_	_	mild[3]	_	_")
    (tmp_path / "x").write_text(changed, encoding="utf-8")
    assert any("an annotation continues from the previous sentence" in problem.what for problem in read(tmp_path / "x").problems)


def test_offsets_in_characters_are_read_and_wrong_ones_drop_the_sentence(tmp_path: Path) -> None:
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=x.Y|value\n\n\n#Text=😀 hip\n"
    (tmp_path / "x").write_text(f"{head}1-1\t0-1\t😀\t_\n1-2\t2-5\thip\tB\n", encoding="utf-8")
    assert [entity.text for document in read(tmp_path / "x") for entity in document.entities] == ["hip"]
    (tmp_path / "x").write_text(f"{head}1-1\t0-1\t😀\t_\n1-2\t2-4\thip\tB\n", encoding="utf-8")
    with pytest.raises(AnynerError, match="x:5: the offsets of the tokens do not match the text"):
        read(tmp_path / "x")


def test_an_entity_inside_a_word_has_a_line_of_its_own(tmp_path: Path) -> None:
    write([Document("a_b 😀c", (Entity("x|y", ((2, 5),)),))], tmp_path / "x", "webanno")
    rows = (tmp_path / "x").read_text(encoding="utf-8").splitlines()[-5:]
    assert rows == [
        r"#Text=a\_b 😀c",
        "1-1\t0-3\ta\\_b\t_\t_",
        "1-1.1\t2-3\tb\t*[1]\tx\\|y[1]",
        "1-2\t4-7\t😀c\t_\t_",
        "1-2.1\t4-6\t😀\t*[1]\tx\\|y[1]",
    ]
    assert read(tmp_path / "x").documents[0].entities[0].key == ("x|y", ((2, 5),))
