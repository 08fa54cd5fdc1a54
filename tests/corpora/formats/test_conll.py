from __future__ import annotations

from pathlib import Path

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError


def _read(tmp_path: Path, text: str) -> Corpus:
    path = tmp_path / "corpus.conll"
    path.write_bytes(text.encode())
    return read(path, "conll")


def _tagged(*tags: str) -> str:
    return "".join(f"w{place} X {tag}\n" for place, tag in enumerate(tags)) + "\n"


def _found(document: Document) -> list[tuple[str, str]]:
    return [(entity.label, entity.text) for entity in document.entities]


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["B-P", "I-P", "O", "B-P", "B-P"], [("P", "w0 w1"), ("P", "w3"), ("P", "w4")]),
        (["I-P", "I-P", "B-P", "O", "I-L"], [("P", "w0 w1"), ("P", "w2"), ("L", "w4")]),  # IOB1
        (["I-P", "I-L", "I-L"], [("P", "w0"), ("L", "w1 w2")]),  # IOB1
        (["B-P", "I-P", "E-P", "S-P", "B-L", "E-L"], [("P", "w0 w1 w2"), ("P", "w3"), ("L", "w4 w5")]),
        (["B-P", "M-P", "E-P", "S-L"], [("P", "w0 w1 w2"), ("L", "w3")]),  # BMES
        (["B-P", "I-P", "L-P", "U-L", "O"], [("P", "w0 w1 w2"), ("L", "w3")]),  # BILOU
        (["B-a-b", "I-a-b"], [("a-b", "w0 w1")]),
        (["O", "O"], []),
    ],
)
def test_schemes_are_detected(tmp_path: Path, tags: list[str], found: list[tuple[str, str]]) -> None:
    corpus = _read(tmp_path, _tagged(*tags))
    assert _found(corpus.documents[0]) == found
    assert corpus.problems == ()


def test_the_scheme_is_that_of_the_whole_file(tmp_path: Path) -> None:
    # On its own the second sentence would be IOB1; the first one shows that B- opens every entity here.
    corpus = _read(tmp_path, _tagged("B-P", "O") + _tagged("O", "I-P", "I-P"))
    assert _found(corpus.documents[1]) == [("P", "w1 w2")]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (5, True)
    assert "IOB2" in problem.what


@pytest.mark.parametrize(
    ("tags", "found", "lines"),
    [
        (["B-P", "I-L", "O"], [("P", "w0"), ("L", "w1")], [2]),
        (["B-P", "O", "S-L"], [("P", "w0"), ("L", "w2")], [1]),
        (["E-P", "S-L"], [("P", "w0"), ("L", "w1")], [1]),
        (["S-L", "I-P", "E-P"], [("L", "w0"), ("P", "w1 w2")], [2]),
        (["S-L", "B-P"], [("L", "w0"), ("P", "w1")], [2]),
        (["B-P", "E-P", "I-P", "E-P", "O"], [("P", "w0 w1"), ("P", "w2 w3")], [3]),
    ],
)
def test_entities_against_the_scheme_are_kept_and_reported(
    tmp_path: Path, tags: list[str], found: list[tuple[str, str]], lines: list[int]
) -> None:
    corpus = _read(tmp_path, _tagged(*tags))
    assert _found(corpus.documents[0]) == found
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(line, True) for line in lines]


def test_malformed_lines(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "a\tB-P\nb\tX-P\nc\n\tO\nd\tB-\ne\to\n\nf\tO\n")
    assert [document.text for document in corpus] == ["a b c d e", "f"]
    assert _found(corpus.documents[0]) == [("P", "a")]
    assert [(p.line, p.kept) for p in corpus.problems] == [(2, False), (3, True), (4, False), (5, False), (6, False)]


def test_labels_without_a_prefix_are_reported(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "# newdoc\nAngela PER\nMerkel PER\nmet O\nSiemens ORG\nBerlin LOC\n\nBern LOC\n")
    assert [_found(document) for document in corpus] == [
        [("PER", "Angela Merkel"), ("ORG", "Siemens"), ("LOC", "Berlin")],
        [("LOC", "Bern")],
    ]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(1, True)]


