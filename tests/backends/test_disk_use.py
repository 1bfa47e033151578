# SPDX-License-Identifier: Apache-2.0
"""How much of the disk a pod may take: as much as it leaves free. It is counted seldom where nothing happens."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlhub.backends.local import disk_use
from mlhub.backends.local.disk_use import DiskWatch

MIB = 2**20


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A disk of blocks of 1 MiB with 10 of them, and 10 files, left."""
    found = SimpleNamespace(f_bavail=10, f_frsize=MIB, f_files=100, f_favail=10)
    monkeypatch.setattr(disk_use.os, "statvfs", lambda _: found)
    monkeypatch.setattr(disk_use, "LEAST_BYTES", MIB)
    monkeypatch.setattr(disk_use, "LEAST_FILES", 3)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "shared").mkdir()
    return tmp_path


def watch_of(folder: Path, *, most_bytes: int = 0) -> DiskWatch:
    return DiskWatch(folder, shared=[str(folder / "shared"), "/not/there"], most_bytes=most_bytes)


def problem(watch: DiskWatch, *processes: int) -> str:
    watch.next_look = watch.next_count = 0.0
    return watch.problem(lambda: processes)


@contextmanager
def removed(path: Path, *, mib: int) -> Iterator[None]:
    with path.open("wb") as file:
        path.unlink()
        file.write(os.urandom(mib * MIB))
        file.flush()
        yield


def test_a_pod_may_take_as_much_as_it_leaves_free(folder: Path, disk: SimpleNamespace) -> None:
    watch = watch_of(folder)
    (folder / "work" / "scratch").write_bytes(os.urandom(6 * MIB))
    assert problem(watch) == ""
    disk.f_bavail = 4
    assert "6 MiB of the disk. A pod may take as much as it leaves free, which is 4 MiB." in problem(watch)


def test_a_limit_of_the_settings_counts_instead(folder: Path, disk: SimpleNamespace) -> None:
    watch = watch_of(folder, most_bytes=2 * MIB)
    (folder / "work" / "scratch").write_bytes(os.urandom(3 * MIB))
    assert "Its limit is 2 MiB" in problem(watch)


def test_files_that_were_removed_and_are_open_count_and_links_count_once(folder: Path, disk: SimpleNamespace) -> None:
    disk.f_bavail = 5
    watch = watch_of(folder)
    (folder / "work" / "one").write_bytes(os.urandom(3 * MIB))
    os.link(folder / "work" / "one", folder / "work" / "same")
    (folder / "work" / "outside").symlink_to("/usr")
    assert problem(watch) == ""
    with removed(folder / "work" / "gone", mib=3):
        assert "6 MiB" in problem(watch, os.getpid())


def test_what_others_left_in_shared_folders_is_not_the_pod_s(folder: Path, disk: SimpleNamespace) -> None:
    disk.f_bavail = 2
    (folder / "shared" / "before").write_bytes(os.urandom(4 * MIB))
    watch = watch_of(folder)
    assert problem(watch) == ""
    (folder / "shared" / "after").write_bytes(os.urandom(3 * MIB))
    assert "3 MiB" in problem(watch)


def test_files_are_counted_as_well_where_the_disk_has_room_for_so_many_only(
    folder: Path, disk: SimpleNamespace
) -> None:
    watch = watch_of(folder)
    for number in range(12):
        (folder / "work" / str(number)).touch()
    assert "12 files" in problem(watch)
    disk.f_files = disk.f_favail = 0  # a file system without such a bound
    assert problem(watch) == ""


def test_files_are_counted_again_at_once_only_when_less_is_free(
    folder: Path, disk: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watch_of(folder)
    assert problem(watch) == ""
    counted: list[float] = []
    usage_of = disk_use.usage_of
    monkeypatch.setattr(disk_use, "usage_of", lambda *a: counted.append(time.monotonic()) or usage_of(*a))
    watch.next_look = 0.0
    assert watch.problem(list) == ""
    assert not counted
    disk.f_bavail -= 2
    watch.next_look = 0.0
    assert watch.problem(list) == ""
    assert len(counted) == 1
    assert watch.problem(list) == ""  # looked at a moment ago
    assert len(counted) == 1
