"""Words become pieces one by one: none loses its place, none grows without bound, and their cache is bounded."""

import json
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer
from tokenizers.pre_tokenizers import Split

from anyner.encoding import pieces as pieces_module
from anyner.encoding.pieces import PieceVocabulary, Shortened, plain_form
from anyner.encoding.pretrained import train_vocabulary
from anyner.errors import AnynerError

STRANGE = ["\x00", "\x01\x02", "\u200b", "\u200d\u200c", "\ufeff", "\u00ad", "\x7f", "\u202e"]


@pytest.fixture(params=["wordpiece", "byte_bpe", "unigram"])
def any_vocabulary(request: pytest.FixtureRequest) -> PieceVocabulary:
    found: PieceVocabulary = request.getfixturevalue(request.param)
    return PieceVocabulary(found.tokenizer, found.frame.pad, found.frame.unknown)


def test_a_word_has_the_pieces_it_has_alone(any_vocabulary: PieceVocabulary) -> None:
    words = ["Pain", "knee", "IL-2", "knee", "don't", "4.1", "ß", "東", "👍🏽", "العربية"]
    cut = any_vocabulary.cut(words)
    alone = [tuple(any_vocabulary.tokenizer.encode(" " + word, add_special_tokens=False).ids) for word in words]
    assert cut == alone
    assert any_vocabulary.cut(list(reversed(words))) == alone[::-1]


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp"]), min_size=1), max_size=5))
def test_every_word_keeps_its_place(words: list[str], wordpiece: PieceVocabulary) -> None:
    cut = wordpiece.cut(words)
    assert len(cut) == len(words)
    assert all(1 <= len(pieces) <= 64 for pieces in cut)


@pytest.mark.parametrize("strange", STRANGE)
def test_words_without_pieces_become_the_unknown_piece(wordpiece: PieceVocabulary, strange: str) -> None:
    before, middle, after = wordpiece.cut(["knee", strange, "pain"])
    assert [before, after] == wordpiece.cut(["knee", "pain"])
    if not wordpiece.tokenizer.encode(" " + strange, add_special_tokens=False).ids:
        assert middle == (wordpiece.frame.unknown,)
    assert len(middle) >= 1


def test_some_words_have_no_piece_at_all(wordpiece: PieceVocabulary) -> None:
    empty = [word for word in STRANGE if not wordpiece.tokenizer.encode(" " + word, add_special_tokens=False).ids]
    assert "\x00" in empty
    assert "\u200b" in empty
    assert wordpiece.cut(empty) == [(wordpiece.tokenizer.token_to_id("[UNK]"),)] * len(empty)


def test_a_word_of_ten_thousand_characters_is_shortened_and_listed(any_vocabulary: PieceVocabulary) -> None:
    long = "x-" * 5000
    short = "x-" * 16
    (pieces, other) = any_vocabulary.cut([long, short])
    whole = any_vocabulary.tokenizer.encode(" " + long, add_special_tokens=False).ids
    assert len(whole) > 64
    assert pieces == tuple(whole[:48] + whole[-16:])
    assert isinstance(pieces, Shortened) and not isinstance(other, Shortened)
    assert len(other) <= 64


def test_a_word_of_exactly_the_most_pieces_stays_whole(wordpiece: PieceVocabulary) -> None:
    fresh = PieceVocabulary(wordpiece.tokenizer)
    (whole,) = fresh.cut(["-" * 64])
    assert len(whole) == 64 and not isinstance(whole, Shortened)
    for _ in range(2):  # also when it comes again
        (pieces,) = fresh.cut(["-" * 65])
        assert len(pieces) == 64 and isinstance(pieces, Shortened)


def test_no_more_words_are_cached_than_allowed(wordpiece: PieceVocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "_CACHED_WORDS", 50)
    fresh, free = PieceVocabulary(wordpiece.tokenizer), PieceVocabulary(wordpiece.tokenizer)
    for start in range(0, 400, 20):
        words = [f"w{number}" for number in range(start, start + 25)] + ["knee", "-" * (70 + start)]
        assert fresh.cut(words) == [tuple(ids) if len(ids) <= 64 else ids[:48] + ids[-16:] for ids in free.cut(words)]
        assert len(fresh._known) <= 50
    many = [f"v{number}" for number in range(120)]  # one call may need more than are remembered
    assert fresh.cut(many) == free.cut(many)


# --- very long words -------------------------------------------------------------------------------------------------


