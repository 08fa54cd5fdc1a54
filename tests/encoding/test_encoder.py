"""Any kind of encoder gives states: the same for a window alone and beside longer ones, from pieces of the right places."""

from collections.abc import Sequence
from typing import get_args

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedConfig

from anyner.encoding.batch import Batch, batch_of
from anyner.encoding.config import EncoderConfig, Pooling
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pooling import take
from anyner.encoding.pretrained import encoder_from_config
from anyner.text.windows import Window

KINDS_WITH_A_TABLE = {"bert": 0, "roberta": 2, "mpnet": 2, "distilbert": 0, "albert": 0, "bart": 2}


def built(config: PreTrainedConfig, **settings: object) -> Encoder:
    torch.manual_seed(0)
    return Encoder(
        EncoderConfig.of({"pooling": "first", "lstm_layers": 0, **settings}, "encoder"), encoder_from_config(config)
    ).eval()


def batched(windows: Sequence[Window], vocabulary: PieceVocabulary) -> Batch:
    return batch_of(windows, vocabulary.frame)


def test_states_have_the_promised_shapes(config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window]) -> None:
    encoder, batch = built(config), batched(windows, vocabulary)
    with torch.inference_mode():
        states = encoder(batch)
    assert states.words.shape == (*batch.word_mask.shape, encoder.width)
    assert states.pieces.shape == (*batch.piece_ids.shape, encoder.piece_width)
    assert encoder.width == encoder.piece_width == 16
    if batch.has_cls:
        assert torch.equal(states.cls, states.pieces[:, 0])
    else:
        means = [row[mask].mean(0) for row, mask in zip(states.pieces, states.piece_mask, strict=True)]
        assert torch.allclose(states.cls, torch.stack(means), atol=1e-5)
    assert states.lengths == tuple(len(window.words) for window in windows)
    assert states.content_keys == tuple(window.content_key for window in windows)
    assert states.words.isfinite().all()
    first = states.pieces[torch.arange(len(windows))[:, None], batch.first_piece]
    assert torch.equal(states.words, first)


def test_a_window_gives_the_same_states_alone_and_beside_others(
    config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window]
) -> None:
    encoder = built(config, pooling="mean")
    with torch.inference_mode():
        together: States = encoder(batched(windows, vocabulary))
        for b, window in enumerate(windows):
            alone: States = encoder(batched([window], vocabulary))
            words, pieces = alone.words.shape[1], alone.pieces.shape[1]
            torch.testing.assert_close(together.words[b, :words], alone.words[0], atol=1e-5, rtol=0)
            torch.testing.assert_close(together.pieces[b, :pieces], alone.pieces[0], atol=1e-5, rtol=0)
    spread = together.words[0, : len(windows[0].words)].std(0).mean()
    assert spread > 1e-4  # the words do differ


def test_tables_are_the_encoders_own(kind: str, config: PreTrainedConfig) -> None:
    encoder = built(config)
    tables = encoder.tables
    assert tables.tokens is encoder.pretrained.get_input_embeddings()
    assert tables.tokens.num_embeddings == 330
    if kind in KINDS_WITH_A_TABLE:
        assert isinstance(tables.positions, nn.Embedding)
        assert tables.position_offset == KINDS_WITH_A_TABLE[kind]
        assert tables.positions.num_embeddings - tables.position_offset == 64
    else:
        assert tables.positions is None
        assert tables.position_offset == 0
    assert encoder.most_pieces == (None if kind == "t5" else 64)


@pytest.mark.parametrize("kind", sorted(KINDS_WITH_A_TABLE), indirect=True)
def test_the_position_table_and_its_offset_are_where_the_encoder_reads(config: PreTrainedConfig) -> None:
    """Changing the row of piece 0 changes the states; changing the row before it, or behind the last piece, does not."""
    encoder = built(config)
    positions, offset = encoder.tables.positions, encoder.tables.position_offset
    assert positions is not None
    ids = torch.tensor([[20, 21, 22, 23]])

    def output() -> torch.Tensor:
        with torch.inference_mode():
            return encoder.pretrained(input_ids=ids).last_hidden_state.clone()

    before = output()
    for row, matters in ((offset, True), (offset + 3, True), (offset + 4, False), (offset - 1, False)):
        if row < 0:
            continue
        kept = positions.weight.data[row].clone()
        positions.weight.data[row] += torch.linspace(-3, 3, kept.shape[-1])
        assert torch.allclose(output(), before, atol=1e-6) != matters, row
        positions.weight.data[row] = kept


