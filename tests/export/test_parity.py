"""A model gives the same entities in every runtime and every batch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anyner
from anyner.architectures.draw import Draw
from anyner.architectures.numpy_head import READ, Arrays, NumpyHead
from anyner.architectures.registry import config_class, names, numpy_head_class
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.export.graph import add_graph, reading_step
from anyner.export.parity import CLOSE, Parity, compared
from anyner.inference.onnx_runtime import OnnxRuntime, renumbered
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe
from anyner.training.progress import EpochRecord, Listener

DOCUMENTS = [Document(one.text) for one in (*synthetic(4, seed=11), *synthetic(6, split="test"))]
ODD = [Document(" ".join(one.text for one in DOCUMENTS)), Document("pain"), Document(""), Document("Ärger 水 🙂 " + "x" * 300)]


@pytest.fixture(scope="module", params=names())
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model that has begun to find entities of all shapes."""
    folder, architecture = tmp_path_factory.mktemp(request.param), request.param
    data = str(folder / "data.jsonl")
    anyner.write(synthetic(4, seed=11).documents, data, "jsonl")
    fields = config_class(architecture).model_fields
    plain = {
        "data": {"train": [data] * 12, "dev": data, "augmentation": 0, "oversample_discontinuous": 1},
        "encoder": {"source": "from_scratch", "scratch_width": 32, "pooling": "max", "lstm_layers": 0, "word_shapes": 4},
        "architecture": architecture,
        "head": {"width": 32} if "width" in fields else {},
        "training": {"epochs": 8, "batch_sentences": 4, "encoder_lr": 6e-3, "head_lr": 6e-3, "word_dropout": 0,
            "adversarial": 0, "average_epochs": 0, "passages": False},
    }  # fmt: skip
    with suppress(_EnoughError):
        anyner.train(Recipe.of(plain, "recipe"), folder / "model", listener=_Until())
    yield folder / "model"


class _EnoughError(Exception):
    pass


class _Until(Listener):
    """Stops training once the model finds something: it is saved by then."""

    def epoch(self, record: EpochRecord) -> None:
        if (record.dev_f1 or 0) >= 0.15:
            raise _EnoughError


def loosest(recognizer: Recognizer) -> Recognizer:
    thresholds = {threshold.name: threshold.loosest for threshold in recognizer.runtime.head.config.thresholds()}
    recognizer.config = recognizer.config.updated({"thresholds": thresholds}, "config")
    return recognizer


def with_numpy_head(recognizer: Recognizer) -> Recognizer:
    """The model with its numpy head, whose steps run in torch: the exported model without its graph."""
    model, config = recognizer.model, recognizer.config
    steps = {READ: reading_step(model, has_cls=bool(recognizer.vocabulary.frame.prefix)), **model.head.steps()}

    @torch.inference_mode()
    def run(step: str, inputs: Arrays) -> dict[str, Any]:
        outputs = steps[step].function(*(torch.from_numpy(inputs[name]) for name in steps[step].examples))
        return {name: value.numpy() for name, value in outputs.items()}

    head: NumpyHead = numpy_head_class(config.architecture)(model.head.config, config.labels, run)
    frame, shapes = recognizer.vocabulary.frame, model.encoder.shapes
    runtime = OnnxRuntime(head, frame, shapes, None, model.encoder.most_pieces, Draw(config.seed))
    return Recognizer(runtime, recognizer.vocabulary, config)


def test_the_numpy_head_does_what_the_torch_head_does(trained: Path) -> None:
    in_torch = loosest(anyner.load(trained, runtime="torch"))
    parity = compared(in_torch, with_numpy_head(in_torch), [*DOCUMENTS, *ODD])
    assert parity.holds, parity
    assert parity.entities >= 5


