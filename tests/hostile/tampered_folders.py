"""Model folders that somebody tampered with, made one after the other from a good one."""

from __future__ import annotations

import base64
import json
import pickle
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Tamper = Callable[[Path], None]
SECRET = "a-secret-of-somebody-else"


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, tripwire: Path) -> None:
        self.tripwire = tripwire

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.tripwire,))


def nested(levels: int, bottom: Any = 1) -> Any:
    for _ in range(levels):
        bottom = [bottom]
    return bottom


def places(plain: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every key, those inside other objects too."""
    for key, value in plain.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, (*above, key))


def changed(file: str, path: tuple[str, ...], value: Any = None, *, remove: bool = False) -> Tamper:
    def tamper(folder: Path) -> None:
        whole = json.loads((folder / file).read_text(encoding="utf-8"))
        inner = whole
        for key in path[:-1]:
            inner = inner[key]
        if remove:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        (folder / file).write_text(json.dumps(whole), encoding="utf-8")

    return tamper


def every_key(good: Path) -> Iterator[tuple[str, Tamper]]:
    """Each key of config.json: removed, of another type, absurd."""
    plain = json.loads((good / "config.json").read_text(encoding="utf-8"))
    values = {"text": "x\ny", "object": {"a": {"auto_map": 1}}, "huge": 10**12, "negative": -5, "deep": nested(20)}
    for path in places(plain):
        name = ".".join(path)
        yield f"{name} removed", changed("config.json", path, remove=True)
        for kind, value in values.items():
            yield f"{name} {kind}", changed("config.json", path, value)
    for group in ("head", "text", "encoder", "pretrained", "options", "thresholds"):
        yield f"{group} unknown", changed("config.json", (group, "unknown_key"), 1)


def encoders(tripwire: Path) -> dict[str, dict[str, Any]]:
    """Configs of encoders that would run code, ask the network, or take all memory."""
    code = {"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil", "AutoBackbone": "owner/evil--evil.Evil"}
    # of the model in tests/conftest.py, whose corpus has so many pieces
    sizes = {"vocab_size": 589, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    bert = {"model_type": "bert", **sizes}
    return {
        "llava with code": {
            "model_type": "llava",
            "vision_config": {"model_type": "blip_2_vision_model", "auto_map": code},
            "text_config": {"model_type": "llama", "auto_map": code},
        },
        "encoder-decoder": {"model_type": "encoder-decoder", "encoder": {**bert, "auto_map": code}, "decoder": {**bert}},
        "detr": {"model_type": "detr", "backbone": "resnet50", "use_pretrained_backbone": True, "use_timm_backbone": True},
        "dpt": {"model_type": "dpt", "backbone": "owner/backbone", "use_pretrained_backbone": True, "is_hybrid": False},
        "mask2former": {"model_type": "mask2former", "backbone_config": {"model_type": "swin", "auto_map": code}},
        "timm": {"model_type": "timm_wrapper", "architecture": "resnet18"},
        "code": {
            **bert,
            "auto_map": code,
            "custom_pipelines": {"ner": {"impl": "evil.Evil"}},
            "_name_or_path": str(tripwire.parent),
        },
        "code inside": {**bert, "vision_config": {"model_type": "llava", "auto_map": code}, "text_config": {"auto_map": code}},
        "code in a list": {**bert, "layer_types": [{"auto_map": code, "model_type": "llava"}]},
        "backbone": {
            **bert,
            "backbone": "resnet50",
            "use_pretrained_backbone": True,
            "backbone_config": {"model_type": "resnet"},
        },
        "kernels": {**bert, "attn_implementation": "owner/kernels", "_attn_implementation": "owner/kernels", "use_kernels": True},
        "quantized": {**bert, "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}},
        "weights elsewhere": {**bert, "transformers_weights": "../../elsewhere.safetensors", "tokenizer_class": "evil.Evil"},
        "positions": {**bert, "max_position_embeddings": 9_000_000},
        "width": {**bert, "hidden_size": 9_000_000, "num_attention_heads": 1},
        "layers": {**bert, "num_hidden_layers": 20_000},
        "fewer layers": {**bert, "num_hidden_layers": 250},
        "layers of modernbert": {"model_type": "modernbert", **sizes, "num_hidden_layers": 10**9},
        "sinusoidal": {"model_type": "distilbert", "sinusoidal_pos_embds": True, "max_position_embeddings": 9_000_000},
        "labels": {**bert, "num_labels": 10**10},
        "decoder": {"model_type": "t5", **sizes, "num_decoder_layers": 250, "d_ff": 1_000_000},
        "no kind": {**sizes},
        "kind is a list": {**sizes, "model_type": ["bert"]},
        "long kind": {**sizes, "model_type": "b\n" * 10_000},
    }


def tokenizers() -> dict[str, dict[str, Any]]:
    """What takes the place of parts of tokenizer.json."""
    doubled = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    anywhere = {"type": "Replace", "pattern": {"Regex": ""}, "content": "b" * 900}
    deep: dict[str, Any] = {"type": "Lowercase"}
    for _ in range(60):
        deep = {"type": "Sequence", "normalizers": [deep]}
    mapped = base64.b64encode(struct.pack("<I", 1024) + bytes(1024) + b"x" * 100_000 + b"\0").decode()
    bytes_again = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    item = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    template = {"type": "TemplateProcessing", "pair": [item], "single": [item, {"Sequence": {"id": "A", "type_id": 0}}]}
    special = {"[CLS]": {"id": "[CLS]", "ids": [10**6], "tokens": ["[CLS]"]}}
    many = {"[CLS]": {"id": "[CLS]", "ids": [2] * 10**5, "tokens": ["[CLS]"] * 10**5}}
    return {
        "doubling": {"normalizer": {"type": "Sequence", "normalizers": [doubled] * 40}},
        "between": {"normalizer": {"type": "Sequence", "normalizers": [anywhere] * 4}},
        "long": {"normalizer": {**doubled, "content": "a" * 10**6}},
        "deep": {"normalizer": deep},
        "many": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}] * 10**5}},
        "mapped": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": mapped}},
        "not mapped": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA="}},
        "bytes again": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [bytes_again] * 40}},
        "unknown step": {"pre_tokenizer": {"type": "Evil"}},
        "bad pattern": {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Isolated", "invert": False}},
        "id out of range": {"post_processor": {**template, "special_tokens": special}},
        "endless frame": {"post_processor": {**template, "special_tokens": many}},
        "padding": {
            "padding": {"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
        },
        "truncation": {"truncation": {"max_length": 0, "strategy": "LongestFirst", "stride": 10**9, "direction": "Right"}},
        "no model": {"model": None},
        "empty": {"model": {"type": "WordPiece", "vocab": {}, "unk_token": "[UNK]"}},
        "nothing known": {"model": {"type": "WordLevel", "vocab": {"zzz": 0}, "unk_token": "gone"}, "added_tokens": []},
        "large id": {"model": {"type": "WordLevel", "vocab": {"a": 4_000_000_000}, "unk_token": "a"}},
        "negative id": {"model": {"type": "WordLevel", "vocab": {"a": -1}, "unk_token": "a"}},
        "unigram": {"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 99}},
        "bad merges": {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}},
        "added far off": {"added_tokens": [{"id": 10**6, "content": "evil", "special": True}]},
        "decoder": {"decoder": {"type": "Sequence", "decoders": [doubled] * 5000}},
    }


def with_parts(parts: dict[str, Any]) -> Tamper:
    def tamper(folder: Path) -> None:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | parts), encoding="utf-8")

    return tamper


def with_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Tamper:
    """Other weights under a checksum that is left out, so that the weights themselves are looked at."""

    def tamper(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")
        changed("config.json", ("weights_sha256",))(folder)

    return tamper


def other_weights() -> dict[str, Tamper]:
    def filled(value: float) -> Tamper:
        return with_weights(lambda weights: weights[sorted(weights)[0]].flatten()[:1].fill_(value))

    def all_as(dtype: torch.dtype) -> Tamper:
        return with_weights(lambda weights: weights.update({name: weight.to(dtype) for name, weight in weights.items()}))

    def damaged(folder: Path) -> None:
        content = bytearray((folder / "model.safetensors").read_bytes())
        content[-2] ^= 1
        (folder / "model.safetensors").write_bytes(content)

    dtypes = (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.bool, torch.float8_e4m3fn)
    return {
        **{f"weights {value}": filled(value) for value in (float("nan"), float("inf"), float("-inf"))},
        **{f"weights {dtype}": all_as(dtype) for dtype in dtypes},
        "weights damaged": damaged,
        "weights none": with_weights(lambda weights: weights.clear()),
        "weights named oddly": with_weights(lambda weights: weights.update({"a\nb" * 1000: torch.zeros(1)})),
        "weights rows": with_weights(
            lambda weights: weights.update({"x.int8_rows": torch.zeros(()), "x.int8_scale": torch.zeros(())})
        ),
        "weights rows of 4 bits": with_weights(
            lambda weights: weights.update({"x.int4_rows": torch.zeros(2, 3), "x.int4_scale": torch.zeros(2, 5)})
        ),
    }


def with_header(header: Any, length: int | None = None) -> Tamper:
    def tamper(folder: Path) -> None:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        size = struct.pack("<Q", len(text) if length is None else length)
        (folder / "model.safetensors").write_bytes(size + text + bytes(64))

    return tamper


def headers() -> dict[str, Tamper]:
    one = {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}
    return {
        "header empty": with_header({}),
        "header list": with_header([1]),
        "header deep": with_header(b"[" * 50_000),
        "header not json": with_header(b"\x80\x04evil"),
        "header endless": with_header(one, 2**63),
        "header too long": with_header(one, 10**6),
        "header absurd shape": with_header({"a": {**one, "shape": [2**62, 2**62]}}),
        "header negative shape": with_header({"a": {**one, "shape": [-4, -4]}}),
        "header offsets": with_header({"a": {**one, "data_offsets": [0, 2**40]}}),
        "header backwards": with_header({"a": {**one, "data_offsets": [64, 0]}}),
        "header overlapping": with_header({"a": one, "b": one}),
        "header dtype": with_header({"a": {**one, "dtype": "PICKLE"}}),
        "header metadata": with_header({"__metadata__": {"auto_map": "evil"}, "a": one}),
        "header other": with_header({"a": one}),
    }


def files(secret: Path, tripwire: Path) -> Iterator[tuple[str, Tamper]]:
    """Files that are missing, cut short, of another kind, or links to files outside the folder."""

    def replaced(name: str, content: bytes) -> Tamper:
        return lambda folder: void((folder / name).unlink(), (folder / name).write_bytes(content))

    def linked(name: str, target: Path) -> Tamper:
        return lambda folder: void((folder / name).unlink(), (folder / name).symlink_to(target))

    def cut(name: str, share: float) -> Tamper:
        return lambda folder: void((folder / name).write_bytes(part((folder / name).read_bytes(), share)))

    def beside(name: str, content: bytes) -> Tamper:
        return lambda folder: void((folder / name).write_bytes(content))

    bomb = pickle.dumps(Bomb(tripwire))
    code = f"from pathlib import Path\nPath({str(tripwire)!r}).touch()\nclass Evil: pass\n".encode()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        for share in (0.0, 0.1, 0.5, 0.99):
            yield f"{name} cut {share}", cut(name, share)
        for kind, content in {
            "a pickle": bomb,
            "zeros": bytes(10_000),
            "deep": b"[" * 200_000,
            "deep objects": b'{"a":' * 100_000,
            "a list": b"[]",
            "a number": b"7",
            "digits": b"1" * 50_000,
            "not a number": b'{"architecture": NaN, "model": Infinity}',
            "half a character": b'{"architecture": "\\ud800", "model": {"vocab": "\\udc00"}}',
            "huge": b'{"a": "' + b"x" * (5 << 20) + b'"}',
        }.items():
            yield f"{name} is {kind}", replaced(name, content)
        yield f"{name} missing", lambda folder, name=name: (folder / name).unlink()  # type: ignore[misc]
        yield f"{name} links to a secret", linked(name, secret)
        yield f"{name} links to zeros", linked(name, Path("/dev/zero"))
        yield f"{name} links to nothing", linked(name, Path("/nowhere"))
        yield f"{name} links to itself", linked(name, Path(name))
    for name in ("pytorch_model.bin", "model.pt", "vocab.pkl", "training_args.bin", "features.json"):
        yield f"{name} beside", beside(name, bomb)
    for name in ("evil.py", "sitecustomize.py", "modeling_evil.py", "__init__.py", "torch.py"):
        yield f"{name} beside", beside(name, code)
    yield "adapter beside", beside("adapter_config.json", b'{"base_model_name_or_path": "owner/evil"}')


def part(content: bytes, share: float) -> bytes:
    return content[: int(share * len(content))]


def void(*_: object) -> None:
    """Makes one expression of several steps."""


def of_an_architecture(good: Path, tripwire: Path, every: int) -> Iterator[tuple[str, Tamper]]:
    """What may depend on the architecture: the encoder, and every setting of the head out of range, or one of `every` so many."""
    yield "as it was", lambda folder: None
    for name in ("llava with code", "detr", "dpt", "code inside", "positions"):
        yield f"encoder: {name}", changed("config.json", ("pretrained",), encoders(tripwire)[name])
    yield from islice(every_setting(good), 0, None, every)


def every_setting(good: Path) -> Iterator[tuple[str, Tamper]]:
    plain = json.loads((good / "config.json").read_text(encoding="utf-8"))
    for group in ("head", "options"):
        for key in plain[group]:
            for value in (100_000, -5):
                yield f"{group}.{key} {value}", changed("config.json", (group, key), value)


def everything(good: Path, secret: Path, tripwire: Path, every: int) -> Iterator[tuple[str, Tamper]]:
    """All kinds of tampering; of the changes to keys, by far the most, one of `every` so many."""
    yield "as it was", lambda folder: None
    yield from files(secret, tripwire)
    for name, plain in encoders(tripwire).items():
        yield f"encoder: {name}", changed("config.json", ("pretrained",), plain)
    for name, parts in tokenizers().items():
        yield f"tokenizer: {name}", with_parts(parts)
    yield from other_weights().items()
    yield from headers().items()
    for key in ("auto_map", "tokenizer_class", "pad_token", "tokenizer_file", "unk_token"):
        for kind, value in {"text": "evil.Evil", "object": {"AutoTokenizer": "evil--evil.Evil"}, "number": 10**12}.items():
            yield f"tokenizer_config.json {key} {kind}", changed("tokenizer_config.json", (key,), value)
    yield from islice(every_key(good), 0, None, every)
