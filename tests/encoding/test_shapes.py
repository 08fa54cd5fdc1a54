"""Word shapes: capitals, small letters, digits and signs of a word; their vocabulary; and how the encoder reads them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig

from anyner.document import Document
from anyner.encoding.batch import Batch, batch_of
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder
from anyner.encoding.examples import Example
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config
from anyner.encoding.shapes import ShapeVocabulary, in_one_casing, shape_of
from anyner.errors import AnynerError
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

GIVEN = TextConfig(words="given")
SENTENCES = ["Pain in the left knee and HIP", "水 in the 膝盖", "Yes", "Pain pain x-1"]
DOCUMENTS = [Document.from_words(sentence.split()) for sentence in SENTENCES]


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("Pain", "Xxx"),
        ("T", "X"),
        ("DNA", "XX"),
        ("p65", "x00"),
        ("NF-κB", "XX-xX"),
        ("水曜", "cc"),
        ("...", ".."),
        ("ǅ", "c"),
        ("", ""),
    ],
)
def test_examples(word: str, shape: str) -> None:
    assert shape_of(word) == shape


@given(st.text("aBx0-水", max_size=40))
def test_it_is_short_and_other_letters_of_the_same_case_change_nothing(word: str) -> None:
    assert len(shape_of(word)) <= 16
    assert shape_of(word) == shape_of(word.translate(str.maketrans("aB0", "zQ7")))
    assert shape_of(word.upper()).count("x") == 0


@pytest.mark.parametrize(
    ("text", "one"),
    [("ann met bob", True), ("ANN MET BOB", True), ("Ann met bob", False), ("12 .", False), ("nato and 3 others", True)],
)
def test_texts_in_one_casing(text: str, one: bool) -> None:
    assert in_one_casing(text.split()) == one


# --- the vocabulary --------------------------------------------------------------------------------------------------


def window(*words: str) -> Window:
    return next(windows_of(Document.from_words(words), 0, GIVEN, 10**6, lambda found: [(1,)] * len(found)))


def vocabulary() -> ShapeVocabulary:
    return ShapeVocabulary(("X", "Xxx", "xx"))


def test_shapes_have_rows_and_rare_ones_share_one() -> None:
    assert len(vocabulary()) == 4
    assert vocabulary().rows([window("Bean", "bean", "BEAN"), window("A", "na")]).tolist() == [2, 3, 0, 1, 3]
    often = ShapeVocabulary.learned([Document.from_words(["a"] * 8 + ["B"] * 7)], GIVEN)
    once = ShapeVocabulary.learned([Document.from_words(["a"])], GIVEN)
    for learned in (often, once):
        assert len(learned) == 2
        assert learned.rows([window("b", "A")]).tolist() == [1, 0]


def test_a_hidden_word_reveals_nothing() -> None:
    """Whatever the hidden word was, its row is the same, and the others' are untouched."""
    hidden = [
        Example.of(window(word, "na"), [], (), None).without(np.array([True, False]), 9).window for word in ("Bean", "X", "a")
    ]
    assert vocabulary().rows(hidden[:2]).tolist() == [0, 3, 0, 3]
    assert vocabulary().rows(hidden[2:]).tolist() == [0, 0]  # one casing


def test_a_text_in_one_casing_has_no_shapes() -> None:
    assert vocabulary().rows([window("na", "na"), window("A", "B")]).tolist() == [0, 0, 0, 0]
    assert vocabulary().rows([replace(window("Na", "na"), caseless=True)]).tolist() == [0, 0]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True))
def test_the_file_comes_back_equal(tmp_path_factory: pytest.TempPathFactory, shapes: list[str]) -> None:
    folder = tmp_path_factory.mktemp("shapes")
    ShapeVocabulary(shapes).save(folder)
    before = (folder / "features.json").read_bytes()
    ShapeVocabulary.load(folder).save(folder)
    assert (folder / "features.json").read_bytes() == before
    assert json.loads(before) == {"shapes": shapes}