@pytest.mark.parametrize("options", [{"span_classifier_alone": True}, {"after_step": 2}], ids=str)
def test_options_mean_the_same_as_in_torch(trained: Path, options: dict[str, Any]) -> None:
    in_torch = loosest(anyner.load(trained, runtime="torch"))
    if not options.keys() <= in_torch.runtime.head.CallOptions.model_fields.keys():
        pytest.skip("has no such option")
    both = (in_torch, with_numpy_head(in_torch))
    first, second = ([one.entities for one in ner.predict(DOCUMENTS, options=options)] for ner in both)
    assert [[entity.key for entity in own] for own in first] == [[entity.key for entity in own] for own in second]
    scores = [[entity.score for own in found for entity in own] for found in (first, second)]
    assert scores[0]
    assert scores[1] == pytest.approx(scores[0], abs=CLOSE)


@pytest.mark.slow
def test_the_graph_gives_the_same_entities(trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "model"))
    in_torch = loosest(anyner.load(folder, runtime="torch"))
    add_graph(in_torch, folder)
    parity = compared(in_torch, loosest(anyner.load(folder, runtime="onnx")), [*DOCUMENTS, *ODD])
    assert parity.holds and parity.entities >= 5, parity


@pytest.mark.slow
def test_word_shapes_and_a_bilstm_are_in_the_graph(tmp_path: Path) -> None:
    """The probability of every span, however small, of windows of different lengths."""
    plain = {
        "data": {"synthetic": {"sentences": 20}},
        "architecture": "biaffine",
        "encoder": {"source": "from_scratch", "scratch_width": 32, "lstm_layers": 2, "word_shapes": 8, "pooling": "mean"},
        "training": {"epochs": 2},
    }
    folder = anyner.train(Recipe.of(plain, "recipe"), tmp_path / "model").folder
    in_torch = anyner.load(folder, runtime="torch")
    add_graph(in_torch, folder)
    windows = in_torch.windows(DOCUMENTS)
    everything = replace(in_torch.decoding(), thresholds=dict.fromkeys(in_torch.config.thresholds, 0.0))
    one, other = (ner.runtime.propose(windows, everything) for ner in (in_torch, anyner.load(folder, runtime="onnx")))
    assert len({len(window.words) for window in windows}) > 3
    assert (one["place"] == other["place"]).all()
    assert np.ptp(one["score"]) > 0.1 * one["score"].mean(), "they differ from span to span"
    assert other["score"] == pytest.approx(one["score"], rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("model", ["general-en", "biomed-en"])
def test_a_bundled_model_gives_the_same_entities_with_its_graph(model: str) -> None:
    texts = [
        Document("Angela Merkel met executives of Siemens in Munich, and later of IBM in New York."),
        Document("Normal and malignant B cells express CD23 mRNA and the interleukin-2 receptor alpha chain."),
        Document("T cells"),
    ]
    parity = compared(*(loosest(anyner.load(model, runtime=runtime)) for runtime in ("torch", "onnx")), texts)
    assert parity.holds, parity
    assert parity.entities >= 4


def test_a_comparison_tells_other_entities(tiny_model: Path) -> None:
    strict = anyner.load(tiny_model, runtime="torch")
    strict.config = strict.config.updated({"thresholds": dict.fromkeys(strict.config.thresholds, 0.99)}, "config")
    documents = [Document(one.text) for one in synthetic(8, contiguous=True)]
    assert not compared(loosest(anyner.load(tiny_model, runtime="torch")), strict, documents).holds
    assert not Parity(10, 5, 0, 2 * CLOSE, 1.0).holds
    with pytest.raises(AnynerError, match="no documents"):
        compared(strict, strict, [])


@pytest.mark.parametrize("pad", [0, 1, 5])
def test_pieces_are_renumbered_and_padding_keeps_its_number(pad: int) -> None:
    pieces = np.array([[40, 7, 40, pad], [3, pad, pad, pad]])
    used, places = renumbered(pieces, pad)
    assert (used[places] == pieces).all()
    assert ((places == pad) == (pieces == pad)).all()
    assert len(used) == max(4, pad + 1)
