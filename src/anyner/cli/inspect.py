"""`anyner inspect`: what is in a corpus, what is wrong with it, and what each architecture could not express of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.cli.choices import FormatOption, checked_splitter
from anyner.cli.corpus import CORPUS_HELP, Part, read_parts
from anyner.cli.output import json_text, listing, table
from anyner.errors import printable

if TYPE_CHECKING:
    from anyner.corpora.corpus import Problem
    from anyner.corpora.inspection import Inspection
    from anyner.text.align import WordEntity
    from anyner.text.words import SplitterName

_SHOWN_PROBLEMS = 10
_SHOWN_MISALIGNED = 5


@dataclass(frozen=True, slots=True)
class _Reach:
    """What the default settings of one architecture could not express."""

    architecture: str
    shapes: tuple[str, ...]
    reasons: dict[str, int]

    @property
    def unreachable(self) -> int:
        return sum(self.reasons.values())


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    statistics: Inspection
    misaligned: tuple[str, ...]
    reach: tuple[_Reach, ...]


def inspect(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help=CORPUS_HELP.replace("A file,", "A file, a folder of train, dev and test,"))
    ],
    *,
    format: FormatOption = None,  # noqa: A002
    splitter: Annotated[
        str, typer.Option(metavar="NAME", help="How to split text into words: unicode, whitespace or cjk.")
    ] = "unicode",
    problems: Annotated[bool, typer.Option("--problems", help="List every problem, not only the first ten.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON.")] = False,
) -> None:
    """Show what is in a corpus, and what is wrong with it.

    Statistics, labels, problems, entities not on word boundaries, and entities that each architecture cannot express.

    \b
    Examples:
      anyner inspect data/genia
      anyner inspect notes.jsonl --problems
      anyner inspect synthetic --json
    """
    chosen = checked_splitter(splitter)
    found = [_look(part, chosen) for part in read_parts(corpus, format)]
    if as_json:
        plain = {"corpus": corpus, "splitter": chosen, "parts": [_plain(one) for one in found]}
        typer.echo(json_text(plain, indent=2))
        return
    typer.echo("\n\n\n".join(_report(one, chosen, problems) for one in found))


def _look(part: Part, splitter: SplitterName) -> _Found:
    from anyner.corpora.inspection import inspect as statistics
    from anyner.text.align import to_words
    from anyner.text.words import iterate_words

    misaligned: list[str] = []
    in_words: list[tuple[WordEntity, ...]] = []
    for number, document in enumerate(part.corpus, 1):
        if document.entities:
            words = list(iterate_words(document.text, splitter))
            aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
            misaligned += [f"{document.id or f'document {number}'}: {one}" for one in aligned.misaligned]
            in_words.append(aligned.entities)
    return _Found(part.name, statistics(part.corpus), tuple(misaligned), _reach(in_words))


def _reach(in_words: list[tuple[WordEntity, ...]]) -> tuple[_Reach, ...]:
    from anyner.architectures.registry import config_class, names

    reach = []
    for name in names():
        config = config_class(name)()
        # no encoder is known here: a word counts as one piece
        found = (config.unreachable(own, [1] * (max(e.last for e in own) + 1)) for own in in_words if own)
        reasons = Counter(reason for reasons in found for reason in reasons if reason)
        reach.append(_Reach(name, tuple(sorted(config.shapes())), dict(reasons.most_common())))
    return tuple(reach)


def _report(found: _Found, splitter: str, all_problems: bool) -> str:
    statistics = found.statistics
    rows: list[tuple[str, object]] = [
        ("documents", statistics.documents),
        ("  without entities", statistics.empty_documents),
        ("  words, average", statistics.average_words),
        ("  words, most", statistics.longest_document),
        ("entities", statistics.entities),
        ("  nested", statistics.nested),
        ("  overlapping", statistics.overlapping),
        ("  on the same words", statistics.same),
        ("  discontinuous", statistics.discontinuous),
        ("  most in a document", statistics.most_entities),
        ("  most at one word", statistics.most_starting_together),
        ("  longest, in words", statistics.longest_entity),
        ("  most fragments", statistics.most_fragments),
    ]
    labels = sorted(statistics.labels.items(), key=lambda item: (-item[1], item[0]))
    blocks = [f"{printable(found.name)}\n{listing(rows)}"]
    if labels:
        blocks.append(table([("label", "entities"), *labels]))
    blocks.append(_reach_table(found))
    misaligned = f"entities not on the words of the {splitter} splitter: {len(found.misaligned):,}"
    listed = found.misaligned if all_problems else found.misaligned[:_SHOWN_MISALIGNED]
    blocks.append(_block(misaligned, listed, len(found.misaligned) - len(listed)))
    blocks.append(_problems(statistics.problems, all_problems))
    return "\n\n".join(blocks)


def _problems(problems: tuple[Problem, ...], all_problems: bool) -> str:
    """All of them, each with its line, or the first groups of equal ones."""
    from anyner.corpora.corpus import grouped

    heading = f"problems: {len(problems):,}"
    if all_problems:
        return _block(heading, map(str, problems))
    groups = grouped(problems)
    return _block(heading, map(str, groups[:_SHOWN_PROBLEMS]), sum(group.count for group in groups[_SHOWN_PROBLEMS:]))


def _reach_table(found: _Found) -> str:
    total = max(1, found.statistics.entities)
    rows: list[tuple[str | int, ...]] = [("architecture", "shapes", "cannot express", "share", "why")]
    for one in found.reach:
        why = ", ".join(f"{reason} ({count:,})" for reason, count in one.reasons.items())
        rows.append((one.architecture, ", ".join(one.shapes), one.unreachable, f"{100 * one.unreachable / total:5.1f} %", why))
    return table(rows)


def _block(heading: str, lines: Iterable[str], left_out: int = 0) -> str:
    more = [f"  and {left_out:,} more: --problems lists them"] if left_out else []
    return "\n".join([heading, *(f"  {printable(line)}" for line in lines), *more])


def _plain(found: _Found) -> dict[str, Any]:
    return {
        "name": found.name,
        **found.statistics.to_json(),
        "misaligned": list(found.misaligned),
        "architectures": {
            one.architecture: {"shapes": list(one.shapes), "unreachable": one.unreachable, "reasons": one.reasons}
            for one in found.reach
        },
    }
