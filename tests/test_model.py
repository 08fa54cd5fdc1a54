"""A model is an encoder and a head: the states of the one go to the other, whole or from kept pieces."""

import torch
from transformers import BertConfig

from anyner.architectures.biaffine.config import Config
from anyner.architectures.biaffine.head import Head
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, Options
from anyner.document import Document
from anyner.encoding.batch import Batch, training_batch
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder
from anyner.encoding.examples import Example
from anyner.encoding.pretrained import encoder_from_config, train_vocabulary
from anyner.model import NerModel
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import windows_of

TEXTS = ["Pain in the left knee", "the knee"]


def model_and_batch() -> tuple[NerModel, Batch]:
    torch.manual_seed(0)
    vocabulary = train_vocabulary(TEXTS * 3, 100)
    bert = BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    encoder = Encoder(EncoderConfig(pooling="first", lstm_layers=0), encoder_from_config(bert))
    model = NerModel(encoder, Head(Config(width=4), ("A", "B"), encoder)).eval()
    windows = [next(windows_of(Document(text), i, TextConfig(), 60, vocabulary.cut)) for i, text in enumerate(TEXTS)]
    gold = [WordEntity("B", ((1, 2),))]
    examples = [Example.of(window, gold, model.head.labels, None) for window in windows]
    return model, training_batch(examples, vocabulary.frame)


def test_proposals_are_the_heads_of_the_encoders_states() -> None:
    model, batch = model_and_batch()
    config = model.head.config
    decoding = Decoding(model.head.labels, {"score": 0.005}, "all", config, Options())
    with torch.inference_mode():
        found = model.propose(batch, decoding, Draw(0)).on_host()
        expected = model.head.propose(model.encoder(batch), decoding, Draw(0)).on_host()
    assert len(found["score"]) > 0
    assert found["place"].tolist() == expected["place"].tolist()
    assert found["score"].tolist() == expected["score"].tolist()


def test_the_head_keeps_no_weights_of_the_encoder() -> None:
    model, _ = model_and_batch()
    encoders = {id(parameter) for parameter in model.encoder.parameters()}
    assert not encoders & {id(parameter) for parameter in model.head.parameters()}
    assert model.head.labels == ("A", "B")
