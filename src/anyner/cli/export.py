"""`anyner export`: the ONNX graph of a model, for prediction without torch."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from anyner.cli.corpus import CORPUS_HELP, read_corpus
from anyner.cli.output import say


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")],
    *,
    corpus: Annotated[str | None, typer.Option(metavar="CORPUS", help=f"Corpus to check the graph on. {CORPUS_HELP}")] = None,
    most: Annotated[int, typer.Option("--most", min=1, metavar="N", help="Maximum number of documents to check.")] = 200,
    int8: Annotated[bool, typer.Option("--int8", help="Also add an int8 graph: faster, with nearly the same results.")] = False,
) -> None:
    """Export a model to ONNX, into its own folder, for prediction without torch.

    The ONNX graph is checked against torch on the dev documents of the model's recipe, or on --corpus: it must find the same
    entities, with scores within 0.0001, whatever the batch. If not, the graph is removed and the exit code is 1. An int8
    graph may lose at most 0.2 points of F1 on these documents.

    \b
    Examples:
      anyner export runs/demo
      anyner export runs/genia --corpus data/genia/dev.jsonl --int8
    """
    from anyner.export.parity import add_checked_graph, add_checked_int8
    from anyner.storage.graph import INT8
    from anyner.storage.load import check_own, find
    from anyner.training.data.splits import dev_documents

    folder = find(model)
    check_own(model, folder, "copy its folder and export the copy")
    documents = list(islice(read_corpus(corpus, None).documents, most)) if corpus else dev_documents(folder, most)
    had_int8 = (folder / INT8).is_file()
    parity = add_checked_graph(folder, documents)
    same = f"the same {parity.entities} entities in {parity.documents} documents"
    within = f"scores within {parity.largest_difference:.1e}"
    say(f"{folder}: {same}, {within}; {parity.speedup:.1f} times as fast as torch on this machine", err=True)
    if had_int8 and not int8 and not (folder / INT8).exists():
        say(f"{folder}: removed the int8 graph, which is out of date: add --int8 for a new one", err=True)
    if int8:
        found = add_checked_int8(folder, parity, documents)
        scores = f"F1 {100 * found.f1:.1f}, in float32 {100 * found.f1_in_float32:.1f}"
        say(f"{folder}: int8: {scores}; {found.speedup:.1f} times as fast as float32 on this machine", err=True)
