"""Saves a model folder: self-contained, without pickles, loadable offline."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors.torch import save_file

from anyner.errors import AnynerError
from anyner.inference.config import WeightFormat
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CONFIG, WEIGHTS, room_for, write_text, write_whole
from anyner.storage.graph import remove_graph
from anyner.storage.quantized import to_stored
from anyner.storage.weights import sha256_of


def save(recognizer: Recognizer, folder: str | Path, weights: WeightFormat = "float32", *, overwrite: bool = False) -> Path:
    """Writes config, weights and vocabulary. If interrupted, it leaves the old model, the new one, or none."""
    target = Path(folder)
    if (target / CONFIG).exists() and not overwrite:
        raise AnynerError(f"{target} already holds a model: choose another folder, or overwrite=True")
    target.mkdir(parents=True, exist_ok=True)
    config = recognizer.config.updated({"weights": weights, "weights_sha256": None}, CONFIG)
    head = recognizer.model.head
    kept = {
        name: weight
        for name, weight in recognizer.model.state_dict().items()
        if not name.startswith(tuple(f"head.{prefix}" for prefix in head.training_only))
    }
    stored = to_stored(kept, weights, recognizer.model.embedding)
    with TemporaryDirectory(dir=target, prefix=".new.") as temporary:
        new = Path(temporary)
        with room_for(target / WEIGHTS):
            write_whole(new / WEIGHTS, lambda path: save_file(stored, path, metadata={"format": "pt"}))
        config = config.updated({"weights_sha256": sha256_of(new / WEIGHTS)}, CONFIG)
        with room_for(target / "tokenizer.json"):
            recognizer.vocabulary.save(new)
            if recognizer.model.encoder.shapes is not None:
                recognizer.model.encoder.shapes.save(new)
        written = list(new.iterdir())
        with room_for(target / CONFIG):
            write_text(new / CONFIG, config.model_dump_json(indent=2) + "\n")
        remove_graph(target)
        (target / CONFIG).unlink(missing_ok=True)  # without it there is no model: the old config never meets the new weights
        for file in (*written, new / CONFIG):
            file.replace(target / file.name)
    return target
