"""Files are replaced whole, privately and under any name: nobody's mode, link or other file is changed on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anyner.corpora.textfiles import write_chunks
from anyner.storage.files import write_text, write_whole

WRITERS: list[Callable[[Path, str], None]] = [write_text, lambda path, text: write_chunks(path, [text])]
by_every_writer = pytest.mark.parametrize("write", WRITERS, ids=["write_text", "write_chunks"])


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@by_every_writer
@pytest.mark.parametrize("old", [0o600, 0o640, 0o444])
def test_the_mode_of_a_replaced_file_stays(tmp_path: Path, write: Callable[[Path, str], None], old: int) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_text("old", encoding="utf-8")
    path.chmod(old)
    write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert mode(path) == old


@by_every_writer
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o640


def test_what_replaces_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(0o600)
    seen: list[int] = []
    write_whole(path, lambda temporary: seen.append(mode(temporary)))
    assert seen == [0o600]


@by_every_writer
def test_the_longest_name_of_a_file_can_be_written(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    path = tmp_path / ("n" * 255)
    write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"


def test_the_temporary_name_differs_each_time_and_tells_nothing(tmp_path: Path) -> None:
    seen: list[Path] = []
    for _ in range(2):
        write_whole(tmp_path / "model.bin", seen.append)
    assert len({path.name for path in seen}) == 2
    assert all(path.parent == tmp_path and "model" not in path.name and str(os.getpid()) not in path.name for path in seen)


def test_a_link_where_the_temporary_file_was_expected_leads_nowhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / f".out.{os.getpid()}.part").symlink_to(victim)
    write_text(tmp_path / "out", "new")
    assert victim.read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "out").read_text(encoding="utf-8") == "new"


def test_threads_that_write_the_same_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "out"
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            list(pool.map(lambda text: write_text(path, text), texts))
            assert path.read_text(encoding="utf-8") in texts
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
