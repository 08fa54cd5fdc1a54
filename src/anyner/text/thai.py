"""Thai word segmentation with a dictionary: Thai has no spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from anyner.errors import AnynerError

_RUN = re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e]+")
"""Letters, vowel signs and tone marks; digits and punctuation are not part of a Thai word."""
_ENGINE = "newmm-safe"
"""Dictionary-based maximal matching, in linear time even on ambiguous text."""


def cut_by_dictionary(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans, with every run of Thai in them split into words.

    >>> text = "ไปกรุงเทพมหานคร 2 วัน"
    >>> [text[start:end] for start, end in cut_by_dictionary(text, [(0, 15), (16, 17), (18, 21)])]
    ['ไป', 'กรุงเทพมหานคร', '2', 'วัน']
    """
    for start, end in spans:
        at = start
        for run in _RUN.finditer(text, start, end):
            if at < run.start():
                yield at, run.start()
            at = run.start()
            for word in _words(run[0]):
                yield at, at + len(word)
                at += len(word)
        if at < end:
            yield at, end


def _words(run: str) -> list[str]:
    try:
        from pythainlp.tokenize import word_tokenize
    except ModuleNotFoundError:
        raise AnynerError("the splitter thai needs PyThaiNLP, which is not installed: pip install 'anyner[thai]'") from None
    words = [word for word in word_tokenize(run, engine=_ENGINE, join_broken_num=False) if word]
    return words if "".join(words) == run else [run]  # no character may be lost
