"""Every splitter covers the text exactly; the default one splits where a reader would."""

import itertools
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.errors import InvalidInputError
from anyner.text.words import SplitterName, iterate_words

SPLITTERS: list[SplitterName] = ["unicode", "whitespace", "cjk", "thai"]

# Words are separated by spaces here; "·" marks a split without a space.
KEPT_AND_CUT = [
    "IL-2 T-cell NF-kappaB 4.1 1,000 10:30 20mg state-of-the-art snake_case m²",
    "50·% and·/·or (·IL-2·) end·. a·—·b $·5 x·=·1 37·°·C 1995·; Ca2·+",
    "U.S. e.g. Ph.D. J. U.S.A U.S.·- U.S.·'s U.S.·, J.K.",
    "don't O'Neill don’t rock'n'roll John·'s John·’s John·'S dogs·' it·'s L'·Europe qu'·elle dell’·Italia d'·Artagnan",
    "the end·.·The Node.js wait·... ... … !!! -- word·...",
    "\"·quoted·\" “·quoted·” «·quoted·» '·quoted·' [·1·] {·x·} (·(·x·)·)",
    "https://example.org/a-b?c=d,e#f·. http://x.y/z·) www.example.org·, https://en.example.org/Foo_(bar) ftp://h/x·!",
    "(·https://x.org/a·)·. HTTPS://X.ORG http·:·/·/ www·. <·https://x.org·>",
    "first.last+tag@some-host.example.org·. (·a@b.co·) user·@·host a@b.co·,",
    "@mention·, #hashtag·! @some_one (·#tag·) C·# C·++",
    "東·京·タ·ワ·ー 中·文·，·对·。 ひ·ら·が·な #·東·京 https://x.org/·中·文 A·型 𠮷·野",
    "สวัสดีครับ हिन्दी العربية· · שלום· צה״ל می‌خواهم",
    "cafe\u0301 e\u0301\u0323x 👍🏽·👍 👨‍👩‍👧 🇩🇪·🇫🇷 ❤️·! 1️⃣ -\u0301 .\u0301·x 漢\ufe00·字 ガ·ギ",
    "a·\x00·b \x01·\x02 \ufeff·BOM a\u00adb",
    "Ange\u200bla Ber\u2060lin a\ufeff\u200bb \u200b·x·\u200b x·\u200b·, 東·\u200b·京 http://x.org/a·\u200b·b",
    "ភ្នំ·\u200b·ពេញ ไทย·\u200b·ไทย ไทย\u2060ไทย 서\u200b울 Мос\u200bква",
    "Ａｎｇｅｌａ·，·Ｍｅｒｋｅｌ·． Ｊｅａｎ－Ｐａｕｌ Ｔ·－·東 １２ 𝐁𝐞𝐫𝐥𝐢𝐧",
]


def words_of(text: str, splitter: SplitterName = "unicode") -> list[str]:
    return [text[start:end] for start, end in iterate_words(text, splitter)]


@pytest.mark.parametrize("line", KEPT_AND_CUT)
def test_unicode_cuts_and_keeps(line: str) -> None:
    line = line.replace("· ·", " ").replace("· ", " ")
    expected = [word for word in line.replace("·", " ").split(" ") if word]
    assert words_of(line.replace("·", "")) == expected


@pytest.mark.parametrize(
    ("text", "by_unicode", "by_cjk"),
    [
        ("한국어 IL-2", ["한국어", "IL-2"], ["한", "국", "어", "IL-2"]),
        ("서울2024年", ["서울2024", "年"], ["서", "울", "2024", "年"]),
        ("東京abc", ["東", "京", "abc"], ["東", "京", "abc"]),
        ("한글", ["한글"], ["한", "글"]),
    ],
)
def test_cjk_also_cuts_hangul(text: str, by_unicode: list[str], by_cjk: list[str]) -> None:
    assert words_of(text) == by_unicode
    assert words_of(text, "cjk") == by_cjk


def test_conjoining_hangul_is_cut_by_syllable() -> None:
    text = unicodedata.normalize("NFD", "한국")
    assert words_of(text, "cjk") == [unicodedata.normalize("NFD", syllable) for syllable in "한국"]
    assert words_of(text) == [text]


