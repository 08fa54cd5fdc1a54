"""A model folder: self-contained, no pickle, loads with the network cut off."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors.torch import save_file

from anyner.inference.config import WeightFormat
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CONFIG, WEIGHTS, write_text, write_whole
from anyner.storage.quantized import to_stored


def save(recognizer: Recognizer, folder: str | Path, weights: WeightFormat = "float32") -> Path:
    """Writes config, weights and vocabulary; each file is put in place whole."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    head = recognizer.model.head
    kept = {
        name: weight
        for name, weight in recognizer.model.state_dict().items()
        if not name.startswith(tuple(f"head.{prefix}" for prefix in head.training_only))
    }
    stored = to_stored(kept, weights)
    write_whole(target / WEIGHTS, lambda path: save_file(stored, path, metadata={"format": "pt"}))
    with TemporaryDirectory(dir=target, prefix=".vocabulary.") as temporary:
        recognizer.vocabulary.save(Path(temporary))
        if recognizer.model.encoder.features is not None:
            recognizer.model.encoder.features.save(Path(temporary))
        for file in Path(temporary).iterdir():
            file.replace(target / file.name)
    config = recognizer.config.updated({"weights": weights}, CONFIG)
    write_text(target / CONFIG, config.model_dump_json(indent=2) + "\n")
    return target
