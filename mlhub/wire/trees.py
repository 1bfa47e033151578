# SPDX-License-Identifier: Apache-2.0
"""Folders that strangers wrote, looked through and removed however deep they are: shutil and os.walk go down by
recursion, so one folder of a thousand levels would end what removes those of all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path


def remove_tree(path: Path) -> None:
    """Follows no link. What cannot be removed stays, without an error."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path) and not path.is_symlink():
        restore_rights(path)
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(path)], check=False, capture_output=True)


def restore_rights(folder: Path) -> None:
    """Lets this user read and write its own folders again, which took the right from themselves. Follows no link."""
    if os.geteuid() != 0:  # who needs no right, and whom a link that takes a folder's place would lead elsewhere
        command = ["chmod", "-R", "u+rwX", "--", str(folder)]
        subprocess.run(command, check=False, capture_output=True)


def statuses_below(folder: Path) -> Iterator[os.stat_result]:
    """Of all files and folders below it, but for those whose path is too long; links are not followed."""
    front = [str(folder)]
    while front:
        with contextlib.suppress(OSError), os.scandir(front.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        front.append(entry.path)
                    yield found
