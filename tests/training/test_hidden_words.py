"""Words are hidden whole, at chance, and everything that is hidden is asked for."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import fresh_vocabulary
from anyner.text.config import TextConfig
from anyner.text.windows import words_of
from anyner.training.hidden_words import NOT_ASKED, HiddenWords, word_windows

TEXTS = ["alpha beta gamma alphabetagamma", "beta gammabeta", "alpha", "gamma gamma betaalpha delta"]


@pytest.fixture(scope="module")
def vocabulary() -> PieceVocabulary:
    return fresh_vocabulary(TEXTS, 30)


documents = st.lists(
    st.builds(
        Document,
        st.lists(st.sampled_from(["alpha", "beta", "gammabetagamma", "x"]), min_size=0, max_size=12).map(" ".join),
        doc=st.sampled_from([None, "one", "two"]),
    ),
    max_size=6,
)


@given(documents, st.integers(16, 40))
def test_windows_hold_every_word_once_and_never_two_docs(parts: list[Document], most: int) -> None:
    vocabulary, text = fresh_vocabulary(TEXTS, 30), TextConfig()
    frame = len(vocabulary.frame.prefix) + len(vocabulary.frame.suffix)
    windows = list(word_windows(parts, text, vocabulary, most))
    assert all(windows) and all(sum(map(len, window)) + frame <= most for window in windows)
    spoken = [[one.text[start:end] for start, end in words_of(one, text)] for one in parts]
    assert list(chain.from_iterable(windows)) == vocabulary.cut(list(chain.from_iterable(spoken)))
    ends = {sum(map(len, windows[: number + 1])) for number in range(len(windows))}
    said = 0
    for number, words in enumerate(spoken):
        follows = number and parts[number].doc is not None and parts[number].doc == parts[number - 1].doc
        if number and said and not follows:
            assert said in ends, "a window goes on in another doc"
        said += len(words)


def test_hidden_words_are_hidden_whole_and_asked_for(vocabulary: PieceVocabulary) -> None:
    words = tuple(vocabulary.cut(["alpha", "alphabetagamma", "gammabeta", "delta"] * 500))
    hiding = HiddenWords([words, words[:3]], vocabulary, 0.2)
    batch = hiding.batch([0, 1], np.random.default_rng(0))
    prefix = len(vocabulary.frame.prefix)
    pieces = np.array(list(chain.from_iterable(words)))
    asked = batch.hidden[0, prefix : prefix + len(pieces)].numpy()
    shown = batch.shown[0, prefix : prefix + len(pieces)].numpy()
    hidden = asked != NOT_ASKED
    assert (asked[hidden] == pieces[hidden]).all() and (shown[~hidden] == pieces[~hidden]).all()
    stops = np.cumsum([len(word) for word in words])
    whole = [set(hidden[stop - len(word) : stop].tolist()) for stop, word in zip(stops, words, strict=True)]
    assert all(len(of_word) == 1 for of_word in whole)
    assert 0.17 < np.mean([True in of_word for of_word in whole]) < 0.23
    masked = shown[hidden] == vocabulary.frame.unknown  # a fresh vocabulary has no piece for masks
    assert 0.7 < masked.mean() < 0.9 and 0.05 < (shown[hidden] == pieces[hidden]).mean() < 0.2
    own = int(batch.attention_mask[1].sum())
    assert own == prefix + sum(map(len, words[:3])) + len(vocabulary.frame.suffix)
    assert (batch.hidden[1, own:] == NOT_ASKED).all() and (batch.shown[1, own:] == vocabulary.frame.pad).all()


def test_other_words_are_hidden_each_time_and_the_same_for_the_same_seed(vocabulary: PieceVocabulary) -> None:
    hiding = HiddenWords([tuple(vocabulary.cut(["alpha", "beta"] * 50))], vocabulary, 0.3)
    one, again, other = (hiding.batch([0], np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.shown.equal(again.shown) and one.hidden.equal(again.hidden)
    assert not one.hidden.equal(other.hidden)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(40, 200))
def test_a_plan_has_every_window_once_in_batches_that_fit(sizes: list[int], tokens: int) -> None:
    vocabulary = fresh_vocabulary(TEXTS, 30)
    piece = (vocabulary.frame.unknown,)
    hiding = HiddenWords([(piece,) * size for size in sizes], vocabulary, 0.2)
    plan = hiding.plan(range(len(sizes)), tokens, np.random.default_rng(0))
    assert sorted(chain.from_iterable(plan)) == list(range(len(sizes)))
    assert all(hiding.batch(places, np.random.default_rng(0)).shown.numel() <= tokens for places in plan)
