from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from anyner.storage.files import DiskFullError, room_for, write_text, write_whole


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


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        Exception("No space left on device (os error 28)"),  # as tokenizers raises it
    ],
)
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "b.txt"
    path.write_text("old", encoding="utf-8")

    def half(temporary: Path) -> None:
        temporary.write_text("half", encoding="utf-8")
        raise error

    with pytest.raises(DiskFullError) as caught:
        write_whole(path, half)
    assert str(caught.value) == f"{path}: no space left on the disk"
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["b.txt"]


def test_the_error_names_the_target_of_a_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match=r"^there: no space"), room_for(Path("there")), room_for(Path("here")):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_files_have_the_permissions_of_the_umask(tmp_path: Path) -> None:
    def private(path: Path) -> None:
        path.write_text("x", encoding="utf-8")
        path.chmod(0o600)

    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "file", private)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
