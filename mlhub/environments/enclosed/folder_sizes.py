# SPDX-License-Identifier: Apache-2.0
"""How much is in a folder that a build writes, whatever it wrote there, and the disk below; and what no layer holds."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

MAX_FILES = 500_000
MAX_DEPTH = 200  # of folders in each other
LEAST_FREE = 0.02  # of the disk
TOO_DEEP_BYTES = 2**62  # of what lies too deep to be looked at: more than any limit


@dataclass(frozen=True)
class FolderSize:
    n_bytes: int
    n_files: int


def folder_size(folder: Path) -> FolderSize:
    """The size of all files below the folder, and their number; those that vanish meanwhile do not count.

    Not recursive, and without following links: the build of a package may nest folders as it likes.
    """
    n_bytes = n_files = 0
    top = str(folder).count("/")
    waiting = [str(folder)]
    while waiting and n_files <= MAX_FILES:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    n_files += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        if entry.path.count("/") - top > MAX_DEPTH:
                            return FolderSize(TOO_DEEP_BYTES, n_files)
                    else:
                        n_bytes += entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
        except PermissionError:  # what this user may not look at, it cannot store either
            continue
    return FolderSize(n_bytes, n_files)


def folder_bytes(folder: Path) -> int:
    return folder_size(folder).n_bytes


def is_disk_full(folder: Path) -> bool:
    """Whether hardly anything is free there: files that were removed and are still open are in no folder."""
    found = os.statvfs(folder)
    return found.f_bavail < LEAST_FREE * found.f_blocks


def remove_irregular(folder: Path) -> None:
    """Removes links, pipes, sockets and what else is neither file nor folder. The builder's processes are gone."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                os.unlink(path)
