"""A model that works in steps: random weights, nothing is trained."""

from __future__ import annotations

import anyner
from anyner.inference.recognizer import Recognizer

STEPS = 3


def step_recognizer() -> Recognizer:
    import torch
    from transformers import BertConfig

    from anyner.architectures.diffusion_ner.config import Config
    from anyner.architectures.diffusion_ner.head import Head
    from anyner.corpora.synthetic import synthetic
    from anyner.encoding.config import EncoderConfig
    from anyner.encoding.encoder import Encoder
    from anyner.encoding.pretrained import encoder_from_config, train_vocabulary
    from anyner.inference.config import ModelConfig
    from anyner.inference.torch_runtime import torch_recognizer
    from anyner.model import NerModel
    from anyner.text.config import TextConfig

    torch.manual_seed(4)
    bert = BertConfig(
        vocab_size=600, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, initializer_range=0.2
    )
    encoder = Encoder(EncoderConfig(pooling="first", lstm_layers=0), encoder_from_config(bert))
    settings = Config.of({"width": 16, "segment_words": 0, "fragments": False, "span_classifier": {"width": 0}}, "head")
    head = Head(settings, ("Part", "Whole"), encoder)
    config = ModelConfig(
        anyner_version=anyner.__version__,
        architecture="diffusion_ner",
        head=head.config.model_dump(mode="json"),
        labels=("Part", "Whole"),
        text=TextConfig(),
        encoder=encoder.config,
        pretrained=bert.to_dict(),
        thresholds={"score": 0.1},
        overlap="all",
        options={"steps": STEPS, "spans": 6, "voting": False},
    )
    vocabulary = train_vocabulary([document.text for document in synthetic(50)], 600)
    return torch_recognizer(NerModel(encoder, head).eval(), vocabulary, config)
