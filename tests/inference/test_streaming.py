"""Results come early, in order, and unchanged: after at most two batches of pieces, and at once where a stream pauses."""

import gc
import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from same_entities import assert_same

from anyner.document import Document
from anyner.inference.pool import FLUSH, Flush
from anyner.inference.recognizer import Recognizer, unknown_piece
from anyner.inference.streaming import UnknownWordsWarning, collector_paused

TEXT = "Pain in the left knee and the right hip of the patient."
BATCH = 128


class Source:
    """Texts that count how many of them were taken."""

    def __init__(self, texts: list[str]) -> None:
        self.texts, self.taken = texts, 0

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            self.taken += 1
            yield text


def pieces_of(recognizer: Recognizer, text: str) -> int:
    return sum(len(pieces) for window in recognizer.windows([Document(text)]) for pieces in window.pieces)


def test_the_first_result_comes_within_two_batches_and_every_next_within_two_more(recognizer: Recognizer) -> None:
    source = Source([TEXT, f"{TEXT} {TEXT}", "knee"] * 1000)
    per_text = sum(pieces_of(recognizer, text) for text in source.texts[:3]) / 3
    before = 0
    for number, document in enumerate(recognizer.stream(source, batch_tokens=BATCH)):
        assert document.text == source.texts[number]
        assert (source.taken - before) * per_text <= 2 * BATCH + 100
        before = source.taken
        if number == 500:
            break
    assert source.taken < len(source.texts)


@pytest.fixture
def short_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream looks only eight batches ahead."""
    monkeypatch.setattr("anyner.inference.streaming._PIECES_AHEAD", 0)


@pytest.mark.usefixtures("short_pool")
def test_what_is_read_ahead_is_bounded(recognizer: Recognizer) -> None:
    source = Source([TEXT] * 1200)
    ahead = 8 * BATCH // pieces_of(recognizer, TEXT) + 1
    most = 0
    for number, _ in enumerate(recognizer.stream(source, batch_tokens=BATCH)):
        most = max(most, source.taken - number)
        if number == 600:
            break
    assert ahead / 2 < most <= ahead + 1


@pytest.mark.usefixtures("short_pool")
def test_many_texts_need_no_more_memory_than_few(recognizer: Recognizer) -> None:
    def peak(texts: int) -> int:
        gc.collect()
        tracemalloc.reset_peak()
        for _ in recognizer.stream([TEXT] * texts, batch_tokens=BATCH):
            pass
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    peak(200)  # what is kept between calls is there
    few, many = peak(200), peak(800)
    tracemalloc.stop()
    assert many - few < 250 * (800 - 200)  # bytes: far less than a document and its window


def test_documents_of_one_long_word_wait_by_their_characters(recognizer: Recognizer) -> None:
    source = Source([str(number % 10) * 900_000 for number in range(24)])
    for number, _ in enumerate(recognizer.stream(source)):
        assert source.taken - number <= 6


def test_a_pause_of_the_collector_ends_whatever_another_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = gc.isenabled
    first, second = collector_paused(), collector_paused()
    running = [first]

    def end_first() -> None:
        while running:
            running.pop().__exit__(None, None, None)

    def asked() -> bool:
        answer = enabled()
        end_first()
        return answer

    first.__enter__()
    assert not enabled()
    monkeypatch.setattr(gc, "isenabled", asked)
    second.__enter__()  # it used to find the collector off, and to leave it off
    end_first()
    second.__exit__(None, None, None)
    try:
        assert enabled()
    finally:
        gc.enable()


def test_the_collector_stays_off_where_the_caller_turned_it_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_pause_runs_what_is_held(recognizer: Recognizer) -> None:
    read: list[str] = []

    def texts() -> Iterator[str | Flush]:
        for text in ("knee", "", TEXT):
            read.append(text)
            yield text
            yield FLUSH
            yield FLUSH

    found = []
    for number, document in enumerate(recognizer.stream(texts()), 1):
        assert len(read) == number
        found.append(document)
    assert_same(found, recognizer.predict(["knee", "", TEXT]))


@pytest.mark.parametrize("batch_tokens", [1, 40, 300, 16_384])
def test_long_and_short_texts_and_pauses_change_nothing(build: Any, documents: tuple[Document, ...], batch_tokens: int) -> None:
    small: Recognizer = build(window=32)
    texts = [" ".join(d.text for d in documents[:20]), "", *(d.text for d in documents[20:40]), " ", documents[0].text * 5]
    alone = [small.predict(text) for text in texts]
    assert_same(list(small.stream(iter(texts), batch_tokens=batch_tokens)), alone)
    paused: list[str | Flush] = [item for text in texts for item in (text, FLUSH)]
    assert_same(list(small.stream(paused, batch_tokens=batch_tokens)), alone)


def test_progress_counts_words_once_and_inside_a_long_text(build: Any) -> None:
    small: Recognizer = build(window=32)
    counts: list[int] = []
    list(small.stream(["knee " * 500, "the left hip"], batch_tokens=64, progress=counts.append))
    assert counts == sorted(counts)
    assert len(counts) > 5
    assert counts[-1] == 503


def test_batches_are_small_on_a_cpu(recognizer: Recognizer) -> None:
    assert recognizer.batch_tokens == 1024


# --- words that the vocabulary does not know -------------------------------------------------------------------------


def test_unknown_words_are_counted_and_warned_of_once(build: Any) -> None:
    reader: Recognizer = build()
    chinese = "中国人民 knee"
    with pytest.warns(UnknownWordsWarning, match="80% of the words in") as warned:
        found = reader.predict(["knee", chinese, chinese])
    assert [document.unknown for document in found] == [0.0, 0.8, 0.8]
    assert len(warned) == 1
    assert [document.coverage for document in found] == [1.0] * 3
    assert "unknown" not in found[0].to_json()
    assert found[1].to_json()["unknown"] == 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader.predict(chinese).unknown == 0.8


def test_few_unknown_words_few_letters_and_emoji_are_not_warned_of(build: Any) -> None:
    reader: Recognizer = build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader.predict("Pain in the left knee of 中").unknown == pytest.approx(1 / 7)
        assert reader.predict("👍 👍 👍 knee").unknown == 0.0
        assert reader.predict("中国").unknown == 1.0


@pytest.mark.parametrize("batch_tokens", [1, 16_384])
def test_unknown_words_of_a_long_text_count_once(build: Any, batch_tokens: int) -> None:
    reader: Recognizer = build(window=32)
    words = ["knee"] * 200
    for place in (0, 20, 25, 100, 199):
        words[place] = "中"
    assert reader.predict(" ".join(words), batch_tokens=batch_tokens).unknown == pytest.approx(5 / 200)


def test_a_tokenizer_without_an_unknown_piece_knows_every_word(build: Any) -> None:
    vocabulary = build().vocabulary
    assert unknown_piece(vocabulary) == vocabulary.frame.unknown
    (ordinary,) = vocabulary.cut(["a"])[0]
    vocabulary.frame = type(vocabulary.frame)((), (), 0, ordinary)
    assert unknown_piece(vocabulary) is None