class Counting:
    """A tokenizer that counts the characters it gets."""

    def __init__(self, vocabulary: PieceVocabulary) -> None:
        self.tokenizer, self.characters = vocabulary.tokenizer, 0

    def encode_batch(self, words: list[str], add_special_tokens: bool) -> object:
        self.characters += sum(map(len, words))
        return self.tokenizer.encode_batch(words, add_special_tokens=add_special_tokens)


@pytest.mark.parametrize("unit", ["a", "ส", "한", "a.", "1,", "x-", "\u0301", "Ａ", "a\u200b", "/a(b)"])
def test_the_tokenizer_gets_no_more_of_a_word_than_it_needs(any_vocabulary: PieceVocabulary, unit: str) -> None:
    counting = Counting(any_vocabulary)
    any_vocabulary.tokenizer = counting
    word = (unit * 300_000)[:300_000]
    (pieces,) = any_vocabulary.cut([word])
    assert 1 <= len(pieces) <= 64
    assert counting.characters <= 4 * 1024
    assert isinstance(pieces, Shortened)


@pytest.mark.parametrize("length", [99, 100, 101, 500, 1023, 1024])
def test_words_up_to_a_thousand_characters_are_not_abridged(any_vocabulary: PieceVocabulary, length: int) -> None:
    word = ("Pain-in-the-knee/" * length)[:length]
    whole = any_vocabulary.tokenizer.encode(" " + word, add_special_tokens=False).ids
    assert any_vocabulary.cut([word]) == [tuple(whole if len(whole) <= 64 else whole[:48] + whole[-16:])]


def test_long_words_are_not_cached(any_vocabulary: PieceVocabulary) -> None:
    words = ["a" * 100, "a" * 101, "knee", "-" * 80, "b-" * 500_000]
    first = any_vocabulary.cut(words)
    assert set(any_vocabulary._known) <= {"a" * 100, "knee", "-" * 80}
    assert "knee" in any_vocabulary._known
    assert any_vocabulary.cut(words) == first


def test_a_panic_of_the_tokenizer_is_one_line_and_does_not_spoil_it(wordpiece: PieceVocabulary) -> None:
    tokenizer = Tokenizer.from_str(wordpiece.tokenizer.to_str())
    tokenizer.pre_tokenizer = Split(Regex("(a+)+$X"), "isolated")
    vocabulary = PieceVocabulary(tokenizer)
    with pytest.raises(AnynerError, match=r"^the tokenizer fails on the text: .*retry-limit") as caught:
        vocabulary.cut(["knee", "a" * 40])
    assert "\n" not in str(caught.value)
    assert len(vocabulary.cut(["knee"])) == 1


# --- plain forms -----------------------------------------------------------------------------------------------------

HIDDEN = [
    ("Ange\u200bla", "Angela"),
    ("Ange\ufeffla", "Angela"),
    ("Ange\u2060\u200bla", "Angela"),
    ("An\u200dge\u200cla", "Angela"),
    ("An\u200b\u200dgela", "Angela"),
    ("Ａｎｇｅｌａ", "Angela"),
    ("Ｊｅａｎ－Ｐａｕｌ", "Jean-Paul"),
    ("Ａ\u200dｎｎａ", "Anna"),
    ("ｅ\u0301", "é"),
    ("２０２４", "2024"),
    ("Mün\u00adchen", "München"),
    ("Mu\u0308nchen", "München"),
    ("Мос\u200dква", "Москва"),
    ("𝐁𝐞𝐫𝐥𝐢𝐧", "Berlin"),
    ("Paciﬁc", "Pacific"),
    ("ｶﾞｽ", "ガス"),
]
UNCHANGED = [
    *("knee", "[SEP]", "München", "m²", "½", "™", "…", "№", "ª", "´", "ﷺ", "，", "（", "！", "東京，大阪", "ℝ", "㈱"),
    *(
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧",
        "❤\ufe0f",
        "\u200b",
        "\u00ad",
        "\ufeff\u200b",
        "\u200d\u200c",
        "a\u200d",
    ),
]


@pytest.mark.parametrize(("word", "plain"), HIDDEN)
def test_a_hidden_name_has_the_pieces_of_the_plain_one(any_vocabulary: PieceVocabulary, word: str, plain: str) -> None:
    assert plain_form(word) == plain
    if any_vocabulary.frame.unknown not in any_vocabulary.cut([plain])[0]:
        assert any_vocabulary.cut([word]) == any_vocabulary.cut([plain])


