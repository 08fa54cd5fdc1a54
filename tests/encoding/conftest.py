"""Tiny encoders of every kind with random weights, and vocabularies trained on the fly: nothing is downloaded."""

from collections.abc import Sequence

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram
from tokenizers.pre_tokenizers import ByteLevel, Metaspace
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer, UnigramTrainer
from transformers import (
    AlbertConfig,
    BartConfig,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    RobertaConfig,
    T5Config,
)

from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import train_vocabulary
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

SIZE = 160


def texts() -> list[str]:
    return [document.text for document in synthetic(150)]


def framed(tokenizer: Tokenizer, template: str, specials: Sequence[str]) -> PieceVocabulary:
    known = [(token, tokenizer.token_to_id(token)) for token in specials]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=known)
    return PieceVocabulary(tokenizer)


@pytest.fixture(scope="session")
def wordpiece() -> PieceVocabulary:
    return train_vocabulary(texts(), SIZE)


@pytest.fixture(scope="session")
def byte_bpe() -> PieceVocabulary:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        texts(),
        BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=ByteLevel.alphabet(), show_progress=False),
    )
    return framed(tokenizer, "<s> $A </s>", ["<s>", "</s>"])


@pytest.fixture(scope="session")
def unigram() -> PieceVocabulary:
    tokenizer = Tokenizer(Unigram())
    tokenizer.pre_tokenizer = Metaspace()
    trainer = UnigramTrainer(vocab_size=SIZE, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    return framed(tokenizer, "$A </s>", ["</s>"])


_SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 330}

CONFIGS: dict[str, PreTrainedConfig] = {
    "bert": BertConfig(**_SMALL, max_position_embeddings=64),
    "roberta": RobertaConfig(**_SMALL, max_position_embeddings=66, pad_token_id=1),
    "mpnet": MPNetConfig(**_SMALL, max_position_embeddings=66, pad_token_id=1),
    "modernbert": ModernBertConfig(
        **_SMALL, max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2
    ),
    "distilbert": DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=32, vocab_size=330, max_position_embeddings=64),
    "albert": AlbertConfig(**_SMALL, embedding_size=8, max_position_embeddings=64),
    "deberta": DebertaV2Config(
        **_SMALL,
        max_position_embeddings=64,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["c2p", "p2c"],
    ),
    "t5": T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, vocab_size=330, decoder_start_token_id=0),
    "bart": BartConfig(
        d_model=16,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        vocab_size=330,
        max_position_embeddings=64,
    ),
}


@pytest.fixture(params=sorted(CONFIGS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def config(kind: str) -> PreTrainedConfig:
    torch.manual_seed(0)
    return CONFIGS[kind]


@pytest.fixture
def vocabulary(kind: str, request: pytest.FixtureRequest) -> PieceVocabulary:
    """A vocabulary of the sort this kind of encoder comes with."""
    sort = {"roberta": "byte_bpe", "bart": "byte_bpe", "modernbert": "byte_bpe", "mpnet": "byte_bpe", "t5": "unigram"}
    found: PieceVocabulary = request.getfixturevalue(sort.get(kind, "wordpiece"))
    return found


@pytest.fixture
def windows(vocabulary: PieceVocabulary) -> list[Window]:
    """Four windows of different lengths, one of a single word."""
    chosen = ["Pain in the left knee and the hip.", "Yes", "Dr. Smith saw 12 patients in Cairo, and left.", "a b c"]
    return [next(windows_of(Document(text), i, TextConfig(), 60, vocabulary.cut)) for i, text in enumerate(chosen)]
