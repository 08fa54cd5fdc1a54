"""Whole words are masked, an encoder learns to predict them, and a training starts from it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel, T5Config, T5Model

from anyner.document import Document
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import train_vocabulary
from anyner.errors import AnynerError
from anyner.text.config import TextConfig
from anyner.text.windows import words_of
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.encoder import starting_encoder
from anyner.training.pretraining import IGNORED, MaskedLanguageHead, masked_batch, pretrain, window_batches, word_windows
from anyner.training.processes import Interrupted
from anyner.training.progress import Listener
from anyner.training.run import run

Noting = Callable[[], tuple[Listener, list[str]]]
FAST = ("training.encoder_lr=0.0015",)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.training.pretraining._BATCH_TOKENS", 128)


def test_it_learns_to_predict_masked_words(
    tiny: Callable[..., Recipe], noting: Noting, written: Callable[[Path, list[Document]], str], tmp_path: Path
) -> None:
    pairs = [("north", "south"), ("black", "white"), ("day", "night"), ("cat", "dog"), ("sun", "moon"), ("salt", "pepper")]
    path = written(tmp_path / "pairs.jsonl", [Document(" ".join(pairs[number % 6] * 5)) for number in range(240)])
    texts = ("data.synthetic=null", f"data.train={path}", f"data.dev={path}")
    listener, lines = noting()
    slow = (*texts, "training.encoder_lr=0.005")
    result = pretrain(tiny(*slow), tmp_path / "encoder", epochs=15, listener=listener)
    epochs = [line for line in lines if line.startswith("epoch")]
    assert len(epochs) == 15 and f"masked pieces predicted {result.accuracy:.1%}" in epochs[-1]
    assert result.accuracy > 0.9, epochs[-1]
    assert "2,400 words in 235 windows for training, 5 held out" in lines


def test_the_same_seed_gives_the_same_encoder_and_trainings_start_from_it(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny(*FAST)
    for name in ("one", "two"):
        pretrain(recipe, tmp_path / name, epochs=2)
    one, two = (
        starting_encoder(tiny(f"encoder.source={tmp_path / name}").encoder, ())[0].state_dict() for name in ("one", "two")
    )
    untrained = starting_encoder(recipe.encoder, read_data(recipe.data, recipe.text).train)[0].state_dict()
    assert one.keys() == two.keys() == untrained.keys()
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not all(torch.equal(one[key], untrained[key]) for key in one)
    model = run(tiny(f"encoder.source={tmp_path / 'one'}", "training.epochs=1"), tmp_path / "model")
    assert model.outcome.epochs == 1


def test_texts_of_dev_and_test_stay_unread_and_more_texts_are_read(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny(*FAST, "data.augmentation=0.5")
    train = read_data(recipe.data.documents_only(), recipe.text).train
    words = sum(len(list(words_of(one, recipe.text))) for one in train)
    assert pretrain(recipe, tmp_path / "plain", epochs=1).words == words
    assert pretrain(recipe, tmp_path / "more", [Document("four words of mine")], epochs=1).words == words + 4


def test_the_head_equals_that_of_the_library(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    whole = BertForMaskedLM(config).eval()
    head = MaskedLanguageHead(whole.bert)
    theirs = whole.cls.predictions
    with torch.no_grad():
        theirs.bias.normal_()
        head.bias.copy_(theirs.bias)
        head.dense.load_state_dict(theirs.transform.dense.state_dict())
        head.norm.load_state_dict(theirs.transform.LayerNorm.state_dict())
        pieces = torch.randint(50, (2, 7))
        states = whole.bert(input_ids=pieces).last_hidden_state
        torch.testing.assert_close(head(states.flatten(0, 1)), whole(input_ids=pieces).logits.flatten(0, 1))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_after_a_signal_the_next_call_resumes_exactly(
    tiny: Callable[..., Recipe], noting: Noting, tmp_path: Path, number: int, code: int
) -> None:
    class Impatient(Listener):
        def step(self, epoch: int, done: float, loss: float | None, seconds_left: float) -> None:
            if epoch == 2 and done < 1:
                signal.raise_signal(number)

    with pytest.raises(Interrupted) as stopped:
        pretrain(tiny(*FAST), tmp_path / "out", epochs=3, listener=Impatient())
    assert stopped.value.exit_code == code
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["checkpoint.safetensors"]
    with pytest.raises(AnynerError, match="cannot resume"):
        pretrain(tiny(*FAST), tmp_path / "out", [Document("another text")], epochs=3)
    listener, lines = noting()
    result = pretrain(tiny(*FAST), tmp_path / "out", epochs=3, listener=listener)
    assert not any(line.startswith("epoch 1") for line in lines)
    whole = pretrain(tiny(*FAST), tmp_path / "whole", epochs=3)
    assert result.accuracy == whole.accuracy
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("out", "whole")]
    assert files[0] == files[1] and not (tmp_path / "out/checkpoint.safetensors").exists()


@pytest.mark.parametrize("renamed", [1, 2, 3])
def test_a_kill_while_the_files_are_put_in_place_leaves_no_encoder_and_the_next_call_continues(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    class Killed(BaseException):
        pass

    out, replace = tmp_path / "out", Path.replace

    def dying(path: Path, target: Path) -> Path:
        if target.parent == out and len([*out.glob("*.json"), *out.glob("*.safetensors")]) == renamed:
            raise Killed
        return replace(path, target)

    recipe = tiny("data.synthetic.sentences=8", *FAST)
    with monkeypatch.context() as killing:
        killing.setattr(Path, "replace", dying)
        with pytest.raises(Killed):
            pretrain(recipe, out, epochs=1)
    assert not (out / "config.json").exists()
    pretrain(recipe, out, epochs=1)
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in out.iterdir()} == names
    with pytest.raises(AnynerError, match="not an empty folder"):
        pretrain(recipe, out, epochs=1)


def test_it_is_refused_in_several_processes(tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(AnynerError, match=r"^pre-training runs in one process .* start it without torchrun"):
        pretrain(tiny(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_line_and_leaves_nothing(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, folder: Path) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", full)
    with pytest.raises(AnynerError, match=r"out: no space left on the disk$"):
        pretrain(tiny(*FAST), tmp_path / "out", epochs=1)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_pretrained_is_refused(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    with pytest.raises(AnynerError, match="not an empty folder"):
        pretrain(tiny(*FAST), tmp_path / "full")
    with pytest.raises(AnynerError, match="too little text for pre-training: 1 windows"):
        pretrain(tiny("data.synthetic.sentences=1"), tmp_path / "out")
    half = T5Model(T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2))
    half.save_pretrained(tmp_path / "t5")
    train_vocabulary(["some text"], 40).save(tmp_path / "t5")
    with pytest.raises(AnynerError, match="t5 cannot be pre-trained here"):
        pretrain(tiny(f"encoder.source={tmp_path / 't5'}"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


TEXTS = ["alpha beta gamma alphabetagamma", "beta gammabeta", "alpha", "gamma gamma betaalpha delta"]


@pytest.fixture(scope="module")
def vocabulary() -> PieceVocabulary:
    return train_vocabulary(TEXTS, 30)


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
    vocabulary, text = train_vocabulary(TEXTS, 30), TextConfig()
    frame = len(vocabulary.frame.prefix) + len(vocabulary.frame.suffix)
    windows = list(word_windows(parts, text, vocabulary, most))
    assert all(windows) and all(sum(map(len, window)) + frame <= most for window in windows)
    words_of_parts = [[one.text[start:end] for start, end in words_of(one, text)] for one in parts]
    assert list(chain.from_iterable(windows)) == vocabulary.cut(list(chain.from_iterable(words_of_parts)))
    ends = {sum(map(len, windows[: number + 1])) for number in range(len(windows))}
    seen = 0
    for number, words in enumerate(words_of_parts):
        follows = number and parts[number].doc is not None and parts[number].doc == parts[number - 1].doc
        if number and seen and not follows:
            assert seen in ends, "a window has words of two docs"
        seen += len(words)


def test_words_are_masked_whole(vocabulary: PieceVocabulary) -> None:
    words = tuple(vocabulary.cut(["alpha", "alphabetagamma", "gammabeta", "delta"] * 500))
    batch_pieces, attention, targets = masked_batch([words, words[:3]], vocabulary, np.random.default_rng(0))
    prefix = len(vocabulary.frame.prefix)
    pieces = np.array(list(chain.from_iterable(words)))
    target = targets[0, prefix : prefix + len(pieces)].numpy()
    shown = batch_pieces[0, prefix : prefix + len(pieces)].numpy()
    masked = target != IGNORED
    assert (target[masked] == pieces[masked]).all() and (shown[~masked] == pieces[~masked]).all()
    stops = np.cumsum([len(word) for word in words])
    whole = [set(masked[stop - len(word) : stop].tolist()) for stop, word in zip(stops, words, strict=True)]
    assert all(len(of_word) == 1 for of_word in whole)
    assert 0.17 < np.mean([True in of_word for of_word in whole]) < 0.23
    replaced = shown[masked] == vocabulary.frame.unknown  # a vocabulary from scratch has no mask piece
    assert 0.7 < replaced.mean() < 0.9 and 0.05 < (shown[masked] == pieces[masked]).mean() < 0.2
    own = int(attention[1].sum())
    assert own == prefix + sum(map(len, words[:3])) + len(vocabulary.frame.suffix)
    assert (targets[1, own:] == IGNORED).all() and (batch_pieces[1, own:] == vocabulary.frame.pad).all()


def test_masking_depends_on_the_seed_alone(vocabulary: PieceVocabulary) -> None:
    words = tuple(vocabulary.cut(["alpha", "beta"] * 50))
    one, again, other = (masked_batch([words], vocabulary, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one[0].equal(again[0]) and one[2].equal(again[2])
    assert not one[2].equal(other[2])


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(40, 200))
def test_a_plan_has_every_window_once_in_batches_that_fit(sizes: list[int], tokens: int) -> None:
    vocabulary = train_vocabulary(TEXTS, 30)
    windows = [((vocabulary.frame.unknown,),) * size for size in sizes]
    plan = window_batches(windows, vocabulary, tokens, np.random.default_rng(0))
    assert sorted(map(len, chain.from_iterable(plan))) == sorted(sizes)
    assert all(masked_batch(batch, vocabulary, np.random.default_rng(0))[0].numel() <= tokens for batch in plan)