@pytest.mark.parametrize("word", UNCHANGED)
def test_what_a_vocabulary_may_know_stays(any_vocabulary: PieceVocabulary, word: str) -> None:
    assert plain_form(word) == word
    whole = tuple(any_vocabulary.tokenizer.encode(" " + word, add_special_tokens=False).ids)
    reserved = any_vocabulary._reserved - {any_vocabulary.frame.unknown}
    if whole and reserved.isdisjoint(whole):
        assert any_vocabulary.cut([word]) == [whole]


@example(word="\u0300\u3099\u200c0")
@given(
    word=st.text(min_size=1) | st.text(st.sampled_from("aéА中ｅＡ－ﾞｶﬁ𝐁\u0301\u00ad\u200b\u200c\u200d\u2060\ufeff👍م"), min_size=1)
)
def test_the_plain_form_is_never_empty_and_is_its_own(word: str) -> None:
    plain = plain_form(word)
    assert plain
    assert plain_form(plain) == plain
    assert normalize("NFC", plain) == plain or plain == word


def test_a_vocabulary_that_was_learned_from_split_accents_still_reads_them() -> None:
    split = normalize("NFD", "é")
    vocabulary = train_vocabulary([f"caf{split} caf{split}"] * 3, 60)
    assert vocabulary.frame.unknown in vocabulary.tokenizer.encode(" café").ids
    assert vocabulary.frame.unknown not in vocabulary.cut([f"caf{split}"])[0]


def test_saving_and_loading_gives_the_same_vocabulary(any_vocabulary: PieceVocabulary, tmp_path: Path) -> None:
    any_vocabulary.save(tmp_path)
    loaded = PieceVocabulary.load(tmp_path)
    words = ["Pain", "knee", "IL-2", "\x00", "東京", "x-" * 200]
    assert loaded.frame == any_vocabulary.frame
    assert loaded.cut(words) == any_vocabulary.cut(words)
    assert loaded.tokenizer.get_vocab() == any_vocabulary.tokenizer.get_vocab()


def test_the_frame_is_what_the_tokenizer_puts_around_a_text(
    wordpiece: PieceVocabulary, byte_bpe: PieceVocabulary, unigram: PieceVocabulary
) -> None:
    def number(vocabulary: PieceVocabulary, token: str) -> int:
        return int(vocabulary.tokenizer.token_to_id(token))

    assert wordpiece.frame.prefix == (number(wordpiece, "[CLS]"),)
    assert wordpiece.frame.suffix == (number(wordpiece, "[SEP]"),)
    assert (wordpiece.frame.pad, wordpiece.frame.unknown) == (number(wordpiece, "[PAD]"), number(wordpiece, "[UNK]"))
    assert byte_bpe.frame.prefix == (number(byte_bpe, "<s>"),)
    assert (byte_bpe.frame.pad, byte_bpe.frame.unknown) == (number(byte_bpe, "<pad>"), number(byte_bpe, "<unk>"))
    assert (unigram.frame.prefix, unigram.frame.suffix) == ((), (number(unigram, "</s>"),))


def test_special_names_may_be_texts_or_objects(wordpiece: PieceVocabulary, tmp_path: Path) -> None:
    wordpiece.save(tmp_path)
    names = {"pad_token": {"content": "[SEP]"}, "unk_token": "[CLS]", "model_max_length": 512}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(names), encoding="utf-8")
    frame = PieceVocabulary.load(tmp_path).frame
    assert (frame.pad, frame.unknown) == tuple(wordpiece.tokenizer.token_to_id(t) for t in ("[SEP]", "[CLS]"))
    (tmp_path / "tokenizer_config.json").unlink()
    assert PieceVocabulary.load(tmp_path).frame == wordpiece.frame


def test_broken_folders_are_reported_in_one_line(tmp_path: Path, wordpiece: PieceVocabulary) -> None:
    with pytest.raises(AnynerError, match=r"no tokenizer\.json"):
        PieceVocabulary.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model"', encoding="utf-8")
    with pytest.raises(AnynerError, match="not a tokenizer") as caught:
        PieceVocabulary.load(tmp_path)
    assert "\n" not in str(caught.value)
    wordpiece.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(AnynerError, match=r"tokenizer_config\.json: not valid JSON"):
        PieceVocabulary.load(tmp_path)
