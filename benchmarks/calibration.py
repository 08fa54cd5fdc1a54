"""What a calibration on dev gives on test: calibration error, and precision and recall at a target precision.

anyner train --data data/genia --architecture biaffine --encoder minilm -o runs/biaffine
python benchmarks/calibration.py runs/biaffine data/genia/dev.jsonl.xz data/genia/test.jsonl.xz -o calibration-biaffine-genia.json

The model must not have been trained on dev, which rules out models that were refit on it, such as the bundled ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from script import header, parser_of, run, write_result
from speed import corpus_name, with_neighbours

import anyner
from anyner.document import Document
from anyner.evaluation.curves import calibration_error, reliability
from anyner.evaluation.match import Pair, pair_documents
from anyner.evaluation.scores import NOTHING, strict_score
from anyner.inference.calibrate import calibrated_on
from anyner.inference.config import Calibration
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import METRICS
from anyner.storage.load import find

Documents = tuple[Document, ...]


def measured(model: Recognizer, dev: Documents, test: Documents, precision: float) -> dict[str, Any]:
    """Calibrations fitted on dev, and their figures on test."""
    dev, test = with_neighbours(model, dev), with_neighbours(model, test)
    calibrations = {
        "as before": None,
        "scores only": calibrated_on(model, dev, thresholds=False).calibration,
        "f1": calibrated_on(model, dev).calibration,
        "precision": calibrated_on(model, dev, precision=precision).calibration,
    }
    return {
        "wanted_precision": precision,
        "calibrations": {name: one.model_dump(mode="json") for name, one in calibrations.items() if one is not None},
        "test": {name: figures(_pairs(model, one, test)) for name, one in calibrations.items()},
    }


def figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    score = sum(map(strict_score, pairs), NOTHING)
    return {"calibration_error": round(calibration_error(reliability(pairs)), 4), **score.to_json()}


def _pairs(model: Recognizer, calibration: Calibration | None, test: Sequence[Document]) -> Sequence[Pair]:
    config = model.config.model_copy(update={"calibration": calibration})
    predicted = Recognizer(model.runtime, model.vocabulary, config).predict(list(test))
    return pair_documents(test, predicted)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model")
    parser.add_argument("dev", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--precision", type=float, default=0.9, help="target precision")
    parser.add_argument("-o", "--output", help="results file; a bare name goes to benchmarks/results")
    arguments = parser.parse_args()
    dev, test = (anyner.read(path).documents for path in (arguments.dev, arguments.test))
    model, metrics = anyner.load(arguments.model), find(arguments.model) / METRICS
    training = json.loads(metrics.read_text(encoding="utf-8")).get("training", {}) if metrics.is_file() else {}
    found = measured(model, dev, test, arguments.precision)
    for name, one in found["test"].items():
        scores = f"P {100 * one['precision']:.1f}, R {100 * one['recall']:.1f}, F1 {100 * one['f1']:.1f}"
        print(f"{name}: calibration error {one['calibration_error']:.3f}, {scores}")
    about = {"architecture": model.config.architecture, "corpus": corpus_name(arguments.test), "epochs": training.get("epochs")}
    write_result({**header("calibration"), **about, **found}, arguments.output)


if __name__ == "__main__":
    run(main)
