from __future__ import annotations

from anyner.corpora.corpus import Problem, grouped, summary

REJECTED = [Problem("a.jsonl", line, "rejected", kept=False) for line in range(1, 3001)]
SORTED = Problem("a.jsonl", 2, "fragments out of order, sorted", kept=True)
RANGE = Problem("a.jsonl", 9, "out of range", kept=False)


def test_problems_that_differ_in_their_line_alone_are_one_group() -> None:
    groups = grouped([SORTED, *REJECTED, RANGE])
    assert [(group.first, group.count) for group in groups] == [(SORTED, 1), (REJECTED[0], 3000), (RANGE, 1)]
    assert str(groups[1]) == "a.jsonl:1: rejected (dropped), and 2,999 more like it"
    assert str(groups[2]) == str(RANGE)


def test_equal_words_about_other_files_or_kept_data_are_not_one_group() -> None:
    others = [Problem("b.jsonl", 9, RANGE.what, kept=False), Problem("a.jsonl", 9, RANGE.what, kept=True)]
    assert len(grouped([RANGE, *others])) == 3


def test_a_summary_is_one_line_with_dropped_data_first() -> None:
    assert summary([]) == ""
    assert summary([RANGE]) == "1 problem in the files (1 dropped): a.jsonl:9: out of range (dropped)"
    line = summary([SORTED, *REJECTED, RANGE], shown=2)
    assert line == (
        "3,002 problems in the files (3,001 dropped): a.jsonl:1: rejected (dropped), and 2,999 more like it; "
        "a.jsonl:9: out of range (dropped); and 1 more: anyner inspect lists them"
    )
