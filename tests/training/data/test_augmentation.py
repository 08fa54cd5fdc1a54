"""Coordination augmentation: the new text has the new entities, all others stay, and a seed gives the same sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.text.config import TextConfig
from anyner.training.config import DataConfig
from anyner.training.data.augmentation import augmented
from anyner.training.data.splits import read_data

GIVEN = TextConfig(words="given")


@pytest.fixture(autouse=True, scope="module")
def one_conjunction() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anyner.training.data.augmentation._CONJUNCTIONS", ("and",))
        yield


def augment(documents: Sequence[Document], share: float, seed: int, text: TextConfig = GIVEN) -> tuple[Document, ...]:
    return augmented(documents, share, text, seed)


def sentence(text: str, *entities: tuple[str, str]) -> Document:
    """Words separated by blanks; an entity is its label and its words, which occur once."""
    words = text.split()
    placed = []
    for label, own in entities:
        start = next(i for i in range(len(words)) if words[i : i + len(own.split())] == own.split())
        placed.append(Entity(label, ((start, start + len(own.split())),)))
    return Document.from_words(words, placed)


def texts(documents: Sequence[Document]) -> set[tuple[str, frozenset[tuple[str, str, bool]]]]:
    return {(one.text, frozenset((e.label, e.text, e.discontinuous) for e in one.entities)) for one in documents}


def augmented_from(*documents: Document, share: float = 9.0) -> set[tuple[str, frozenset[tuple[str, str, bool]]]]:
    return set().union(*(texts(augment(documents, share, seed)) for seed in range(150)))


def test_two_that_end_alike_share_their_end() -> None:
    one = sentence("the red gene works", ("DNA", "red gene"))
    other = sentence("a blue gene", ("DNA", "blue gene"))
    assert augmented_from(one, other) == {
        ("the red and blue gene works", frozenset({("DNA", "red gene", True), ("DNA", "blue gene", False)})),
        ("a blue and red gene", frozenset({("DNA", "blue gene", True), ("DNA", "red gene", False)})),
    }


def test_two_that_begin_alike_share_their_beginning() -> None:
    one = sentence("pain in hips since May", ("Symptom", "pain in hips"))
    other = sentence("pain in both knees", ("Symptom", "pain in both knees"))
    assert augmented_from(one, other) == {
        ("pain in both knees and hips", frozenset({("Symptom", "pain in both knees", False), ("Symptom", "pain in hips", True)})),
    }, "the longer one stands first"


def test_often_more_than_one_word_is_shared() -> None:
    """Otherwise a model would learn to skip from the gap to the last word."""
    pairs = [(colour, kind) for colour in ("red", "blue", "new") for kind in ("T", "B", "mast", "nerve", "stem", "germ")]
    documents = [sentence(f"{a} {b} cells", ("cell", f"{a} {b} cells")) for a, b in pairs]
    new = [one for seed in range(40) for one in augment(documents, 1.0, seed)]
    tails = [one.text[slice(*e.fragments[-1])] for one in new for e in one.entities if e.discontinuous]
    longer = sum(" " in tail for tail in tails) / len(tails)
    assert 0.35 < longer < 0.75


def test_three_can_be_coordinated() -> None:
    found = augmented_from(*(sentence(f"{colour} gene", ("DNA", f"{colour} gene")) for colour in ("red", "blue", "green")))
    three = {text: entities for text, entities in found if "," in text}
    assert three["red , blue and green gene"] == {
        ("DNA", "red gene", True),
        ("DNA", "blue gene", True),
        ("DNA", "green gene", False),
    }


def test_coordinations_have_two_to_six_conjuncts() -> None:
    colours = ("red", "blue", "green", "brown", "black", "white", "grey", "pink")
    documents = [sentence(f"{colour} gene", ("DNA", f"{colour} gene")) for colour in colours]
    new = [one for seed in range(60) for one in augment(documents, 1.0, seed)]
    sizes = Counter(len(one.entities) for one in new)
    assert set(sizes) == set(range(2, 7))
    assert 0.15 < 1 - sizes[2] / len(new) < 0.35
    assert all(one.text.count(",") == len(one.entities) - 2 for one in new)


def test_what_lies_inside_a_partner_comes_with_it_and_what_stands_behind_moves() -> None:
    one = sentence("dark red gene in T cells", ("DNA", "dark red gene"), ("cell", "T cells"))
    other = sentence("blue factor gene", ("DNA", "blue factor gene"), ("protein", "blue factor"))
    entities = next(own for text, own in augmented_from(one, other) if text == "dark red and blue factor gene in T cells")
    assert entities == {
        ("DNA", "dark red gene", True),
        ("DNA", "blue factor gene", False),
        ("protein", "blue factor", False),
        ("cell", "T cells", False),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (sentence("red gene", ("DNA", "red gene")), sentence("blue gene", ("RNA", "blue gene"))),  # another label
        (sentence("red gene", ("DNA", "red gene")), sentence("gene", ("DNA", "gene"))),  # nothing of its own
        (  # what lies inside may be of a label that the other does not annotate
            sentence("red gene", ("DNA", "red gene")),
            replace(sentence("blue gene", ("DNA", "blue gene")), labels=frozenset({"DNA"})),
        ),
        (
            sentence("red gene", ("DNA", "red gene")),
            sentence("new blue gene map gene", ("DNA", "new blue gene map gene")),
        ),  # longer
        (sentence("red 2", ("DNA", "red 2")), sentence("blue 2", ("DNA", "blue 2"))),  # a number is a name
    ],
)
def test_what_does_not_fit_is_left_alone(one: Document, other: Document) -> None:
    assert augmented_from(one, other) == set()


def test_no_other_entity_is_torn_and_none_loses_its_words() -> None:
    torn = sentence("red gene map", ("DNA", "red gene"), ("DNA", "red gene map"))
    lost = sentence("blue gene", ("DNA", "blue gene"), ("DNA", "gene"))
    entities = frozenset({("DNA", "blue gene", True), ("DNA", "gene", False), ("DNA", "red gene", False)})
    assert augmented_from(torn, lost) == {("blue and red gene", entities)}


@given(st.integers(0, 100), st.floats(0.05, 0.6))
def test_sentences_of_the_corpus_stay_whole(seed: int, share: float) -> None:
    documents = synthetic(60, seed).documents
    new = augment(documents, share, seed, text=TextConfig())
    assert len(new) <= round(share * len(documents))
    assert new == augment(documents, share, seed, text=TextConfig())
    originals = {" ".join(one.text.split()) for one in documents}
    for one in new:
        assert one.text not in originals
        assert any(entity.discontinuous for entity in one.entities)
        assert one.id.endswith("+")


def test_a_recipe_turns_it_on() -> None:
    plain = {"synthetic": {"sentences": 80}}
    before = read_data(DataConfig.model_validate(plain), TextConfig())
    after = read_data(DataConfig.model_validate({**plain, "augmentation": 0.25}), TextConfig())
    assert before.augmented == 0 < after.augmented <= 20
    assert after.train[: len(before.train)] == before.train
    assert len(after.train) == len(before.train) + after.augmented
    assert after.dev == before.dev
