# SPDX-License-Identifier: Apache-2.0
"""The folders in which environments are built: temporary ones, also where the worker of one was killed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uv

from mlhub.environments.enclosed.folder_sizes import folder_bytes

CLEANING_S = 120.0


@contextmanager
def build_folder(root: Path) -> Iterator[Path]:
    """Yields an empty folder below root, which is removed afterwards. What killed builds have left there is removed
    first: such a folder is not locked, for the lock ends with its process."""
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):  # no other build sees the new folder before it is locked
        _remove_abandoned(root)
        folder = Path(tempfile.mkdtemp(dir=root))
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(held)


def bound_cache(cache: Path, *, limit_bytes: int) -> bool:
    """Empties the installer's cache once it is larger than that; returns whether it was. uv waits for other builds."""
    if not cache.is_dir() or folder_bytes(cache) <= limit_bytes:
        return False
    command = [uv.find_uv_bin(), "cache", "clean", "--quiet", "--cache-dir", str(cache)]
    try:
        return subprocess.run(command, capture_output=True, timeout=CLEANING_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:  # in use all that time: after the next build
        return False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Also where the build of a package nested folders deeper than Python goes."""
    subprocess.run(["/bin/rm", "-rf", "--", str(folder)], capture_output=True, check=False)


def _remove_abandoned(root: Path) -> None:
    for each in root.iterdir():
        if not each.is_dir():
            continue
        descriptor = os.open(each, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(BlockingIOError):  # it is being built
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(each)
        finally:
            os.close(descriptor)
