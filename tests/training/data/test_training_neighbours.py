"""Whether documents follow one another in larger texts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from anyner.document import Document
from anyner.text.config import TextConfig
from anyner.training.data.neighbours import follow_one_another

TEXT = TextConfig()


def stories(sentences: int, words: int = 8) -> list[Document]:
    """Sentences of which ten at a time are about the same few things."""
    drawn, made = random.Random(0), list[Document]()
    for number in range(sentences):
        about = f"hero{number // 10}"
        made.append(Document(" ".join([about, *(f"word{drawn.randrange(5000)}" for _ in range(words))])))
    return made


def test_sentences_of_stories_follow_one_another_and_shuffled_ones_do_not() -> None:
    documents = stories(2000)
    assert follow_one_another(documents, TEXT)
    random.Random(1).shuffle(documents)
    assert not follow_one_another(documents, TEXT)


@pytest.mark.parametrize("words", [8, 300])
def test_few_or_long_texts_and_those_with_a_source_are_left_together(words: int) -> None:
    documents = stories(2000, words)
    random.Random(1).shuffle(documents)
    assert follow_one_another(documents[:900], TEXT), "too few to tell"
    assert follow_one_another(documents, TEXT) == (words > 100)
    assert follow_one_another([*documents, replace(documents[0], doc="a")], TEXT)


def test_texts_without_words_are_left_together() -> None:
    assert follow_one_another([Document("...")] * 1000, TEXT)
