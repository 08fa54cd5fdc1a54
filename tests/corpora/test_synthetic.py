from __future__ import annotations

import hashlib
import re
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora import synthetic as package
from anyner.corpora.corpus import Corpus
from anyner.corpora.inspection import inspect
from anyner.corpora.synthetic import synthetic
from anyner.corpora.synthetic.phrases import weave
from anyner.corpora.synthetic.words import Split, drugs, names, pairs, towns
from anyner.errors import InvalidInputError

LABELS = ("BodyPart", "Drug", "Organisation", "Person", "Place", "Symptom")
WORD = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*|[^\w\s]")


def surfaces(corpus: Corpus) -> list[tuple[str, str]]:
    return [(entity.label, entity.text.lower()) for document in corpus for entity in document.entities]


@pytest.mark.parametrize("contiguous", [False, True])
def test_same_arguments_same_corpus_and_other_seed_other_corpus(contiguous: bool) -> None:
    one = synthetic(50, seed=3, contiguous=contiguous)
    assert one == synthetic(50, seed=3, contiguous=contiguous)
    assert one.documents != synthetic(50, seed=4, contiguous=contiguous).documents
    assert one.documents == synthetic(80, seed=3, contiguous=contiguous).documents[:50]


HASHES = {
    (False, "train"): "6bf266bc8c412c37",
    (False, "dev"): "36316222d0bcc7ea",
    (False, "test"): "9c218283071abecd",
    (True, "train"): "11b811be859cca28",
    (True, "dev"): "9011f33fbb0cfea6",
    (True, "test"): "449c542f5403bbe2",
}


@pytest.mark.parametrize(("contiguous", "split"), HASHES)
def test_the_corpus_is_the_same_on_every_machine(contiguous: bool, split: Split) -> None:
    everything = "\n".join(str(document.to_json()) for document in synthetic(200, 0, contiguous, split))
    assert hashlib.sha256(everything.encode()).hexdigest()[:16] == HASHES[contiguous, split]


def test_sizes_and_ids() -> None:
    train, dev = synthetic(7, seed=1), synthetic(3, seed=1, split="dev")
    assert (len(train), len(dev)) == (7, 3)
    assert [document.id for document in dev] == [f"synthetic-dev-0000{n}" for n in (1, 2, 3)]
    assert all(document.words is None for document in train)
    assert len(synthetic(0)) == 0


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("contiguous", [False, True])
def test_labels_are_the_same_in_every_split(split: Split, contiguous: bool) -> None:
    assert synthetic(150, contiguous=contiguous, split=split).labels == LABELS


@pytest.mark.parametrize("contiguous", [False, True])
def test_most_test_entities_have_surface_forms_never_seen_in_a_large_train(contiguous: bool) -> None:
    seen = set(surfaces(synthetic(3_000, contiguous=contiguous)))
    for split in ("dev", "test"):
        asked = surfaces(synthetic(400, seed=5, contiguous=contiguous, split=split))
        assert sum(surface not in seen for surface in asked) / len(asked) >= 0.7


def test_no_combination_of_words_belongs_to_two_splits() -> None:
    lists = [("street starts", "street ends"), ("saints", "saint kinds"), ("surnames", "fund kinds"), ("sides", "sided parts")]
    lists += [("specialties", "department kinds"), ("qualities", "local symptoms"), ("states", "plural parts")]
    splits: tuple[Split, ...] = ("train", "dev", "test")
    pools_of = [[set(found(split)) for split in splits] for found in (names, towns, drugs)]
    for pools in [*pools_of, *([set(pairs(split, *two)) for split in splits] for two in lists)]:
        assert all(pools)
        assert sum(map(len, pools)) == len(set.union(*pools))


def test_the_words_of_test_are_mostly_words_of_train() -> None:
    known = {word.lower() for document in synthetic(1_500) for word in WORD.findall(document.text)}
    listed = [word.lower() for document in synthetic(300, split="test") for word in WORD.findall(document.text)]
    share = sum(word in known for word in listed) / len(listed)
    assert 0.85 < share < 1.0


def test_every_shape_is_present_in_the_full_corpus() -> None:
    found = inspect(synthetic(500, split="test"))
    assert found.nested > 0.3 * found.entities
    assert found.crossing > 0.1 * found.entities
    assert found.discontinuous > 0.05 * found.entities
    assert 0.05 < found.empty_documents / found.documents < 0.2


def test_the_contiguous_variant_is_flat_and_nested_only() -> None:
    found = inspect(synthetic(1_000, contiguous=True))
    assert (found.discontinuous, found.crossing, found.most_fragments) == (0, 0, 1)
    assert 0.3 * found.entities < found.nested < found.entities


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["train", "dev", "test"]))
def test_entities_sit_on_word_boundaries_of_sentences_of_ordinary_length(seed: int, contiguous: bool, split: Split) -> None:
    for document in synthetic(20, seed, contiguous, split):
        words = [match.span() for match in WORD.finditer(document.text)]
        starts, ends = {start for start, _ in words}, {end for _, end in words}
        assert 5 <= len(document.text.split()) <= 35
        assert document.text[0].isupper() and document.text[-1] in ".?!" and "  " not in document.text
        for start, end in (fragment for entity in document.entities for fragment in entity.fragments):
            assert start in starts and end in ends


@pytest.mark.parametrize("contiguous", [False, True])
def test_the_same_sentence_never_has_two_annotations(contiguous: bool) -> None:
    annotations = defaultdict(set)
    for document in synthetic(2_500, contiguous=contiguous):
        annotations[document.text].add(document.entities)
    assert all(len(found) == 1 for found in annotations.values())


def test_there_are_many_templates_and_every_one_is_used() -> None:
    file = Path(package.__file__).with_name("sentences.txt").read_text(encoding="utf-8")
    templates = [line for line in file[file.index("\n# ") :].splitlines() if line and not line.startswith("#")]
    assert len(set(templates)) == len(templates) >= 40
    texts = "\n".join(document.text for document in synthetic(4_000))
    for template in templates:
        pattern = ".+".join(re.escape(piece) for piece in re.split(r"\{[a-z:]+\}", template))
        assert re.search(f"^{pattern}$", texts, re.MULTILINE), template


def test_shared_words_make_discontinuous_entities() -> None:
    woven = weave(["pain in", "the hip", ",", "the jaw", "and", "the knees"], ("S", (0, 1)), ("S", (0, 3)), ("S", (0, 5)))
    assert woven.text == "pain in the hip, the jaw and the knees"
    assert [fragments for _, fragments in woven.marks] == [((0, 15),), ((0, 7), (17, 24)), ((0, 7), (29, 38))]


def test_five_thousand_sentences_take_a_moment() -> None:
    began = time.process_time()
    synthetic(5_000)
    assert time.process_time() - began < 4


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="-1"):
        synthetic(-1)
    with pytest.raises(InvalidInputError, match="'valid'"):
        synthetic(1, split="valid")  # type: ignore[arg-type]
