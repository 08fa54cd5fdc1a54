"""A recognizer with random weights of a variance large enough to find many entities: nothing is trained or downloaded."""

from collections.abc import Callable

import pytest
import torch
from transformers import BertConfig

import anyner
from anyner.architectures.biaffine.config import Config
from anyner.architectures.biaffine.head import Head
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config, train_vocabulary
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import torch_recognizer
from anyner.model import NerModel
from anyner.text.config import TextConfig

LABELS = ("Body", "Disorder", "Person")

Build = Callable[..., Recognizer]


@pytest.fixture(scope="session")
def documents() -> tuple[Document, ...]:
    return synthetic(64, seed=9).documents


def _vocabulary() -> PieceVocabulary:
    return train_vocabulary([document.text for document in synthetic(150)], 600)


@pytest.fixture(scope="session")
def build() -> Build:
    vocabulary = _vocabulary()

    def built(positions: int = 128, head_type: type[Head] = Head, seed: int = 4, **text: object) -> Recognizer:
        torch.manual_seed(seed)
        bert = BertConfig(
            vocab_size=600,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=positions,
            initializer_range=0.2,
        )
        encoder = Encoder(EncoderConfig(pooling="first", lstm_layers=0), encoder_from_config(bert))
        head = head_type(Config(width=16), LABELS, encoder)
        torch.nn.init.normal_(head.span_scores.bilinear, std=1.2)
        with torch.no_grad():
            head.span_scores.linear.bias.fill_(-2.2)
            head.span_scores.length.weight += torch.linspace(1.0, -17.0, 64).clamp(min=-1.0)[:, None]
        config = ModelConfig(
            anyner_version=anyner.__version__,
            architecture="biaffine",
            head=head.config.model_dump(mode="json"),
            labels=LABELS,
            text=TextConfig.of(text, "text"),
            encoder=encoder.config,
            pretrained=bert.to_dict(),
            thresholds={"score": 0.4},
            overlap="all",
        )
        fresh = PieceVocabulary(vocabulary.tokenizer)
        return torch_recognizer(NerModel(encoder, head).eval(), fresh, config)

    return built


@pytest.fixture(scope="session")
def recognizer(build: Build) -> Recognizer:
    return build()
