"""All corpus formats by name."""

from __future__ import annotations

from anyner.corpora.brat import BRAT
from anyner.corpora.conll import CONLL
from anyner.corpora.dai import DAI
from anyner.corpora.format import Format
from anyner.corpora.jsonl import JSONL, JSONL_TOKENS
from anyner.corpora.spans import SPANS
from anyner.corpora.w2ner import W2NER
from anyner.errors import AnynerError

FORMATS: tuple[Format, ...] = (JSONL, JSONL_TOKENS, CONLL, BRAT, SPANS, W2NER, DAI)


def format_named(name: str) -> Format:
    """The format of that name; an unknown name is refused with the list of those there are."""
    for one in FORMATS:
        if one.name == name:
            return one
    raise AnynerError(f"unknown format {name!r}: choose one of {', '.join(one.name for one in FORMATS)}")
