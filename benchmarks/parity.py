"""Whether models give the same entities with ONNX Runtime as in torch, in batches of 1, 7 and 64 documents and in several orders.

python benchmarks/parity.py general-en data/conll03/test.jsonl
python benchmarks/parity.py --trained 60

The second trains a small model of every architecture on the synthetic corpus, for that many epochs at most, and reads other
sentences of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from script import header, parser_of, run, write_result

import anyner
from anyner.architectures.registry import names
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.export.graph import add_graph
from anyner.export.parity import compared

ENCODER = {"source": "from_scratch", "scratch_width": 64, "pooling": "max", "lstm_layers": 0}


def measured(model: str | Path, documents: Sequence[Document]) -> dict[str, Any]:
    both = (anyner.load(model, device="cpu", runtime=runtime) for runtime in ("torch", "onnx"))
    parity = compared(*both, documents)
    return {"holds": parity.holds, **{key: value for key, value in asdict(parity).items() if key != "speedup"}}


def of_architectures(epochs: int, documents: Sequence[Document]) -> dict[str, Any]:
    found = {}
    for architecture in names():
        with TemporaryDirectory() as folder:
            recipe = {
                "data": {"synthetic": {"sentences": 200}},
                "architecture": architecture,
                "encoder": ENCODER,
                "training": {"epochs": epochs, "encoder_lr": 2e-3, "head_lr": 2e-3, "patience": 10},
            }
            trained = anyner.train(recipe, Path(folder) / "model", graph=False)
            add_graph(anyner.load(trained.folder, device="cpu", runtime="torch"), trained.folder)
            found[architecture] = {"dev_f1": trained.outcome.best_f1, **measured(trained.folder, documents)}
            print(architecture, json.dumps(found[architecture]), flush=True)
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", nargs="?")
    parser.add_argument("corpus", nargs="*")
    parser.add_argument("--trained", type=int, metavar="EPOCHS")
    parser.add_argument("--most", type=int, default=2000, help="maximum number of texts, drawn from all")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    if (arguments.trained is None) == (not arguments.corpus):
        raise AnynerError("give a model and a corpus, or --trained")
    if arguments.trained is not None:
        documents = [Document(one.text) for one in synthetic(arguments.most, seed=5, split="test")]
        result = of_architectures(arguments.trained, documents)
    else:
        documents = [Document(one.text) for corpus in arguments.corpus for one in anyner.read(corpus).documents]
        documents = Random(1).sample(documents, min(arguments.most, len(documents)))
        result = {arguments.model: measured(arguments.model, documents)}
    print(json.dumps(result, indent=1))
    write_result({**header("parity"), "models": result}, arguments.output)


if __name__ == "__main__":
    run(main)
