"""With every word feature on, a prediction still depends on nothing but its document."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from same_entities import assert_same, keys

from anyner.corpora.wordform import words_of
from anyner.document import Document
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import new_encoder
from anyner.inference.recognizer import Recognizer
from anyner.model import NerModel
from anyner.text.words import iterate_words


def tagged(documents: Sequence[Document]) -> list[Document]:
    """Given words, each with a tag of its own first letter."""
    found = []
    for document in documents:
        words = tuple(iterate_words(document.text, "unicode"))
        given = Document(document.text, words=words)
        found.append(replace(given, pos=tuple(word[0] for word in words_of(given))))
    return found


@pytest.fixture(scope="module")
def given_documents(documents: tuple[Document, ...]) -> list[Document]:
    return tagged(documents)


@pytest.fixture(scope="module")
def featured(build: object, given_documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Recognizer:
    plain: Recognizer = build(words="given")  # type: ignore[operator]
    torch.manual_seed(5)
    vectors = tmp_path_factory.mktemp("vectors") / "v.txt"
    words = sorted({word for document in given_documents for word in words_of(document)})[::2]
    vectors.write_text("".join(f"{w} {' '.join(map(str, torch.randn(6).tolist()))}\n" for w in words), encoding="utf-8")
    features = {"shapes": 12, "pos": 6, "vectors": str(vectors)}
    config = EncoderConfig.of({"features": features, "lstm_layers": 1}, "encoder")
    encoder = new_encoder(config, plain.model.encoder.pretrained, given_documents, plain.config.text)
    for parameter in encoder.word_layer.parameters():
        torch.nn.init.normal_(parameter, std=1.0)
    model = NerModel(encoder, plain.model.head).eval()
    return Recognizer(model, plain.vocabulary, plain.config.model_copy(update={"encoder": config}))


def test_batches_and_order_change_nothing(featured: Recognizer, given_documents: list[Document]) -> None:
    predicted = featured.predict(given_documents)
    assert sum(len(document.entities) for document in predicted) > 50
    assert [document.pos for document in predicted] == [document.pos for document in given_documents]
    for batch_tokens in (1, 64, 500):
        assert_same(featured.predict(given_documents, batch_tokens=batch_tokens), predicted)
    order = random.Random(0).sample(range(len(predicted)), len(predicted))
    found = featured.predict([given_documents[i] for i in order], batch_tokens=300)
    assert_same(found, [predicted[i] for i in order])


def test_tags_are_read_where_there_are_any(featured: Recognizer, given_documents: list[Document]) -> None:
    bare = [replace(document, pos=None) for document in given_documents]
    with_tags, without = featured.predict(given_documents), featured.predict(bare)
    assert [keys(document) for document in with_tags] != [keys(document) for document in without]
    assert isinstance(featured.predict("Pain in the left knee."), Document)  # raw text has no tags and is read all the same
