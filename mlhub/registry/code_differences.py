# SPDX-License-Identifier: Apache-2.0
"""What differs between the code of two model versions, file by file, as unified diffs of bounded size."""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum
from itertools import islice

from mlhub.registry.models import ModelVersion
from mlhub.storage.stores import blob_store

MAX_PACKAGE_BYTES = 16 * 2**20  # of the zip
MAX_FILE_BYTES = 128 * 2**10
MAX_FILE_LINES = 2_000  # difflib's time grows faster than the number of lines
MAX_FILES = 100  # that differ
MAX_DIFF_LINES = 1_000  # of one file
MAX_ALL_LINES = 5_000
MAX_CPU_S = 2.0  # after which no further file is compared: difflib takes seconds for lines that repeat often


class FileChange(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class FileDifference:
    """diff: unified, without its two heading lines. note: why the diff is absent or not whole; empty otherwise."""

    path: str
    change: FileChange
    diff: str
    note: str = ""


@dataclass(frozen=True)
class CodeDifference:
    """note: why the code is not compared at all. n_left_out: further files that differ."""

    files: tuple[FileDifference, ...] = ()
    n_left_out: int = 0
    note: str = ""


def code_difference(before: ModelVersion, after: ModelVersion) -> CodeDifference:
    """Compares the packages of two versions of code; equal ones are not opened."""
    if before.pk == after.pk or (before.package_id is not None and before.package_id == after.package_id):
        return CodeDifference()
    for version in (before, after):
        if note := _uncomparable(version):
            return CodeDifference(note=note)
    try:
        with _opened(before) as old, _opened(after) as new:
            return _compared(old, new)
    except zipfile.BadZipFile:
        return CodeDifference(note="One of the packages is no sound zip: it was not validated yet.")


def _uncomparable(version: ModelVersion) -> str:
    name = f"Version {version.number} of {version.model.name}"
    if version.package is None:
        return f"{name} has no files of code: it is built in, or its package was refused."
    if version.package.size_bytes > MAX_PACKAGE_BYTES:
        return f"{name} has a package of more than {MAX_PACKAGE_BYTES // 2**20} MiB, which is not compared."
    return ""


@contextmanager
def _opened(version: ModelVersion) -> Iterator[zipfile.ZipFile]:
    with blob_store().open(str(version.package_id)) as file, zipfile.ZipFile(file) as archive:
        yield archive


def _compared(old: zipfile.ZipFile, new: zipfile.ZipFile) -> CodeDifference:
    olds, news = _members(old), _members(new)
    differing = [path for path in sorted(olds | news) if _identity(olds.get(path)) != _identity(news.get(path))]
    n_lines, found, begun_s = 0, [], time.thread_time()
    for path in differing[:MAX_FILES]:
        change = (
            FileChange.ADDED if path not in olds else FileChange.REMOVED if path not in news else FileChange.CHANGED
        )
        room = MAX_ALL_LINES - n_lines if time.thread_time() - begun_s < MAX_CPU_S else 0
        diff, note = _diff(_text(old, olds.get(path)), _text(new, news.get(path)), max_lines=room)
        n_lines += diff.count("\n")
        found.append(FileDifference(path, change, diff, note))
    return CodeDifference(tuple(found), n_left_out=max(0, len(differing) - MAX_FILES))


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {info.filename: info for info in archive.infolist() if not info.is_dir()}


def _identity(info: zipfile.ZipInfo | None) -> tuple[int, int] | None:
    """The checksum and the size: equal for equal files, by the archive's own word."""
    return None if info is None else (info.CRC, info.file_size)


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None) -> list[str] | None:
    """The lines of the file, none where there is no file; None for what is too large, or no text in UTF-8."""
    if info is None:
        return []
    if info.file_size > MAX_FILE_BYTES:
        return None
    try:
        with archive.open(info) as file:
            content = file.read(MAX_FILE_BYTES + 1)
        lines = content.decode().splitlines()
    except (UnicodeDecodeError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
        return None  # not text; or a member that is broken, encrypted, or packed in a way that Python does not read
    return None if len(content) > MAX_FILE_BYTES or "\0" in content.decode() or len(lines) > MAX_FILE_LINES else lines


def _diff(old: list[str] | None, new: list[str] | None, *, max_lines: int) -> tuple[str, str]:
    """The diff, and a note where it is not whole. max_lines: what the answer has room for."""
    if old is None or new is None:
        return "", f"It is no text, or longer than {MAX_FILE_BYTES // 2**10} KiB or {MAX_FILE_LINES:,} lines."
    if max_lines <= 0:
        return "", f"Left out: the differences have more than {MAX_ALL_LINES:,} lines, or take too long to find."
    limit = min(MAX_DIFF_LINES, max_lines)
    lines = list(islice(_diff_lines(old, new), limit + 1))
    note = "" if len(lines) <= limit else f"Only its first {limit:,} lines of differences are shown."
    return "".join(f"{line}\n" for line in lines[:limit]), note


def _diff_lines(old: list[str], new: list[str]) -> Iterator[str]:
    """Without the headings, which name files and times that the answer has elsewhere."""
    yield from islice(unified_diff(old, new, lineterm=""), 2, None)
