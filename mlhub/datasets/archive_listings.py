# SPDX-License-Identifier: Apache-2.0
"""What is in the zip of a dataset version, by its directory alone: no member is unpacked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from mlhub.storage.stores import blob_store

MAX_DIRECTORY_BYTES = 3 * 2**20  # some 40,000 files; reading it takes up to a second


@dataclass(frozen=True)
class ArchiveListing:
    """files: the checksum and size of each member, by its path; None where they cannot be read: `problem` says why."""

    files: Mapping[str, tuple[int, int]] | None
    problem: str = ""


class TooLongError(Exception):
    """The directory of the archive has more bytes than may be read."""


class BoundedReads(io.BufferedIOBase):
    """The blob, of which no piece is read that is longer than a directory may be: the archive says its length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise TooLongError
        return self._file.read(MAX_DIRECTORY_BYTES if size is None or size < 0 else size)


def list_archive(sha256: str) -> ArchiveListing:
    """The members of a stored zip; None without a problem for a blob that is no zip."""
    try:
        with blob_store().open(sha256) as file, zipfile.ZipFile(BoundedReads(file)) as archive:
            members = (info for info in archive.infolist() if not info.is_dir())
            return ArchiveListing({info.filename: (info.CRC, info.file_size) for info in members})
    except FileNotFoundError:
        return ArchiveListing(None, "its file is not kept")
    except TooLongError:
        return ArchiveListing(None, "its archive has too many files to compare")
    except zipfile.BadZipFile:
        return ArchiveListing(None)
