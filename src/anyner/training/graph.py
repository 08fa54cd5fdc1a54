"""Exports a trained model as a graph, for prediction without torch, and checks it on documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.export.graph import add_graph
from anyner.export.int8 import add_int8, remove_int8
from anyner.export.parity import MOST_LOST, Int8Parity, Parity, compared, compared_int8, write_parity
from anyner.storage.files import RECIPE
from anyner.storage.graph import remove_graph
from anyner.storage.load import load
from anyner.training.config import Recipe
from anyner.training.data.splits import Corpora, held_out


def dev_documents(folder: Path, most: int) -> list[Document]:
    """Dev documents of the recipe in the folder, from its files or held out; synthetic ones if its files are gone."""
    try:
        data = Recipe.read(folder / RECIPE).data
        corpora = Corpora.read(data)
        documents = corpora.dev.documents
        if data.held_out:
            documents = held_out((*corpora.train, *documents), data.held_out)[1]
    except (AnynerError, OSError):
        documents = ()
    return list(islice(documents or synthetic(most).documents, most))


def add_checked_graph(folder: Path, documents: Sequence[Document]) -> Parity:
    """Exports the model and predicts the documents in both runtimes. If the results differ, the graph is removed."""
    in_torch = load(folder, device="cpu", runtime="torch")
    add_graph(in_torch, folder)
    try:
        parity = compared(in_torch, load(folder, runtime="onnx"), documents)
        if not parity.holds:
            difference = f"{parity.differing} entities differ, scores by up to {parity.largest_difference:.1e}"
            raise AnynerError(f"{folder}: the graph and torch disagree: {difference}")
    except BaseException:
        remove_graph(folder)
        raise
    write_parity(folder, parity)
    return parity


def add_checked_int8(folder: Path, parity: Parity, documents: Sequence[Document]) -> Int8Parity:
    """Adds an int8 graph to a folder whose graph has been checked; it is removed if it loses too much F1."""
    add_int8(folder)
    try:
        int8 = compared_int8(load(folder, runtime="onnx"), load(folder, runtime="int8"), documents)
        if not int8.holds:
            scores = f"F1 {100 * int8.f1:.1f} instead of {100 * int8.f1_in_float32:.1f} on {int8.documents} documents"
            raise AnynerError(f"{folder}: no int8 graph: it loses more than {100 * MOST_LOST:.1f} points: {scores}")
    except BaseException:
        remove_int8(folder)
        raise
    write_parity(folder, parity, int8)
    return int8
