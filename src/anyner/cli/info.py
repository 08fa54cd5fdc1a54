"""`anyner info`: this installation, or one model."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner import __version__
from anyner.cli.output import listing
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.inference.config import Calibration


def info(
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="A folder, bundled name or hub id.")] = None,
) -> None:
    """Show details of this installation, or of a model.

    Without MODEL: versions and devices. With MODEL: its labels, settings and dev scores.

    \b
    Examples:
      anyner info
      anyner info general-en
      anyner info runs/demo
    """
    typer.echo(listing(_installation() if model is None else _model(model)))


def _installation() -> list[tuple[str, object]]:
    from importlib.metadata import version

    from anyner.architectures.registry import names
    from anyner.storage.bundled import bundled_names

    return [
        ("anyner", __version__),
        ("python", platform.python_version()),
        ("onnxruntime", version("onnxruntime")),
        *_torch(),
        ("platform", platform.platform()),
        ("architectures", ", ".join(names())),
        ("bundled models", ", ".join(bundled_names()) or "none"),
    ]


def _torch() -> list[tuple[str, object]]:
    """Versions and devices of torch, if it is installed."""
    from importlib.metadata import version

    try:
        import torch
    except ModuleNotFoundError:
        return [("torch", "not installed: pip install 'anyner[train]'"), ("devices", "cpu")]
    gpus = [f"cuda:{number} ({torch.cuda.get_device_name(number)})" for number in range(torch.cuda.device_count())]
    gpus += ["mps"] if torch.backends.mps.is_available() else []
    threads = f"cpu ({torch.get_num_threads()} threads)"
    return [("torch", torch.__version__), ("transformers", version("transformers")), ("devices", ", ".join([*gpus, threads]))]


def _model(name: str) -> list[tuple[str, object]]:
    from anyner.storage.files import WEIGHTS
    from anyner.storage.load import find, read_config

    folder = find(name)
    config = read_config(folder)
    weights = folder / WEIGHTS
    size = f"{weights.stat().st_size / 1e6:,.1f} MB" if weights.is_file() else f"{WEIGHTS} is missing"
    thresholds = ", ".join(f"{key} {value:g}" for key, value in config.thresholds.items())
    options = ", ".join(f"{key} {value}" for key, value in config.options.items())
    return [
        ("model", folder),
        ("architecture", config.architecture),
        ("labels", ", ".join(config.labels)),
        ("encoder", f"{config.encoder.source} ({config.pretrained.get('model_type', 'unknown kind')})"),
        ("words", f"{config.text.splitter} splitter" + (", given words kept" if config.text.words == "given" else "")),
        ("overlap", config.overlap),
        ("thresholds", thresholds or "none"),
        *_calibration(config.calibration),
        ("options", options or "none"),
        ("weights", f"{config.weights}, {size}"),
        ("made by", f"anyner {config.anyner_version}"),
        *_figures(folder),
    ]


def _calibration(calibration: Calibration | None) -> list[tuple[str, object]]:
    if calibration is None:
        return []
    bias = f", bias {calibration.bias:+g}" if calibration.bias else ""
    least = ", ".join(f"{label} {value:g}" for label, value in calibration.thresholds.items())
    return [("calibration", f"temperature {calibration.temperature:g}{bias}"), ("label thresholds", least or "none")]


def _figures(folder: Path) -> list[tuple[str, object]]:
    """Dev scores and epochs of the training run; nothing if the folder has no metrics."""
    from anyner.storage.files import METRICS

    path = folder / METRICS
    if not path.is_file():
        return []
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
        dev, training = metrics["dev"], metrics.get("training")
        epoch = f"{training['best_epoch'] + 1} of {training['epochs']}" if training else "the training is not finished"
        if dev is None:
            return [("dev", "used for training"), ("epoch", epoch)]
        scores = " / ".join(f"{100 * dev[key]:.2f}" for key in ("precision", "recall", "f1"))
        return [("dev P / R / F1", scores), ("dev documents", metrics["documents"]), ("best epoch", epoch)]
    except (ValueError, KeyError, TypeError):
        raise AnynerError(f"{path}: not the metrics of a training run") from None
