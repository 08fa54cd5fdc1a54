from __future__ import annotations

from anyner.corpora.annotation import shown
from anyner.corpora.corpus import Problem, grouped, summary

REJECTED = [Problem("a.jsonl", line, "rejected", kept=False) for line in range(1, 3001)]
SORTED = Problem("a.jsonl", 2, "fragments out of order, sorted", kept=True)
RANGE = Problem("a.jsonl", 9, "out of range", kept=False)


def test_problems_that_differ_in_their_line_alone_are_one_group() -> None:
    groups = grouped([SORTED, *REJECTED, RANGE])
    assert [(group.first, group.count) for group in groups] == [(SORTED, 1), (REJECTED[0], 3000), (RANGE, 1)]
    assert str(groups[1]) == "a.jsonl:1: rejected (dropped), and 2,999 more like it"
    assert str(groups[2]) == str(RANGE)


def test_kept_and_dropped_data_are_not_one_group_and_files_are_counted() -> None:
    others = [Problem("b.jsonl", 9, RANGE.what, kept=False), Problem("a.jsonl", 9, RANGE.what, kept=True)]
    dropped, kept = map(str, grouped([RANGE, *others]))
    assert dropped == "a.jsonl:9: out of range (dropped), and 1 more like it in 2 files"
    assert kept == "a.jsonl:9: out of range (kept)"


def test_problems_that_differ_in_the_values_they_show_are_one_group() -> None:
    values = [("A", "Pain", [(0, 99)], 4), ("B", 'it\'s a "pain"', [(3, 5), (7, 199)], 12), ("C", "long " * 40, "odd" * 50, 200)]
    whats = [
        f"document {number} ({shown(label)}): entity {shown(label)} {shown(fragments)}: {shown(text)} has {number} characters"
        for label, text, fragments, number in values
    ]
    (group,) = grouped(Problem("a.jsonl", 1, what, kept=False) for what in whats)
    assert (group.first.what, group.more) == (whats[0], ", and 2 more like it")
    unread = [Problem("a.jsonl", 1, f'"{key}" is not read', kept=False) for key in ("ents", "tags")]
    assert len(grouped(unread)) == 2


def test_a_problem_of_a_whole_folder_has_no_line() -> None:
    assert str(Problem("folder", 0, "is not read", kept=False)) == "folder: is not read (dropped)"


def test_a_summary_is_one_line_with_dropped_data_first() -> None:
    assert summary([]) == ""
    assert summary([RANGE]) == "1 problem in the files (1 dropped): a.jsonl:9: out of range (dropped)"
    line = summary([SORTED, *REJECTED, RANGE], shown=2)
    assert line == (
        "3,002 problems in the files (3,001 dropped): a.jsonl:1: rejected (dropped), and 2,999 more like it; "
        "a.jsonl:9: out of range (dropped); and 1 more: anyner inspect lists them"
    )
