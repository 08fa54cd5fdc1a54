"""Loads a model folder, a bundled model or a hub id as a `Recognizer`. Only a hub id uses the network."""

from __future__ import annotations

import ctypes
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from anyner.encoding.untrusted import check_size, read_json
from anyner.errors import AnynerError
from anyner.inference import RuntimeName
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.storage.bundled import BUNDLED, bundled_folder, bundled_names
from anyner.storage.files import CONFIG, WEIGHTS, room_for
from anyner.storage.format import check_format
from anyner.storage.graph import INDEX, Graph, graph_of, remove_graph
from anyner.storage.hub import MODEL_FILES, download, is_hub_id

if TYPE_CHECKING:
    import torch

_LARGEST = {"head": 100_000, "encoder": 1_000_000, "text": 1_000_000, "options": 1_000}
"""Largest numbers in a model's settings. Options decide how much is computed for each sentence; a call may set larger ones."""
_CONFIG_START = 4 << 20


def load(
    name: str | Path,
    device: str | torch.device | None = None,
    precision: Precision = "auto",
    runtime: RuntimeName = "auto",
    threads: int | None = None,
    *,
    revision: str | None = None,
) -> Recognizer:
    """Loads a model from a folder, a bundled one by name, or one from the hub by `owner/name`; on a GPU if there is one.

    `runtime`: `torch`; `onnx`, the graph of the model on a CPU, which needs no torch and gives the same entities; `int8`, a
    faster graph, which gives nearly the same; `auto`: onnx on a CPU if the folder has a graph, otherwise torch. `threads` on a
    CPU: OMP_NUM_THREADS by default; if that is not set, onnx uses at most 4 and torch all cores. `revision`: branch, tag or
    commit of a model on the hub.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise AnynerError(f"threads: expected a number of at least 1, got {threads!r}")
    if precision not in get_args(Precision):
        raise AnynerError(f"precision: expected one of {', '.join(get_args(Precision))}, got {precision!r}")
    if runtime not in get_args(RuntimeName):
        raise AnynerError(f"runtime: expected one of {', '.join(get_args(RuntimeName))}, got {runtime!r}")
    folder = find(name, revision)
    config, graph = read_config(folder), graph_of(folder) if runtime != "torch" else None
    on_cpu = (device is None or str(device) == "cpu") and precision != "bfloat16"
    int8 = runtime == "int8"
    if int8 or runtime == "onnx":
        _check_onnx(folder, graph, on_cpu, int8)
    if graph is not None and (int8 or runtime == "onnx" or (on_cpu and (device is not None or not has_gpu()))):
        from anyner.storage.onnx_model import loaded as loaded_graph

        return loaded_graph(folder, config, graph, threads, int8=int8)
    if not find_spec("torch") or not find_spec("transformers"):
        why = "it has no graph" if graph is None else "its graph runs only on a CPU in float32"
        raise AnynerError(f"{folder}: this model needs torch, because {why}: pip install 'anyner[train]'")
    from anyner.storage.torch_model import loaded

    if threads is not None:
        import torch

        torch.set_num_threads(threads)  # for the whole process: torch has no other setting
    return loaded(folder, config, device, precision)


def _check_onnx(folder: Path, graph: Graph | None, on_cpu: bool, int8: bool) -> None:
    if graph is None:
        known = (folder / INDEX).is_file()
        why = f"its {INDEX} was made for other settings" if known else f"no {INDEX}"
        raise AnynerError(f"{folder}: no graph to run with ONNX Runtime: {why}: run anyner export {folder}")
    if int8 and not graph.int8:
        raise AnynerError(f"{folder}: no graph in int8: run anyner export {folder} --int8")
    if not on_cpu:
        limit = "int8 runs only on a CPU" if int8 else "onnx runs only on a CPU in float32"
        raise AnynerError(f"the runtime {limit}: leave out device and precision, or use the runtime torch")


def has_gpu() -> bool:
    """Whether torch can use a GPU. Imports torch only if a GPU driver is installed."""
    if "torch" not in sys.modules and not _has_driver():
        return False
    if not find_spec("torch"):
        return False
    import torch

    return torch.cuda.is_available()


def _has_driver() -> bool:
    for library in ("libcuda.so.1", "nvcuda.dll", "libamdhip64.so"):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return True
    return False


def find(name: str | Path, revision: str | None = None) -> Path:
    """The folder of a model by its name; with a `revision`, one from the hub."""
    if not isinstance(name, str | Path):
        raise AnynerError(f"model: expected a folder, a bundled name or a hub id, got {type(name).__name__}")
    if revision is not None:
        if not isinstance(revision, str) or not is_hub_id(str(name)):
            raise AnynerError(f"{name}: a revision is a branch, tag or commit of a model on the hub, named owner/name")
        return download(str(name), revision)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if bundled := bundled_folder(str(name).removeprefix(BUNDLED)):
        return bundled
    if is_hub_id(str(name)) and not folder.parent.is_dir():
        return download(str(name))
    if folder.is_file():
        raise AnynerError(f"{name}: is a file, not a model folder")
    known = f"; bundled models: {', '.join(bundled_names())}" if bundled_names() else ""
    raise AnynerError(f"cannot find model {name}: no such folder{known}")


def check_own(name: str | Path, folder: Path, instead: str) -> None:
    """Refuses to change a model that `find` did not take from a folder of that name."""
    if Path(name).expanduser() != folder:
        raise AnynerError(f"{name}: cannot change a bundled or hub model: {instead}")


def is_model_folder(folder: Path) -> bool:
    """Whether the folder holds a model of this package: other libraries use the same file names."""
    path = folder / CONFIG
    if not path.is_file() or not (folder / WEIGHTS).is_file():
        return False
    with path.open("rb") as file:
        return b'"anyner_version"' in file.read(_CONFIG_START)


def copy_model(folder: Path, target: Path) -> None:
    """Copies the files that loading reads. The config comes last: a folder without it is not a model."""
    if target.is_dir() and target.samefile(folder):
        return
    target.mkdir(parents=True, exist_ok=True)
    (target / CONFIG).unlink(missing_ok=True)
    remove_graph(target)
    files = [path for pattern in MODEL_FILES for path in folder.glob(pattern)]
    for path in sorted(files, key=lambda path: path.name == CONFIG):
        with room_for(target / path.name):
            shutil.copyfile(path, target / path.name)


def read_config(folder: Path) -> ModelConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise AnynerError(f"{folder} is not a model folder: no {CONFIG} (an unfinished training? see its metrics.jsonl)")
    plain: Any = read_json(path)
    if not isinstance(plain, dict) or "architecture" not in plain:
        raise AnynerError(f"{path}: not the config of an anyner model")
    check_format(plain, path)
    for group, largest in _LARGEST.items():
        for key, value in plain[group].items() if isinstance(plain.get(group), dict) else ():
            check_size(key, value, largest, f"{path}: {group}:")
    return ModelConfig.of(plain, str(path))
