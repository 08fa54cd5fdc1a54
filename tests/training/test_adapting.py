"""An encoder learns to find hidden words, and a training starts from what it has become."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel, T5Config, T5Model

from anyner.document import Document
from anyner.encoding.pretrained import fresh_vocabulary
from anyner.errors import AnynerError
from anyner.text.windows import words_of
from anyner.training.adapting import Namer, adapt
from anyner.training.config import Recipe
from anyner.training.data import read_data
from anyner.training.progress import Silent
from anyner.training.run import run
from anyner.training.start import starting_encoder

FAST = ("adapting.epochs=8", "adapting.batch_tokens=1024", "adapting.lr=0.003", "adapting.held_out=0.1")


class Lines(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


def test_it_learns_to_find_hidden_words(
    tiny: Callable[..., Recipe], written: Callable[[Path, list[Document]], str], tmp_path: Path
) -> None:
    pairs = [("north", "south"), ("black", "white"), ("day", "night"), ("cat", "dog"), ("sun", "moon"), ("salt", "pepper")]
    path = written(tmp_path / "pairs.jsonl", [Document(" ".join(pairs[number % 6] * 5)) for number in range(60)])
    texts = ("data.synthetic=null", f"data.train={path}", f"data.dev={path}", "adapting.held_out=0.2")
    heard = Lines()
    slow = (*texts, "adapting.epochs=60", "adapting.batch_tokens=128", "adapting.lr=0.01", "adapting.head_lr=0.01")
    result = adapt(tiny(*slow), tmp_path / "adapted", listener=heard)
    told = [line for line in heard.lines if line.startswith("epoch")]
    assert result.epochs == len(told) == 60 and f"{result.found:.1%} of hidden pieces found" in told[-1]
    assert result.found > 0.9, told[-1]
    assert "600 words in 48 windows, and 12 windows apart" in heard.lines


def test_the_same_seed_gives_the_same_encoder_and_trainings_start_from_it(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny(*FAST, "adapting.epochs=2")
    for name in ("one", "two"):
        adapt(recipe, tmp_path / name)
    one, two = (
        starting_encoder(tiny(f"encoder.source={tmp_path / name}").encoder, ())[0].state_dict() for name in ("one", "two")
    )
    fresh = starting_encoder(recipe.encoder, read_data(recipe.data, recipe.text).train)[0].state_dict()
    assert one.keys() == two.keys() == fresh.keys()
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not all(torch.equal(one[key], fresh[key]) for key in one)
    model = run(tiny(f"encoder.source={tmp_path / 'one'}", "training.epochs=1"), tmp_path / "model")
    assert model.outcome.epochs == 1


def test_texts_of_dev_and_test_stay_unread_and_more_texts_are_read(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny(*FAST, "adapting.epochs=1", "data.coordinated=0.5")
    train = read_data(recipe.data.updated({"coordinated": 0.0}, "data"), recipe.text).train
    words = sum(len(list(words_of(one, recipe.text))) for one in train)
    assert adapt(recipe, tmp_path / "plain").words == words
    assert adapt(recipe, tmp_path / "more", [Document("four words of mine")]).words == words + 4


def test_pieces_are_named_as_by_the_library(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    whole = BertForMaskedLM(config).eval()
    namer = Namer(whole.bert)
    head = whole.cls.predictions
    with torch.no_grad():
        head.bias.normal_()
        namer.bias.copy_(head.bias)
        namer.dense.load_state_dict(head.transform.dense.state_dict())
        namer.norm.load_state_dict(head.transform.LayerNorm.state_dict())
        pieces = torch.randint(50, (2, 7))
        states = whole.bert(input_ids=pieces).last_hidden_state
        torch.testing.assert_close(namer(states.flatten(0, 1)), whole(input_ids=pieces).logits.flatten(0, 1))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_was_learned(tiny: Callable[..., Recipe], tmp_path: Path, number: int, code: int) -> None:
    class Impatient(Silent):
        def step(self, epoch: int, done: float, loss: float | None, seconds_left: float) -> None:
            if epoch == 2 and done < 1:
                signal.raise_signal(number)

    result = adapt(tiny(*FAST), tmp_path / "out", listener=Impatient())
    assert result.epochs == 1 and (tmp_path / "out/model.safetensors").is_file()
    assert result.exit_code == code


def test_a_full_disk_is_one_line_and_leaves_nothing(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, folder: Path) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", full)
    with pytest.raises(AnynerError, match=r"out: no space left on the disk$"):
        adapt(tiny(*FAST), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_adapted_is_refused(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    with pytest.raises(AnynerError, match="not an empty folder"):
        adapt(tiny(*FAST), tmp_path / "full")
    with pytest.raises(AnynerError, match="too short"):
        adapt(tiny("data.synthetic.train=1"), tmp_path / "out")
    half = T5Model(T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2))
    half.save_pretrained(tmp_path / "t5")
    fresh_vocabulary(["some text"], 40).save(tmp_path / "t5")
    with pytest.raises(AnynerError, match="t5 did not learn from hidden words"):
        adapt(tiny(f"encoder.source={tmp_path / 't5'}"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