def test_whitespace_keeps_punctuation() -> None:
    assert words_of(" (IL-2),\tend.\r\n\u3000東京。 ", "whitespace") == ["(IL-2),", "end.", "東京。"]


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("text", ["", " ", "\t\r\n \u00a0\u2028\x1c"])
def test_nothing_but_white_space_has_no_words(splitter: SplitterName, text: str) -> None:
    assert words_of(text, splitter) == []


def test_an_unknown_splitter_is_refused_at_once() -> None:
    with pytest.raises(InvalidInputError, match=r"unknown word splitter 'letters'.*unicode, whitespace, cjk"):
        iterate_words("", "letters")  # type: ignore[arg-type]


def assert_exact_cover(text: str, splitter: SplitterName) -> None:
    owners = [0] * len(text)
    position = 0
    for start, end in iterate_words(text, splitter):
        assert position <= start < end
        position = end
        for place in range(start, end):
            owners[place] += 1
    assert owners == [0 if character.isspace() else 1 for character in text]


TRICKY = st.text(
    st.sampled_from("aZ7_.,:;'’-–@#/()[]\"%=&!…\n \u00a0\x00\x1c\u0301\u200d\ufe0f👍🏽🇩한ᄒ東ガﾞสא\ufeff\u200b\u2060Ａ－")
)


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(text=st.text() | TRICKY | st.lists(st.sampled_from(["http://", "www.", "a@b.c", "U.S.", " ", "x"])).map("".join))
def test_every_character_but_white_space_has_one_word(splitter: SplitterName, text: str) -> None:
    assert_exact_cover(text, splitter)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_every_code_point_is_covered(splitter: SplitterName) -> None:
    assert_exact_cover("".join(f"{chr(code)}a" for code in range(0, sys.maxunicode + 1, 7)), splitter)
    assert_exact_cover("".join(map(chr, range(0x3100))), splitter)


@given(text=st.text() | TRICKY)
def test_marks_stay_with_their_base(text: str) -> None:
    for splitter in ("unicode", "cjk"):
        for start, _ in iterate_words(text, splitter):
            if start and unicodedata.category(text[start]) in ("Mn", "Me") and ord(text[start]) < 0x10000:
                assert text[start - 1].isspace()


@given(text=st.lists(st.sampled_from([*"東ガ国abc1.,@/:#'-()", "http://", "www."])).map("".join))
def test_every_han_and_kana_character_is_a_word(text: str) -> None:
    for splitter in ("unicode", "cjk"):
        for word in words_of(text, splitter):
            assert len(word) == 1 or not set(word) & set("東ガ国")


def test_a_long_text_is_not_collected() -> None:
    text = "word " * 1_000_000
    began = time.process_time()
    assert list(itertools.islice(iterate_words(text, "unicode"), 3)) == [(0, 4), (5, 9), (10, 14)]
    assert time.process_time() - began < 0.5


ADVERSARIAL = [
    *(
        "a",
        "a.",
        ".",
        "a-",
        "-",
        "a'",
        "'",
        "1,",
        "@",
        "@a",
        "a@",
        "a@b.",
        "a+",
        "#",
        "#a",
        "(",
        "U.S",
        "s'",
        "'s",
        "l'",
    ),
    *("http://", "http://(", "http://a(", "http://.", "www.", "www.(", "www.a(.", "://", "a_", "%", "\x00"),
    *("a\u200b", "\u200b", "ส\u200b", "a\ufeff\u2060", "\u0301", "\u200d", "👍\u200d", "🇩", "東", "ᄒ", "한"),
]


@pytest.mark.parametrize("unit", ADVERSARIAL)
@pytest.mark.parametrize("ending", ["", "@"])
def test_time_is_linear(unit: str, ending: str) -> None:
    text = (unit * (40_000 // len(unit) + 1))[:40_000] + ending
    for splitter in SPLITTERS:
        began = time.process_time()
        words = sum(1 for _ in iterate_words(text, splitter))
        assert words > 0
        assert time.process_time() - began < 1.5  # a linear splitter takes tenths of a second, a quadratic one about two


def test_a_word_of_10000_characters_is_one_word() -> None:
    assert words_of("x" * 10_000) == ["x" * 10_000]
