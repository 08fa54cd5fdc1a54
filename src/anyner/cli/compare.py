"""`anyner compare`: two models, or two files of predictions, on the same corpus."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.choices import DeviceOption, FormatOption, load_model
from anyner.cli.corpus import CORPUS_HELP, SYSTEM_HELP, read_corpus, read_predictions
from anyner.cli.output import Progress, check_outputs, say, with_printable_labels, write_out
from anyner.errors import AnynerError, json_text, printable

if TYPE_CHECKING:
    from anyner.document import Document


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=SYSTEM_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="Same as A.")],
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help=CORPUS_HELP)],
    *,
    format: FormatOption = None,  # noqa: A002
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page with every difference, A and B side by side.")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="List every entity that only one of them got right or wrong, one per line.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, with scores from 0 to 1.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here instead of stdout.")] = None,
    device: DeviceOption = None,
) -> None:
    """Compare two models, or two files of predictions, on a corpus.

    Shows both scores, whether the difference is significant (paired bootstrap over documents), and which entities only one
    of them gets right or wrong.

    \b
    Examples:
      anyner compare runs/one runs/other data/genia/test.jsonl
      anyner compare found-a.jsonl found-b.jsonl test.jsonl --report differences.html
    """
    read = [corpus, *(name for name in (a, b) if Path(name).is_file())]
    check_outputs(output, report, read)
    gold = read_corpus(corpus, format)
    if not gold.documents:
        raise AnynerError(f"{corpus}: has no documents to score on")

    from anyner.evaluation.compare import compare_documents
    from anyner.evaluation.report import difference_line, render_comparison

    given = [read_predictions(name, gold.documents) for name in (a, b)]  # mistakes in either are reported before a model runs
    first, second = (
        _predicted(name, gold.documents, device) if one is None else one for name, one in zip((a, b), given, strict=True)
    )
    paired = compare_documents(gold.documents, first, second)
    if as_json:
        printed = json_text(paired.to_json(), indent=2) + "\n"
    else:
        lines = [printable(difference_line(one)) + "\n" for one in paired.differences] if errors else []
        shown = replace(paired, a=with_printable_labels(paired.a), b=with_printable_labels(paired.b))
        table = render_comparison(shown, (printable(a), printable(b)))
        printed = "".join([table, "\n" * bool(lines), *lines])
    write_out(output, lambda file: file.write(printed))
    if report is not None:
        from anyner.view.report import write_comparison

        title = f"{Path(a).name} and {Path(b).name}"
        write_out(report, lambda file: write_comparison(paired, file, (a, b), title, f"on {corpus}"))
        say(f"{report}: open it in a browser", err=True)


def _predicted(name: str, gold: Sequence[Document], device: str | None) -> Sequence[Document]:
    from anyner.api import with_context

    recognizer = load_model(name, device)
    return list(Progress(sys.stderr.isatty()).counted(recognizer.stream(with_context(gold, recognizer))))