def test_a_column_that_counts_the_words_is_not_the_words(tmp_path: Path) -> None:
    text = "# text\n1\tAngela\tX\tB-PER\n2-3\tdel\t_\t_\n2\tde\tX\tO\n3\tel\tX\tO\n\n1\tBern\tX\tB-LOC\n"
    corpus = _read(tmp_path, text)
    assert [document.text for document in corpus] == ["Angela de el", "Bern"]
    assert [_found(document) for document in corpus] == [[("PER", "Angela")], [("LOC", "Bern")]]
    assert corpus.problems == ()
    years = _read(tmp_path, "1 X O\n1984 X B-DATE\n")
    assert years.documents[0].text == "1 1984"


def test_document_starts_give_doc_and_sentence(tmp_path: Path) -> None:
    start = "-DOCSTART- -X- O O\n"
    corpus = _read(tmp_path, start + "\na O\n\n\n\nb O\n\n" + start + "c O\n")
    assert [(d.text, d.doc, d.sentence) for d in corpus] == [("a", "corpus-1", 0), ("b", "corpus-1", 1), ("c", "corpus-2", 0)]


def test_without_document_starts_there_is_no_doc(tmp_path: Path) -> None:
    (document,) = _read(tmp_path, "a O\n")
    assert (document.doc, document.sentence) == (None, None)


def test_crlf_byte_order_mark_blanks_and_comments(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "\ufeff# id 7 domain=en\r\nKofi  NNP\t \tB-P\r\n#\tO\r\n \r\nnew york\tB-L\r\n")
    assert [document.text for document in corpus] == ["Kofi  NNP #", "new york"]
    assert corpus.problems == ()
    tabs = _read(tmp_path, "# id 7\tdomain=en\nKofi _ _ B-P\nspoke _ _ O\n")
    assert [document.text for document in tabs] == ["Kofi spoke"] and tabs.problems == ()
    spaced = _read(tmp_path, "Kofi   NNP  B-P  \r\nAnnan NNP I-P\r\n")
    assert _found(spaced.documents[0]) == [("P", "Kofi Annan")]


def test_a_file_without_a_tag_column(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"corpus\.conll:1: tag 'NN' is malformed.*no line ends in a tag"):
        _read(tmp_path, "a NN\nb VB\n")


def test_written_sentences_keep_their_larger_documents_apart(tmp_path: Path) -> None:
    places = [(None, None), ("x", 0), ("x", 1), ("x", 5), ("y", 6), (None, None), (None, None)]
    documents = [Document.from_words(["a"], doc=doc, sentence=place) for doc, place in places]
    write(documents, tmp_path / "c.conll", "conll")
    back = read(tmp_path / "c.conll")
    one_each = [(f"c-{number}", 0) for number in (2, 3, 4, 5)]
    assert [(d.doc, d.sentence) for d in back] == [(None, None), ("c-1", 0), ("c-1", 1), *one_each]


def test_lossy_keeps_the_outer_entity_and_reports_the_inner_ones(tmp_path: Path) -> None:
    entities = [Entity("OUT", ((0, 3),)), Entity("IN", ((1, 2),)), Entity("GAP", ((3, 4), (5, 6))), Entity("END", ((5, 6),))]
    document = Document.from_words(list("abcdef"), entities)
    lost = write([document], tmp_path / "c.conll", "conll", lossy=True)
    assert _found(read(tmp_path / "c.conll").documents[0]) == [("OUT", "a b c"), ("END", "f")]
    assert [("'IN'" in p.what, "'GAP'" in p.what, p.kept) for p in lost] == [(True, False, False), (False, True, False)]


def test_a_word_with_a_number_sign_is_not_a_comment(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "#begin document x\nAspirin B-Drug\n#1 GENE\nhelps O\n")
    assert [document.text for document in corpus] == ["Aspirin #1 helps"]
    (problem,) = corpus.problems
    assert problem.line == 3 and "malformed" in problem.what


@pytest.mark.parametrize("text", ["B-PER\nI-PER\n\nO\n", "O O O B-PER\nO B-LOC\n"])
def test_tags_without_words_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tags.conll").write_text(text)
    with pytest.raises(AnynerError, match="has only tags, no words"):
        read(tmp_path / "tags.conll")
    (tmp_path / "words.conll").write_text("O\tB-PER\n")  # a word may look like a tag
    assert read(tmp_path / "words.conll").documents[0].text == "O"
