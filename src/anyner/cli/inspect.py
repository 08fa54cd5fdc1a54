"""`anyner inspect`: what is in a corpus, what is wrong with it, and which entities each architecture cannot express."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.cli.choices import FormatOption
from anyner.cli.corpus import CORPUS_HELP, read_parts, running
from anyner.cli.output import listing, table
from anyner.errors import json_text, printable
from anyner.text.words import SplitterName

if TYPE_CHECKING:
    from anyner.corpora.corpus import Corpus
    from anyner.corpora.inspection import Inspection
    from anyner.text.align import WordEntity

_SHOWN_PROBLEMS = 10
_SHOWN_MISALIGNED = 5


@dataclass(frozen=True, slots=True)
class _Reach:
    """What one architecture cannot express with its default settings, and why."""

    shapes: tuple[str, ...]
    unreachable: int
    reasons: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    statistics: Inspection
    misaligned: tuple[str, ...]
    architectures: dict[str, _Reach]

    def to_json(self) -> dict[str, Any]:
        architectures = {name: asdict(one) for name, one in self.architectures.items()}
        own = {"misaligned": self.misaligned, "architectures": architectures}
        return {"name": self.name, **self.statistics.to_json(), **own}


def inspect(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help=CORPUS_HELP.replace("A file,", "A file, a folder of train, dev and test,"))
    ],
    *,
    format: FormatOption = None,  # noqa: A002
    splitter: Annotated[
        SplitterName, typer.Option(metavar="NAME", help="How to split text into words: unicode, whitespace, thai or cjk.")
    ] = "unicode",
    problems: Annotated[bool, typer.Option("--problems", help="List every problem, not only the first ten.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what is in a corpus, and what is wrong with it.

    Prints statistics, labels, problems, entities not on word boundaries, and entities that each architecture cannot express.

    \b
    Examples:
      anyner inspect data/genia
      anyner inspect notes.jsonl --problems
      anyner inspect synthetic --json
    """
    parts = read_parts(corpus, format)
    with running(f"counting what is in {corpus}"):
        found = [_look(name, part, splitter) for name, part in parts.items()]
    if as_json:
        typer.echo(json_text({"corpus": corpus, "splitter": splitter, "parts": [one.to_json() for one in found]}, indent=2))
    else:
        typer.echo("\n\n\n".join(_report(one, splitter, problems) for one in found))


def _look(name: str, corpus: Corpus, splitter: SplitterName) -> _Found:
    from anyner.corpora.inspection import inspect as statistics
    from anyner.text.align import to_words
    from anyner.text.words import iterate_words

    misaligned: list[str] = []
    in_words: list[tuple[WordEntity, ...]] = []
    for number, document in enumerate(corpus, 1):
        if document.entities:
            words = list(iterate_words(document.text, splitter))
            aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
            misaligned += [f"{document.id or f'document {number}'}: {one}" for one in aligned.misaligned]
            in_words.append(aligned.entities)
    return _Found(name, statistics(corpus), tuple(misaligned), _reach(in_words))


def _reach(in_words: list[tuple[WordEntity, ...]]) -> dict[str, _Reach]:
    """The reach of each architecture. There is no encoder here: a word counts as one piece."""
    from anyner.architectures.registry import config_class, names

    reach = {}
    for name in names():
        kind = config_class(name)
        config = kind.of({"fragments": True} if "fragments" in kind.model_fields else {}, name)  # as training would choose
        found = (config.unreachable(own, [1] * (max(e.last for e in own) + 1)) for own in in_words if own)
        reasons = Counter(reason for reasons in found for reason in reasons if reason)
        reach[name] = _Reach(tuple(sorted(config.shapes())), reasons.total(), dict(reasons.most_common()))
    return reach


def _report(found: _Found, splitter: str, all_problems: bool) -> str:
    from anyner.corpora.corpus import grouped

    statistics = found.statistics
    rows: list[tuple[str, object]] = [
        ("documents", statistics.documents),
        ("  without entities", statistics.empty_documents),
        ("  words, average", statistics.average_words),
        ("  words, most", statistics.longest_document),
        ("entities", statistics.entities),
        ("  nested", statistics.nested),
        ("  crossing", statistics.crossing),
        ("  on the same words", statistics.same),
        ("  discontinuous", statistics.discontinuous),
        ("  most in a document", statistics.most_entities),
        ("  most at one word", statistics.most_starting_together),
        ("  longest, in words", statistics.longest_entity),
        ("  most fragments", statistics.most_fragments),
    ]
    labels = sorted(statistics.labels.items(), key=lambda item: (-item[1], item[0]))
    misaligned = [(one, 1) for one in found.misaligned]
    problems = [(str(group), group.count) for group in grouped(statistics.problems)]
    if all_problems:
        problems = [(str(problem), 1) for problem in statistics.problems]
    blocks = [
        f"{printable(found.name)}\n{listing(rows)}",
        *([table([("label", "entities"), *labels])] if labels else []),
        _reach_table(found),
        _block(f"entities not on the words of the {splitter} splitter", misaligned, None if all_problems else _SHOWN_MISALIGNED),
        _block("problems", problems, None if all_problems else _SHOWN_PROBLEMS),
    ]
    return "\n\n".join(blocks)


def _reach_table(found: _Found) -> str:
    total = max(1, found.statistics.entities)
    rows: list[tuple[str | int, ...]] = [("architecture", "shapes", "cannot express", "share", "why")]
    for name, one in found.architectures.items():
        why = ", ".join(f"{reason} ({count:,})" for reason, count in one.reasons.items())
        rows.append((name, ", ".join(one.shapes), one.unreachable, f"{100 * one.unreachable / total:5.1f} %", why))
    return table(rows)


def _block(heading: str, lines: Sequence[tuple[str, int]], shown: int | None) -> str:
    """A heading with the total, and the first lines; each line comes with its count."""
    left_out = sum(count for _, count in lines[shown:]) if shown else 0
    more = [f"  and {left_out:,} more: --problems lists them"] if left_out else []
    number = sum(count for _, count in lines)
    return "\n".join([f"{heading}: {number:,}", *(f"  {printable(line)}" for line, _ in lines[:shown]), *more])