def test_as_many_pieces_as_promised_go_through(kind: str, config: PreTrainedConfig) -> None:
    encoder = built(config)
    size = encoder.most_pieces or 200
    with torch.inference_mode():
        assert encoder.pretrained(input_ids=torch.full((1, size), 20)).last_hidden_state.shape == (1, size, 16)
        if kind in KINDS_WITH_A_TABLE:
            with pytest.raises((IndexError, RuntimeError)):
                encoder.pretrained(input_ids=torch.full((1, size + 1), 20))


def test_only_the_encoder_half_is_kept(kind: str, config: PreTrainedConfig) -> None:
    pretrained = built(config).pretrained
    names = [name for name, _ in pretrained.named_parameters()]
    assert not [name for name in names if name.startswith(("decoder", "pooler"))]
    assert not [name for name, module in pretrained.named_modules() if "Decoder" in type(module).__name__]
    if kind in ("t5", "bart"):
        assert not pretrained.config.is_decoder


@pytest.mark.parametrize("kind", ["bert", "t5"], indirect=True)
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_gradients_reach_both_halves(
    config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window], pooling: Pooling
) -> None:
    encoder = built(config, pooling=pooling, lstm_layers=1)
    states = encoder(batched(windows, vocabulary))
    weights = torch.linspace(-1, 1, states.words.numel()).view_as(states.words)  # a plain sum is blind behind a norm
    (states.words * states.word_mask[..., None] * weights).sum().backward()
    without = [name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert [name for name in without if "key.bias" not in name] == []  # softmax does not see what shifts all keys alike


@pytest.mark.parametrize("kind", ["bert"], indirect=True)
def test_words_are_packed_as_torch_packs_them(
    config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window]
) -> None:
    encoder, batch = built(config, lstm_layers=2), batched([*windows, *windows[::-1]], vocabulary)
    assert encoder.word_layer.lstm is not None
    pieces = torch.randn(*batch.piece_ids.shape, encoder.piece_width, generator=torch.Generator().manual_seed(1))
    words = take(pieces, batch.first_piece)
    with torch.inference_mode():
        packed = pack_padded_sequence(words, torch.tensor(batch.lengths), batch_first=True, enforce_sorted=False)
        expected, _ = pad_packed_sequence(encoder.word_layer.lstm(packed)[0], batch_first=True)
        assert torch.equal(encoder.word_layer(pieces, batch), expected)


def test_the_lstm_reads_real_words_only(config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window]) -> None:
    encoder = built(config, lstm_layers=2)
    assert encoder.width == 16
    with torch.inference_mode():
        together = encoder(batched(windows, vocabulary))
        assert together.words.shape[-1] == 16
        assert together.words[~together.word_mask].abs().sum() == 0
        for b, window in enumerate(windows):
            alone = encoder(batched([window], vocabulary))
            torch.testing.assert_close(together.words[b, : len(window.words)], alone.words[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["bert"], indirect=True)
def test_word_states_can_be_made_from_kept_pieces(
    config: PreTrainedConfig, vocabulary: PieceVocabulary, windows: list[Window]
) -> None:
    encoder, batch = built(config), batched(windows, vocabulary)
    with torch.inference_mode():
        assert torch.equal(encoder.states(encoder.encode(batch), batch).words, encoder(batch).words)
        encoder.train()
        dropped = encoder.word_layer(torch.ones(*batch.piece_ids.shape, 16), batch)
    assert 0 < (dropped == 0).float().mean() < 0.5  # dropout on words, in training only
