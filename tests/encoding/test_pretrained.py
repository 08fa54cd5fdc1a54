"""Encoders come from a folder, from a saved config or from scratch; no network, no foreign code."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, PreTrainedConfig, PreTrainedTokenizerFast
from transformers.utils import logging

from anyner.encoding.config import EncoderConfig
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import encoder_from_config, pretrained_encoder, train_vocabulary
from anyner.errors import AnynerError


def test_a_saved_config_builds_the_same_encoder_again(config: PreTrainedConfig) -> None:
    torch.manual_seed(0)
    encoder = encoder_from_config(config).eval()
    plain = json.loads(json.dumps(encoder.config.to_dict()))
    again = encoder_from_config(plain).eval()
    missing, unexpected = again.load_state_dict(encoder.state_dict())
    assert not missing
    assert not unexpected
    ids = torch.tensor([[20, 21, 22]])
    with torch.inference_mode():
        assert torch.equal(encoder(input_ids=ids).last_hidden_state, again(input_ids=ids).last_hidden_state)


def test_a_folder_gives_its_weights_and_vocabulary(config: PreTrainedConfig, vocabulary: PieceVocabulary, tmp_path: Path) -> None:
    torch.manual_seed(1)
    whole = AutoModel.from_config(config).eval()
    whole.save_pretrained(tmp_path)
    vocabulary.save(tmp_path)
    loaded, found = pretrained_encoder(EncoderConfig(source=str(tmp_path)), iter(()))
    assert found.frame == vocabulary.frame
    assert found.cut(["knee", "IL-2", "\x00"]) == vocabulary.cut(["knee", "IL-2", "\x00"])
    ids = torch.tensor([[20, 21, 22]])
    half = whole.get_encoder() if config.is_encoder_decoder else whole
    with torch.inference_mode():
        assert torch.equal(loaded.eval()(input_ids=ids).last_hidden_state, half(input_ids=ids).last_hidden_state)
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


@pytest.mark.filterwarnings("error")
def test_a_missing_pooler_is_not_reported(vocabulary: PieceVocabulary, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = {"model_type": "bert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 330}
    encoder_from_config(plain).save_pretrained(tmp_path)  # which leaves it out
    vocabulary.save(tmp_path)
    verbosity = logging.get_verbosity()
    pretrained_encoder(EncoderConfig(source=str(tmp_path)), iter(()))
    assert capfd.readouterr().err == ""
    assert logging.get_verbosity() == verbosity


def test_missing_weights_are_reported(vocabulary: PieceVocabulary, tmp_path: Path) -> None:
    plain = {"model_type": "bert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 330}
    small = encoder_from_config(plain)
    small.save_pretrained(tmp_path, state_dict={k: v for k, v in small.state_dict().items() if "intermediate" not in k})
    vocabulary.save(tmp_path)
    with pytest.warns(UserWarning, match=r"lacks 2 weights, the first encoder\.layer\.0\.intermediate\.\S+: initialized"):
        loaded, _ = pretrained_encoder(EncoderConfig(source=str(tmp_path)), iter(()))
    assert torch.equal(loaded.embeddings.word_embeddings.weight, small.embeddings.word_embeddings.weight)


def test_an_encoder_from_scratch_has_the_size_of_its_settings() -> None:
    encoder, vocabulary = pretrained_encoder(EncoderConfig(scratch_width=32), ["pain in the knee", "the knee"] * 5)
    assert encoder.config.hidden_size == 32
    assert encoder.config.num_hidden_layers == 2
    assert encoder.config.vocab_size == vocabulary.tokenizer.get_vocab_size() <= 60
    assert encoder.get_input_embeddings().padding_idx == vocabulary.frame.pad
    assert getattr(encoder, "pooler", None) is None


def test_the_same_texts_give_the_same_vocabulary() -> None:
    texts = ["pain in the left knee", "Pain in the hips", "kneeling hurts"] * 3
    one, other = train_vocabulary(texts, 100), train_vocabulary(iter(texts), 100)
    assert one.tokenizer.to_str() == other.tokenizer.to_str()
    assert one.cut(["Pain"]) != one.cut(["pain"])  # case is kept
    assert one.tokenizer.decode(list(one.cut(["knee"])[0])) == "knee"


@pytest.mark.parametrize("source", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c"])
def test_a_missing_folder_is_named_without_using_the_network(source: str) -> None:
    with pytest.raises(AnynerError, match=f"no such folder: {source}"):
        pretrained_encoder(EncoderConfig(source=source), [])


def test_a_folder_without_an_encoder_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"encoder\.source: cannot load") as caught:
        pretrained_encoder(EncoderConfig(source=str(tmp_path)), [])
    assert "\n" not in str(caught.value)
    (tmp_path / "config.json").write_text('{"model_type": "no such thing"}', encoding="utf-8")
    with pytest.raises(AnynerError, match=r"encoder\.source: cannot load") as caught:
        pretrained_encoder(EncoderConfig(source=str(tmp_path)), [])
    assert "\n" not in str(caught.value)


def test_an_unknown_encoder_type_in_a_saved_config_is_named() -> None:
    with pytest.raises(AnynerError, match="unknown encoder type 'mystery'"):
        encoder_from_config({"model_type": "mystery"})
    with pytest.raises(AnynerError, match="unknown encoder type None"):
        encoder_from_config({"hidden_size": 8})


def test_code_named_in_a_config_is_never_loaded() -> None:
    plain = {"model_type": "bert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 50}
    foreign = {**plain, "auto_map": {"AutoModel": "evil--evil.Model", "AutoConfig": "evil.Config"}}
    assert type(encoder_from_config(foreign)).__name__ == "BertModel"


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_kernels_named_in_a_config_are_never_loaded(key: str) -> None:
    plain = {"model_type": "bert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 50}
    built = encoder_from_config({**plain, key: "owner/kernels-from-a-hub"})
    assert built.config._attn_implementation in ("eager", "sdpa")


def test_a_folder_without_a_tokenizer_is_reported(config: PreTrainedConfig, tmp_path: Path) -> None:
    """The library would make an empty one, for which every word is unknown."""
    encoder_from_config(config).save_pretrained(tmp_path)
    with pytest.raises(AnynerError, match="no tokenizer in"):
        pretrained_encoder(EncoderConfig(source=str(tmp_path)), ())


def test_a_fast_tokenizer_saved_by_transformers_is_loaded(wordpiece: PieceVocabulary, tmp_path: Path) -> None:
    fast = PreTrainedTokenizerFast(tokenizer_object=wordpiece.tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    fast.save_pretrained(tmp_path)
    assert PieceVocabulary.load(tmp_path).frame == wordpiece.frame
