"""Four sentences with entities of all shapes can be overfitted, and their entities are found in far longer texts."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from overfitting import Learned, overfit

from anyner.document import Document, Entity
from anyner.evaluation.evaluate import evaluate_documents


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Learned:
    folder: Path = tmp_path_factory.mktemp("learned")
    return overfit(folder, "nag_ner", {"layers": 1, "span_classifier": {"width": 0}}, epochs=16, contiguous=False)


def in_one_text(documents: Sequence[Document]) -> Document:
    text, entities = "", []
    for document in documents:
        offset = len(text)
        for entity in document.entities:
            fragments = tuple((start + offset, end + offset) for start, end in entity.fragments)
            entities.append(Entity(entity.label, fragments))
        text += document.text + " "
    return Document(text, tuple(entities))


def test_four_sentences_of_all_shapes_can_be_overfitted(learned: Learned) -> None:
    assert learned.best_f1 == 1.0
    found = learned.recognizer.predict([document.text for document in learned.documents])
    assert evaluate_documents(learned.documents, found).strict.f1 == 1.0


@pytest.mark.parametrize(("sentences", "windows", "least_words"), [(20, 1, 290), (34, 2, 400), (62, 3, 700)])
def test_long_texts_are_read_whole(learned: Learned, sentences: int, windows: int, least_words: int) -> None:
    """The paper names long inputs as a limitation. A model trained on single sentences is worse there, but not useless."""
    text = in_one_text((learned.documents * 16)[:sentences])
    read = learned.recognizer.windows([text])
    words = [word for window in read for word in window.words]
    assert len(read) == windows
    assert len(words) >= least_words
    found = learned.recognizer.predict(text.text)
    assert found.coverage == 1.0
    known = set(words)
    assert all(piece in known for entity in found.entities for piece in entity.text.split() if piece.isalpha())
    score = evaluate_documents([text], [found]).strict
    assert score.correct >= 0.25 * score.gold
    late = [entity for entity in found.entities if entity.start > 0.8 * len(text.text)]
    assert late
