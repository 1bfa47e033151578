# SPDX-License-Identifier: Apache-2.0
"""A folder of this machine that jobs share: data prepared from an input is cached for all, under the hash of both.

Of several processes that need an entry at once one makes it and the others wait; it appears whole or not at all.
A process holds a lock on what it uses, so that only unused entries are evicted.
Standard library only.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlhub.wire.trees import remove_tree, statuses_below

MAX_BYTES = 32 * 2**30
PREPARED_FOLDER = "prepared"  # a cache of them, next to inputs that pods share
OWN = re.compile(r"\..*\.(lock|making|new)")  # names of files that are no entries
SHA256 = re.compile(r"[0-9a-f]{64}")  # begins the name of each entry: the hash of the input that it was made from


class NodeCache:
    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._max_bytes = folder, max_bytes
        self._held: list[int] = []

    def get(self, key: str, make: Callable[[Path], None]) -> Path:
        """Returns the entry's folder, which make() fills if it does not exist; it stays while this object is open.

        make: is given an empty folder; what it raises is raised here, and nothing is kept.
        """
        target, lock = self._folder / key, _open(self._folder / f".{key}.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)  # in use from here on
            if not _is_entry(target):
                self._make(target, make)
            os.utime(target)
        except BaseException:
            os.close(lock)
            raise
        self._held.append(lock)
        self._evict()
        return target

    def close(self) -> None:
        """Releases all entries in use."""
        while self._held:
            os.close(self._held.pop())

    def _make(self, target: Path, make: Callable[[Path], None]) -> None:
        aside, lock = target.with_name(f".{target.name}.new"), _open(target.with_name(f".{target.name}.making"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_entry(target):
                return  # another process was first
            _remove(target)  # a link or a file, which some pod left under this name
            _remove(aside)  # of a process that died while making it
            aside.mkdir()
            make(aside)
            aside.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            os.close(lock)

    def _evict(self) -> None:
        """Evicts what died while it was made, and unused entries, the least recently used first."""
        for aside in self._folder.glob(".*.new"):
            with _alone(aside.with_suffix(".making")) as is_alone:
                if is_alone:
                    _remove(aside)
        there = sorted((path for path in self._folder.iterdir() if not OWN.fullmatch(path.name)), key=_used_at)
        sizes = {path: _size(path) for path in there}
        left = sum(sizes.values())
        for path in there:
            if left <= self._max_bytes:
                return
            with _alone(path.with_name(f".{path.name}.lock")) as is_alone:
                if is_alone:
                    _remove(path)
                    left -= sizes[path]


def _is_entry(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    """Whatever it is; follows no link."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    else:
        remove_tree(path)


def hashes_in(folder: Path) -> set[str]:
    """Of the inputs that the entries of a cache were made from."""
    return {found[0] for path in _entries(folder) if (found := SHA256.match(path.name))}


def is_used(folder: Path) -> bool:
    """Whether a process uses an entry of the cache."""
    with suppress(FileNotFoundError):
        return any(_is_held(path) for path in folder.iterdir() if path.name.startswith(".") and path.suffix == ".lock")
    return False


def remove_unused(folder: Path, sha256s: Collection[str]) -> int:
    """Removes what was made from these inputs and no process uses; returns how many entries are gone.

    Pods write to the folder: no link of theirs is followed.
    """
    n_gone = 0
    for path in _entries(folder):
        found = SHA256.match(path.name)
        if found is None or found[0] not in sha256s:
            continue
        n_gone += remove_entry(path)
    return n_gone


def remove_entry(path: Path) -> bool:
    """Removes an entry that no process uses; returns whether it is gone."""
    with _held_alone(path.with_name(f".{path.name}.lock")) as is_alone:
        if is_alone:
            _remove(path)
    return not os.path.lexists(path)


def longest_unused_first(folders: Iterable[Path]) -> list[Path]:
    """The entries of these caches."""
    return sorted((path for folder in folders for path in _entries(folder)), key=_used_at)


def _entries(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return [path for path in folder.iterdir() if not OWN.fullmatch(path.name)]
    return []


def _is_held(lock: Path) -> bool:
    with _held_alone(lock) as is_alone:
        return not is_alone


@contextmanager
def _held_alone(lock: Path) -> Iterator[bool]:
    """As _alone(), of a folder of strangers: what is no lock is held by no process, and nothing is made."""
    descriptor = _opened_as_is(lock)
    if descriptor is None:
        yield True
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_alone = False
    else:
        is_alone = True
    try:
        yield is_alone
    finally:
        os.close(descriptor)


def _opened_as_is(lock: Path) -> int | None:
    """For writing where that is allowed: shared disks of a network lock nothing else exclusively."""
    for access in (os.O_RDWR, os.O_RDONLY):
        with suppress(OSError):
            return os.open(lock, access | os.O_NOFOLLOW | os.O_NONBLOCK)
    return None


@contextmanager
def _alone(lock: Path) -> Iterator[bool]:
    descriptor = _open(lock)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _open(lock: Path) -> int:
    """What a pod left in a lock's place is removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(lock, flags, 0o644)
    except OSError:
        _remove(lock)
        return os.open(lock, flags, 0o644)


def _used_at(path: Path) -> float:
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size + sum(status.st_size for status in statuses_below(path))
    return 0
