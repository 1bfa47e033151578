# SPDX-License-Identifier: Apache-2.0
"""Untrusted tar archives, also in gzip, as folders: no traversal, links, devices or bombs.

Each member is checked before it is written; the folder is to be thrown away when this raises.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from mlhub.runtime.data.archives import MAX_EXPANDED_BYTES, MAX_FILES, check_name, require_no_bomb
from mlhub.runtime.errors import STORAGE_ERRORS, BadInputError

SUFFIXES = (".tar", ".tar.gz", ".tgz")
LARGEST_READ = 2**20  # of a header: a longer one would be read into memory whole
GZIP = b"\x1f\x8b"


def is_tar(path: Path) -> bool:
    """Whether it begins as a tar; one that is damaged further on is a tar, too."""
    try:
        with _opened(path):
            return True
    except BadInputError:
        return False


def holds_samples(path: Path) -> bool:
    """Whether it is a shard of WebDataset, or holds such: its first two files are of one sample, or the first a tar."""
    with _opened(path) as archive:
        names = [PurePosixPath(info.name) for info in _first_files(archive, 2)]
    if not names or names[0].suffix == ".tar":
        return bool(names)
    return len(names) > 1 and len({name.parent / name.name.partition(".")[0] for name in names}) == 1


def extract(path: Path, folder: Path, *, without: tuple[str, ...] = ()) -> None:
    """Unpacks the regular files, but those below a folder of these names, or so named. Raises BadInputError."""
    n_files = n_bytes = 0
    packed_bytes = path.stat().st_size
    with _opened(path) as archive:
        for info in _members(archive):
            n_files, n_bytes = n_files + 1, n_bytes + info.size
            _require_few(n_files)
            require_no_bomb(n_bytes, packed_bytes=packed_bytes)
            _check(info)
            if info.isdir() or any(part in without for part in PurePosixPath(info.name).parts):
                continue
            target = folder / info.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                shutil.copyfileobj(cast("IO[bytes]", archive.extractfile(info)), file, LARGEST_READ)


def _first_files(archive: tarfile.TarFile, n: int) -> list[tarfile.TarInfo]:
    found = []
    for n_seen, info in enumerate(_members(archive), start=1):
        _require_few(n_seen)
        if info.isreg():
            found.append(info)
        if len(found) == n:
            break
    return found


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (info := archive.next()) is not None:
        vars(archive)["members"].clear()  # it would keep them all
        yield info


def _check(info: tarfile.TarInfo) -> None:
    check_name(info.name)
    if info.issym() or info.islnk():
        raise BadInputError(
            f"{info.name[:200]!r} is a link.", field="file", remedy="Put the file itself into the archive.", code="link"
        )
    if not info.isdir() and (not info.isreg() or info.issparse()):
        raise BadInputError(
            f"{info.name[:200]!r} is no plain file.", field="file", remedy="Leave devices, pipes and sparse files out."
        )


def _require_few(n_files: int) -> None:
    if n_files > MAX_FILES:
        raise BadInputError(
            f"The archive has more than {MAX_FILES:,} files.",
            field="file",
            remedy="Pack the examples as shards or Parquet instead.",
        )


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Raises BadInputError for what is no tar, or a damaged one, also from within the block."""
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(len(GZIP)) == GZIP
            raw.seek(0)
            plain = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed else raw
            with tarfile.open(fileobj=_ShortReads(plain), mode="r:", encoding="utf-8", errors="strict") as archive:
                yield archive
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno in STORAGE_ERRORS:
            raise  # a full disk is no fault of the archive
        raise BadInputError(
            f"The archive is damaged: {error}.", field="file", remedy="Make the tar again, and check it with tar -t."
        ) from error


class _ShortReads(io.RawIOBase):
    """Refuses to read more at once than a header has."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and offset > MAX_EXPANDED_BYTES + self._file.tell():
            raise ValueError("a member is longer than any archive may be")
        return self._file.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_READ:
            raise ValueError("a header is too long")
        return self._file.read(size)
