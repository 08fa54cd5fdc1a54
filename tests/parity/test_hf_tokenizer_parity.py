"""Words tokenized one by one, with a cache, have the pieces that Hugging Face gives their plain forms in a whole sentence."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram
from tokenizers.pre_tokenizers import ByteLevel, Metaspace
from tokenizers.processors import ByteLevel as ByteLevelProcessor
from tokenizers.trainers import BpeTrainer, UnigramTrainer
from transformers import PreTrainedTokenizerFast

from anyner.corpora.synthetic import synthetic
from anyner.encoding.pieces import PieceVocabulary, plain_form
from anyner.encoding.pretrained import train_vocabulary

TEXTS = [document.text for document in synthetic(200)]


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = ByteLevelProcessor(trim_offsets=True)
    trainer = BpeTrainer(
        vocab_size=500, special_tokens=["<pad>", "<unk>"], initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def _unigram() -> Tokenizer:
    tokenizer = Tokenizer(Unigram())
    tokenizer.pre_tokenizer = Metaspace()
    trainer = UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


Pair = tuple[PieceVocabulary, PreTrainedTokenizerFast]


def _pair(tokenizer: Tokenizer) -> Pair:
    own = PieceVocabulary(Tokenizer.from_str(tokenizer.to_str()))
    return own, PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer.to_str()))


@pytest.fixture(scope="module", params=["wordpiece", "byte_level", "unigram"])
def pair(request: pytest.FixtureRequest) -> Pair:
    if request.param == "wordpiece":
        return _pair(train_vocabulary(TEXTS, 400).tokenizer)
    return _pair(_byte_level() if request.param == "byte_level" else _unigram())


def by_hugging_face(tokenizer: PreTrainedTokenizerFast, words: Sequence[str], unknown: int) -> list[tuple[int, ...]]:
    encoding = tokenizer(list(map(plain_form, words)), is_split_into_words=True, add_special_tokens=False)
    found: list[list[int]] = [[] for _ in words]
    for piece, word in zip(encoding["input_ids"], encoding.word_ids(), strict=True):
        found[word].append(piece)
    cut = [ids[:48] + ids[-16:] if len(ids) > 64 else ids for ids in found]
    return [tuple(ids) or (unknown,) for ids in cut]


def special_pieces(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return {token.content: number for number, token in tokenizer.added_tokens_decoder.items() if token.special}


def test_sentences_have_the_same_pieces(pair: Pair) -> None:
    own, theirs = pair
    compared = 0
    for text in TEXTS:
        words = text.split()
        assert own.cut(words) == by_hugging_face(theirs, words, own.frame.unknown)
        compared += len(words)
    assert compared > 1000


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs", "Z"]), min_size=1, max_size=12), min_size=1, max_size=6))
def test_any_words_have_the_same_pieces(pair: Pair, words: list[str]) -> None:
    own, theirs = pair
    words = ["".join(word.split()) or "a" for word in words]  # a word never holds white space
    assume(not any(token in word for word in words for token in special_pieces(theirs)))
    assert own.cut(words) == by_hugging_face(theirs, words, own.frame.unknown)


def test_a_special_piece_in_a_text_is_ordinary_text(pair: Pair) -> None:
    """Deliberately unlike Hugging Face: a text must not be able to control the encoder with special pieces."""
    own, theirs = pair
    reserved = set(special_pieces(theirs).values()) - {own.frame.unknown}
    assert reserved
    for token in special_pieces(theirs):
        for pieces in own.cut([token, f"x{token}y"]):
            assert pieces and not reserved & set(pieces)


def test_strange_words_have_the_same_pieces(pair: Pair) -> None:
    own, theirs = pair
    words = ["\x00", "knee", "\u200b", "👍🏽", "שלום", "العربية", "e\u0301", "x-" * 300, "\ufeff", "IL-2", "東京"]
    assert own.cut(words) == by_hugging_face(theirs, words, own.frame.unknown)
