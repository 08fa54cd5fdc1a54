"""How fast a model predicts, as ratios within one run on the same documents.

device ratio      time of encoder + head from prepared tensors to proposals, over that of the encoder alone
end to end        from documents to documents, in sentences per second
end-to-end ratio  time of the same, over that of tokenising and encoding the documents
over torch        rates of the other runtimes on a CPU, all documents at once and the first 200 one by one, if there is a graph

python benchmarks/speed.py MODEL CORPUS -o benchmarks/results/speed-NAME.json
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from script import add_plugins, header, import_plugins, parser_of, run, write_result

import anyner
from anyner.corpora.source_documents import neighbours_attached
from anyner.document import Document
from anyner.encoding.batch import Batch, batch_of
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference import RuntimeName
from anyner.inference.batching import batches, longest_first, window_size
from anyner.inference.recognizer import Recognizer
from anyner.inference.torch_runtime import arithmetic
from anyner.storage.graph import graph_of
from anyner.storage.load import find

ONE_BY_ONE = 200
"""Number of documents that are read one by one."""
DEVICE_TOKENS = 65_536
"""Batches for the device ratio are this large, so that computation is measured and not the launch of kernels."""


def device_batches(recognizer: Recognizer, documents: tuple[Document, ...], tokens: int) -> list[Batch]:
    windows = recognizer.windows(documents)
    sizes = [window_size(window) for window in windows]
    frame = recognizer.vocabulary.frame
    device, shapes = recognizer.runtime.device, recognizer.model.encoder.shapes
    return [
        batch_of([windows[i] for i in places], frame, shapes).to(device)
        for places in batches(sizes, longest_first(windows), tokens)
    ]


def with_neighbours(recognizer: Recognizer, documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """The documents as the model reads them: with neighbouring sentences if it was trained with them."""
    context = recognizer.config.text.context
    return neighbours_attached(documents, context) if context else documents


@dataclass(frozen=True, slots=True)
class Entrant:
    """A model to time on documents; `corpus` is their name."""

    recognizer: Recognizer
    documents: tuple[Document, ...]
    corpus: str
    batch_tokens: int | None = None
    """Default: as prediction chooses."""


def speeds(entrants: Sequence[Entrant], repeats: int) -> list[dict[str, Any]]:
    """The speed of each, timed in rounds, so that a temporary slowdown of the machine affects all of them alike."""
    works = [_works(entrant) for entrant in entrants]
    fastest = iter(in_rounds([work for own in works for work in own], repeats))
    return [_result(entrant, *islice(fastest, len(own))) for entrant, own in zip(entrants, works, strict=True)]


def in_rounds(works: Sequence[Callable[[], object]], repeats: int, clock: str = "perf_counter") -> list[float]:
    """The fastest of several runs of each, in seconds: its time without interference. The first round is a warm-up."""
    rounds = [[_seconds(work, clock) for work in works] for _ in range(repeats + 1)]
    return [min(times) for times in zip(*rounds[1:], strict=True)]


def _seconds(work: Callable[[], object], clock: str) -> float:
    now: Callable[[], float] = getattr(time, clock)
    began = now()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return now() - began


def _works(entrant: Entrant) -> list[Callable[[], object]]:
    """What is timed: encoding, encoding to proposals, tokenising and encoding, documents to documents."""
    recognizer, tokens = entrant.recognizer, entrant.batch_tokens or entrant.recognizer.batch_tokens
    documents = with_neighbours(recognizer, entrant.documents)
    model, decoding, draw = recognizer.model.eval(), recognizer.decoding(), recognizer.runtime.draw
    device, precision = recognizer.runtime.device, recognizer.runtime.precision
    ready = device_batches(recognizer, documents, DEVICE_TOKENS)

    @torch.no_grad()
    def encode(prepared: list[Batch]) -> None:
        with arithmetic(device, precision):
            for batch in prepared:
                model.encoder.encode(batch)

    @torch.no_grad()
    def propose() -> None:
        with arithmetic(device, precision):
            for batch in ready:
                model.propose(batch, decoding, draw)

    return [
        lambda: encode(ready),
        propose,
        lambda: encode(device_batches(recognizer, documents, tokens)),
        lambda: list(recognizer.stream(documents, batch_tokens=tokens)),
    ]


def _result(
    entrant: Entrant, encoder_alone: float, to_proposals: float, tokenise_and_encode: float, end_to_end: float
) -> dict[str, Any]:
    config, number = entrant.recognizer.config, len(entrant.documents)
    return {
        **header("speed"),
        "architecture": config.architecture,
        "encoder": Path(config.encoder.source).name,
        "corpus": entrant.corpus,
        "documents": number,
        "batch_tokens": entrant.batch_tokens or entrant.recognizer.batch_tokens,
        "device_ratio_batch_tokens": DEVICE_TOKENS,
        "device_ratio": round(to_proposals / encoder_alone, 3),
        "end_to_end_sentences_per_second": round(number / end_to_end, 1),
        "end_to_end_ratio": round(end_to_end / tokenise_and_encode, 3),
        "encoder_alone_seconds": round(encoder_alone, 4),
        "to_proposals_seconds": round(to_proposals, 4),
        "tokenise_and_encode_seconds": round(tokenise_and_encode, 4),
        "end_to_end_seconds": round(end_to_end, 4),
    }


def runtimes(ways: Mapping[str, Recognizer], documents: tuple[Document, ...], repeats: int) -> dict[str, Any]:
    """One model with each runtime on a CPU, timed in turn, in CPU seconds: other processes affect them less."""
    documents = with_neighbours(ways["torch"], documents)
    few = documents[:ONE_BY_ONE]
    works: list[Callable[[], object]] = [partial(_at_once, way, documents) for way in ways.values()]
    works += [partial(_one_by_one, way, few) for way in ways.values()]
    seconds = in_rounds(works, repeats, "process_time")
    at_once, single = dict(zip(ways, seconds, strict=False)), dict(zip(ways, seconds[len(ways) :], strict=True))
    measured: dict[str, Any] = {}
    for name in ways:
        if name != "torch":
            measured[f"{name}_over_torch_at_once"] = round(at_once["torch"] / at_once[name], 3)
            measured[f"{name}_over_torch_one_by_one"] = round(single["torch"] / single[name], 3)
        measured[f"{name}_sentences_per_second"] = round(len(documents) / at_once[name], 1)
        measured[f"{name}_milliseconds_one_by_one"] = round(1000 * single[name] / len(few), 2)
        measured[f"{name}_f1"] = round(evaluate_documents(documents, _at_once(ways[name], documents)).strict.f1, 5)
    return measured


def _at_once(recognizer: Recognizer, documents: Sequence[Document]) -> list[Document]:
    return list(recognizer.stream(documents))


def _one_by_one(recognizer: Recognizer, documents: Sequence[Document]) -> list[Document]:
    return [recognizer.predict(document) for document in documents]


def corpus_name(path: Path) -> str:
    """data/genia/test.jsonl.xz -> genia, data/genia/dev.jsonl -> genia-dev, posts.jsonl -> posts."""
    stem = path.name.split(".")[0]
    if stem not in ("train", "dev", "test") or not path.parent.name:
        return stem
    return path.parent.name if stem == "test" else f"{path.parent.name}-{stem}"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--batch-tokens", type=int, help="default: as prediction chooses")
    parser.add_argument("--most", type=int, help="maximum number of documents, drawn from all; default: all")
    parser.add_argument("--runtimes", action="store_true", help="only compare the runtimes on a CPU")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each timing; the fastest counts")
    parser.add_argument("-o", "--output")
    add_plugins(parser)
    arguments = parser.parse_args()
    import_plugins(arguments.plugin)
    documents = anyner.read(arguments.corpus).documents
    if arguments.most is not None:
        documents = tuple(Random(1).sample(documents, min(arguments.most, len(documents))))
    entrant = Entrant(
        anyner.load(arguments.model, runtime="torch"), documents, corpus_name(arguments.corpus), arguments.batch_tokens
    )
    if arguments.runtimes:
        known = {"corpus": entrant.corpus, "documents": len(documents), "model": arguments.model}
        measured = {**header("runtimes"), **known, "threads": torch.get_num_threads()}
    else:
        (measured,) = speeds([entrant], arguments.repeats)
    if (graph := graph_of(find(arguments.model))) is not None:
        names: list[RuntimeName] = ["torch", "onnx", "int8"] if graph.int8 else ["torch", "onnx"]
        ways = {str(name): anyner.load(arguments.model, device="cpu", runtime=name) for name in names}
        measured |= runtimes(ways, documents, arguments.repeats)
    print(json.dumps(measured, indent=1))
    write_result(measured, arguments.output)


if __name__ == "__main__":
    run(main)
