"""Word features in the word layer: each is read and learned, neighbours change nothing, and without any all is as ever."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from transformers import BertConfig

from anyner.document import Document
from anyner.encoding.batch import Batch, batch_of
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder, new_encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

TEXT = TextConfig(words="given")
SENTENCES = [
    (["Pain", "in", "the", "left", "knee", "and", "hip"], ["NN", "IN", "DT", "JJ", "NN", "CC", "NN"]),
    (["水", "in", "the", "膝盖"], ["NN", "IN", "DT", "NN"]),
    (["Yes"], ["UH"]),
    (["Pain", "Pain", "strange"], ["NN", "NN", "XX"]),
]
DOCUMENTS = [Document.from_words(words, pos=pos) for words, pos in SENTENCES]
FEATURES = {"shapes": 3, "pos": 5, "pos_least_count": 1}


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    torch.manual_seed(3)
    rows = torch.randn(6, 4).tolist()
    words = ["pain", "knee", "hip", "the", "水", "yes"]
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(words, rows, strict=True)), encoding="utf-8")
    return str(path)


def built(features: dict[str, object], **settings: object) -> Encoder:
    torch.manual_seed(0)
    bert = BertConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=330,
        initializer_range=0.2,
    )
    config = EncoderConfig.of({"features": features, **settings}, "encoder")
    return new_encoder(config, encoder_from_config(bert), DOCUMENTS, TEXT).eval()


def cut_windows(vocabulary: PieceVocabulary, documents: list[Document] = DOCUMENTS) -> list[Window]:
    return [next(windows_of(document, i, TEXT, 60, vocabulary.cut)) for i, document in enumerate(documents)]


def batched(encoder: Encoder, windows: list[Window], vocabulary: PieceVocabulary) -> Batch:
    return batch_of(windows, vocabulary.frame, features=encoder.features)


@pytest.mark.parametrize("lstm", [{}, {"lstm_layers": 1}, {"lstm_layers": 2, "lstm_width": 10}])
def test_a_window_gives_the_same_words_alone_and_beside_others_in_any_order(
    vectors: str, wordpiece: PieceVocabulary, lstm: dict[str, object]
) -> None:
    encoder = built({**FEATURES, "vectors": vectors}, **lstm)
    windows = cut_windows(wordpiece)
    assert encoder.width == lstm.get("lstm_width", 16)
    with torch.inference_mode():
        alone = [encoder(batched(encoder, [window], wordpiece)).words[0] for window in windows]
        for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
            together = encoder(batched(encoder, [windows[i] for i in order], wordpiece)).words
            for row, i in zip(together, order, strict=True):
                torch.testing.assert_close(row[: len(alone[i])], alone[i], atol=1e-5, rtol=0)
    assert alone[0].std(0).mean() > 1e-3


@pytest.mark.parametrize("lstm", [{}, {"lstm_layers": 1}])
@pytest.mark.parametrize("used", ["shapes", "pos", "vectors"])
def test_each_feature_alone_is_read_and_learned(
    vectors: str, wordpiece: PieceVocabulary, used: str, lstm: dict[str, object]
) -> None:
    setting: dict[str, object] = {
        "shapes": {"shapes": 3},
        "pos": FEATURES | {"shapes": 0},
        "vectors": {"vectors": vectors},
    }[used]  # type: ignore[assignment]
    encoder = built(setting, **lstm)
    window = cut_windows(wordpiece)[0]
    others = {
        "shapes": replace(window, words=["pain", *window.words[1:]]),
        "pos": replace(window, pos=["UH", *(window.pos or ())[1:]]),
        "vectors": replace(window, words=["the", *window.words[1:]]),
    }
    changes = {}
    for name, other in others.items():
        with torch.inference_mode():
            before, after = (encoder(batched(encoder, [one], wordpiece)).words for one in (window, other))
        changes[name] = float((before - after).abs().max())
    assert changes[used] > 1e-6
    assert changes["pos"] == 0 or used == "pos"
    encoder.train()
    encoder(batched(encoder, [window], wordpiece)).words.square().sum().backward()
    for name, parameter in encoder.word_layer.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name
    assert any(name.startswith("features.") for name, _ in encoder.word_layer.named_parameters()) == (used != "vectors")


def test_vectors_are_in_the_state_but_never_trained(vectors: str, wordpiece: PieceVocabulary) -> None:
    encoder = built({"vectors": vectors})
    table = encoder.state_dict()["word_layer.features.vectors"]
    assert table.shape == (7, 4)
    torch.testing.assert_close(table[0], table[1:].mean(0))
    assert "word_layer.features.vectors" not in dict(encoder.named_parameters())


def test_words_without_tags_are_read_all_the_same(vectors: str, wordpiece: PieceVocabulary) -> None:
    encoder = built({**FEATURES, "vectors": vectors})
    bare = [replace(document, pos=None) for document in DOCUMENTS]
    with torch.inference_mode():
        assert encoder(batched(encoder, cut_windows(wordpiece, bare), wordpiece)).words.isfinite().all()


def test_without_features_nothing_is_there(wordpiece: PieceVocabulary) -> None:
    encoder = built({"dropout": 0.3, "pos_least_count": 3})
    torch.manual_seed(0)
    plain = Encoder(EncoderConfig(), encoder_from_config(encoder.pretrained.config)).eval()
    assert not list(encoder.word_layer.parameters())
    assert encoder.features is None
    assert encoder.state_dict().keys() == plain.state_dict().keys()
    batch = batched(encoder, cut_windows(wordpiece), wordpiece)
    assert batch.features is None
    with torch.inference_mode():
        assert torch.equal(encoder(batch).words, plain(batch).words)


def test_the_start_is_the_encoders_own_vector_and_a_little_more(vectors: str, wordpiece: PieceVocabulary) -> None:
    encoder, plain = built({**FEATURES, "vectors": vectors}), built({})
    encoder.pretrained.load_state_dict(plain.pretrained.state_dict())
    batch = batched(encoder, cut_windows(wordpiece), wordpiece)
    with torch.inference_mode():
        ours, theirs = encoder(batch).words, plain(batch).words
    inside = batch.word_mask
    alike = torch.nn.functional.cosine_similarity(ours[inside], theirs[inside], dim=-1)
    assert alike.min() > 0.95
    assert not torch.equal(ours, theirs)


def test_it_learns_what_only_a_tag_tells(wordpiece: PieceVocabulary) -> None:
    """The same word with different tags: the loss can only fall through the tag embedding."""
    encoder = built({"pos": 4, "pos_least_count": 1, "dropout": 0.0}, dropout=0.0)
    windows = cut_windows(wordpiece, [Document.from_words(["x"] * 6, pos=["NN", "IN"] * 3)])
    probe = torch.nn.Linear(16, 2)
    target = torch.tensor([0, 1] * 3)
    optimizer = torch.optim.Adam([*encoder.word_layer.parameters(), *probe.parameters()], lr=0.02)
    losses = []
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(probe(encoder(batched(encoder, windows, wordpiece)).words[0]), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 < losses[0]
    assert sum(after < before for before, after in pairwise(losses)) > 40


def test_bfloat16_products_are_near(vectors: str, wordpiece: PieceVocabulary) -> None:
    encoder = built({**FEATURES, "vectors": vectors}, lstm_layers=1)
    batch = batched(encoder, cut_windows(wordpiece), wordpiece)
    with torch.inference_mode():
        exact = encoder(batch).words
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = encoder(batch).words.float()
    torch.testing.assert_close(rough[batch.word_mask], exact[batch.word_mask], atol=0.05, rtol=0)
