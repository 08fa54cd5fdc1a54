from __future__ import annotations

import os
from pathlib import Path

import pytest

from anyner.storage.files import write_text, write_whole


def test_a_file_is_written_whole_in_a_folder_that_is_made(tmp_path: Path) -> None:
    write_text(tmp_path / "a/b.txt", "naïve\n")
    assert (tmp_path / "a/b.txt").read_bytes() == "naïve\n".encode()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]


def test_a_failure_leaves_the_old_file_and_no_part_of_the_new(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("old", encoding="utf-8")

    def half(temporary: Path) -> None:
        temporary.write_text("half", encoding="utf-8")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_whole(path, half)
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["b.txt"]


def test_files_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    def private(path: Path) -> None:
        path.write_text("x", encoding="utf-8")
        path.chmod(0o600)

    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "file", private)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
