"""`anyner export`: the graph of a model, for prediction without torch."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.corpus import CORPUS_HELP, read_corpus
from anyner.cli.output import say
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document

_SYNTHETIC = "synthetic"


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder, or a bundled name.")],
    *,
    corpus: Annotated[str | None, typer.Option(metavar="CORPUS", help=f"What to check it on. {CORPUS_HELP}")] = None,
    most: Annotated[int, typer.Option("--most", min=1, metavar="N", help="Documents of it that are read.")] = 200,
) -> None:
    """Add the graph of a model to its folder, for prediction without torch.

    The graph is checked against torch on documents, the synthetic corpus unless another is named: the same entities, scores
    within 0.0001, whatever the batch. If they differ there is no graph, and the exit code is 1.

    \b
    Examples:
      anyner export runs/demo
      anyner export runs/genia --corpus data/genia/dev.jsonl
    """
    documents: list[Document] = list(islice(read_corpus(corpus or _SYNTHETIC, None).documents, most))

    from anyner.export.graph import add_graph
    from anyner.export.parity import compared
    from anyner.storage.graph import remove_graph
    from anyner.storage.load import find, load

    folder = find(model)
    in_torch = load(folder, device="cpu", runtime="torch")
    add_graph(in_torch, folder)
    try:
        parity = compared(in_torch, load(folder, runtime="onnx"), documents)
    except BaseException:
        remove_graph(folder)
        raise
    told = f"{parity.entities} entities in {parity.documents} documents, scores within {parity.largest_difference:.1e}"
    if not parity.holds:
        remove_graph(folder)
        raise AnynerError(f"{folder}: the graph gives other results than torch: {told}, {parity.differing} entities differ")
    parity.write(folder)
    say(f"{folder}: the same {told}; {parity.speedup:.1f} times as fast as torch on this machine", err=True)