def changed(**changes: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "features.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("breaking", "message"),
    [
        (lambda folder: (folder / "features.json").unlink(), "no features.json"),
        (lambda folder: (folder / "features.json").write_text("{", encoding="utf-8"), "not valid JSON"),
        (lambda folder: (folder / "features.json").write_text("[]", encoding="utf-8"), "not a list of word shapes"),
        (lambda folder: (folder / "features.json").write_bytes(b"\xff"), "not valid JSON"),
        (changed(more=1), "unknown key 'more'"),
        (changed(tags=["NN"]), "unknown key 'tags'"),
        (changed(vector_width=3), "unknown key 'vector_width'"),
        (changed(shapes=[]), "not a list of word shapes"),
        (changed(shapes=None), "not a list of word shapes"),
        (changed(shapes=[1]), "not a list of word shapes"),
        (changed(shapes=[""]), "not a list of word shapes"),
        (changed(shapes=["x", "x"]), "a word shape is listed twice"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path: Path, breaking: Callable[[Path], object], message: str) -> None:
    vocabulary().save(tmp_path)
    breaking(tmp_path)
    with pytest.raises(AnynerError) as caught:
        ShapeVocabulary.load(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_with_empty_vocabularies_of_removed_features_load(tmp_path: Path) -> None:
    vocabulary().save(tmp_path)
    changed(characters=[], tags=[], vector_width=0)(tmp_path)
    assert len(ShapeVocabulary.load(tmp_path)) == len(vocabulary())


# --- in the word layer -----------------------------------------------------------------------------------------------


def built(**chosen: object) -> Encoder:
    torch.manual_seed(0)
    size: dict[str, Any] = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 330}
    bert = BertConfig(hidden_size=16, **size, initializer_range=0.2)
    return Encoder(
        EncoderConfig.of({"word_shapes": 3, "pooling": "first", "lstm_layers": 0, **chosen}, "encoder"),
        encoder_from_config(bert),
        vocabulary(),
    ).eval()


def cut_windows(pieces: PieceVocabulary) -> list[Window]:
    return [next(windows_of(document, i, GIVEN, 60, pieces.cut)) for i, document in enumerate(DOCUMENTS)]


def batched(encoder: Encoder, windows: list[Window], pieces: PieceVocabulary) -> Batch:
    return batch_of(windows, pieces.frame, shapes=encoder.shapes)


@pytest.mark.parametrize("layers", [0, 2])
def test_a_window_gives_the_same_words_alone_and_beside_others_in_any_order(wordpiece: PieceVocabulary, layers: int) -> None:
    encoder, windows = built(lstm_layers=layers), cut_windows(wordpiece)
    assert encoder.width == 16
    with torch.inference_mode():
        alone = [encoder(batched(encoder, [window], wordpiece)).words[0] for window in windows]
        for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
            together = encoder(batched(encoder, [windows[i] for i in order], wordpiece)).words
            for row, i in zip(together, order, strict=True):
                torch.testing.assert_close(row[: len(alone[i])], alone[i], atol=1e-5, rtol=0)
    assert alone[0].std(0).mean() > 1e-3


@pytest.mark.parametrize("layers", [0, 1])
def test_shapes_are_read_and_learned(wordpiece: PieceVocabulary, layers: int) -> None:
    encoder, window = built(lstm_layers=layers), cut_windows(wordpiece)[0]
    other = replace(window, words=["pain", *window.words[1:]])  # the same pieces
    with torch.inference_mode():
        before, after = (encoder(batched(encoder, [one], wordpiece)).words for one in (window, other))
    assert float((before - after).abs().max()) > 1e-6
    encoder.train()
    encoder(batched(encoder, [window], wordpiece)).words.square().sum().backward()
    for name, parameter in encoder.word_layer.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_the_start_is_the_encoders_own_vector_and_a_little_more(wordpiece: PieceVocabulary) -> None:
    encoder, plain = built(), built(word_shapes=0)
    assert not list(plain.word_layer.parameters())
    encoder.pretrained.load_state_dict(plain.pretrained.state_dict())
    batch = batched(encoder, cut_windows(wordpiece), wordpiece)
    with torch.inference_mode():
        ours, theirs = encoder(batch).words, plain(batch).words
    alike = torch.nn.functional.cosine_similarity(ours[batch.word_mask], theirs[batch.word_mask], dim=-1)
    assert alike.min() > 0.95
    assert not torch.equal(ours, theirs)


def test_bfloat16_products_are_near(wordpiece: PieceVocabulary) -> None:
    encoder = built(lstm_layers=1)
    batch = batched(encoder, cut_windows(wordpiece), wordpiece)
    with torch.inference_mode():
        exact = encoder(batch).words
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = encoder(batch).words.float()
    torch.testing.assert_close(rough[batch.word_mask], exact[batch.word_mask], atol=0.05, rtol=0)
