# SPDX-License-Identifier: Apache-2.0
"""How much of the disk a pod takes, and when that is too much. Of the standard library only: the shim runs as a file.

A pod may take as much as it leaves free. So neither one nor several of them ever fill the disk, whatever its size, and
who writes little is not ended for those who write much.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

EVERY_S, TIME_SHARE = 1.0, 0.05  # between two looks, and of the time that they may take
QUIET_S = 30.0  # between two counts of the files, while about as much is free as there was
LEAST_BYTES, LEAST_FILES = 2**28, 10_000  # a pod that wrote less is not what fills a disk


@dataclass(frozen=True)
class Usage:
    """n_too_deep: folders whose path is too long to look into."""

    n_files: int
    n_bytes: int
    n_too_deep: int


class DiskWatch:
    """folder: the pod's own. shared: others that it may write to; what they hold at its start is not the pod's.

    most_bytes: 0 = as much as it leaves free.
    """

    def __init__(self, folder: Path, *, shared: Sequence[str], most_bytes: int) -> None:
        self.work = str(folder / "work")
        self.folders, self.most_bytes = [self.work, *shared], most_bytes
        self.at_start = usage_of(shared)
        self.next_look, self.next_count = 0.0, 0.0
        self.free_bytes, self.free_files = 0, 0  # when the files were counted last

    def problem(self, processes: Callable[[], Iterable[int]]) -> str:
        """Why the pod must end, in words; "" where it may go on, or where it was looked at a moment ago."""
        began = time.monotonic()
        if began < self.next_look:
            return ""
        disk = os.statvfs(self.work)
        if self._is_quiet(disk, began):
            self.next_look = began + EVERY_S
            return ""
        used = usage_of(self.folders, processes())
        now = time.monotonic()
        self.next_look, self.next_count = now + max(EVERY_S, (now - began) / TIME_SHARE), now + QUIET_S
        self.free_bytes, self.free_files = disk.f_bavail * disk.f_frsize, disk.f_favail
        return self._excess(used, disk)

    def _is_quiet(self, disk: os.statvfs_result, now: float) -> bool:
        free_bytes = disk.f_bavail * disk.f_frsize
        is_as_free = free_bytes >= self.free_bytes - LEAST_BYTES and disk.f_favail >= self.free_files - LEAST_FILES
        return not self.most_bytes and now < self.next_count and is_as_free

    def _excess(self, used: Usage, disk: os.statvfs_result) -> str:
        n_bytes, n_files = used.n_bytes - self.at_start.n_bytes, used.n_files - self.at_start.n_files
        most = self.most_bytes or max(LEAST_BYTES, disk.f_bavail * disk.f_frsize)
        if n_bytes > most:
            limit = "Its limit is" if self.most_bytes else "A pod may take as much as it leaves free, which is"
            return f"The pod's files take {n_bytes / 2**20:,.0f} MiB of the disk. {limit} {most / 2**20:,.0f} MiB."
        if disk.f_files and n_files > max(LEAST_FILES, disk.f_favail):
            return (
                f"The pod made {n_files:,} files. A pod may make as many as it leaves free, which is {disk.f_favail:,}."
            )
        if used.n_too_deep > self.at_start.n_too_deep:
            return "The pod put folders into each other so deep that what they hold cannot be found out."
        return ""


def usage_of(folders: Sequence[str], processes: Iterable[int] = ()) -> Usage:
    """Of all files below folders, and of the removed ones on the same disks that these processes still have open."""
    seen: dict[tuple[int, int], int] = {}
    n_too_deep, front = 0, list(folders)
    while front:
        try:
            with os.scandir(front.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        seen[found.st_dev, found.st_ino] = found.st_blocks * 512
                        if stat.S_ISDIR(found.st_mode):
                            front.append(entry.path)
        except OSError as error:
            n_too_deep += error.errno == errno.ENAMETOOLONG
    devices = {os.stat(folder).st_dev for folder in folders if os.path.exists(folder)}
    for found in _open_and_removed(processes):
        if found.st_dev in devices:
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return Usage(len(seen), sum(seen.values()), n_too_deep)


def _open_and_removed(processes: Iterable[int]) -> Iterable[os.stat_result]:
    for pid in processes:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    found = os.stat(f"/proc/{pid}/fd/{name}")
                    if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                        yield found
