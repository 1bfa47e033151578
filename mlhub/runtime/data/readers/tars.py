# SPDX-License-Identifier: Apache-2.0
"""The index of tar files: where each regular file lies, so that it is read alone, by any thread, without unpacking.

Archives may follow one another in one file (cat a.tar b.tar), lie in a tar, lie unpacked in a zip, or be the files of
a folder.
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError

MAX_FILES = 500_000  # of all shards
MAX_HEADER_BYTES = 2**20
BLOCK_BYTES = 512
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip: the lengths of what stands between the header and the bytes


@dataclass(frozen=True)
class TarMember:
    """name: as in the archive. offset, size: of its bytes in the whole file. file: which of a folder's."""

    name: str
    offset: int
    size: int
    file: int = 0


class TarShards:
    """The shards of a file or of a folder. Every method raises BadInputError naming what is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._paths = shards_in(path) if path.is_dir() else [path]
        self._file = None if path.is_dir() else path.open("rb", buffering=0)

    def read(self, member: TarMember) -> bytes:
        """The bytes of a file; threads may read at once."""
        if self._file is not None:
            return os.pread(self._file.fileno(), member.size, member.offset)
        # of a thousand shards not all may be open at once
        with self._paths[member.file].open("rb", buffering=0) as file:
            return os.pread(file.fileno(), member.size, member.offset)

    def shards(self) -> Iterator[tuple[str, Iterator[TarMember]]]:
        """The name of each shard, "" where it has none, and its regular files; to be read before the next shard."""
        n_files = _Count()
        if self._file is not None:
            yield from _ShardFile(self._file.fileno(), self._path).shards(n_files)
            return
        for i, path in enumerate(self._paths):
            with path.open("rb", buffering=0) as file:
                whole = TarMember(path.name, 0, path.stat().st_size, i)
                yield from _ShardFile(file.fileno(), path).each(whole, n_files)


class _ShardFile:
    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor, self._path = descriptor, path

    def shards(self, n_files: _Count) -> Iterator[tuple[str, Iterator[TarMember]]]:
        whole = TarMember("", 0, self._path.stat().st_size)
        if self._head(whole).startswith(ZIP):
            for shard in self._in_zip():
                yield from self.each(shard, n_files)
            return
        if not self._is_of_tars(whole):
            yield from self.each(whole, n_files)
            return
        for _, members in self.each(whole, n_files):
            for member in members:
                if not _is_tar(member):
                    raise _refusal(f"{member.name} is not in a shard.", "Pack .tar files only, or samples only.")
                yield from self.each(member, n_files)

    def _is_of_tars(self, whole: TarMember) -> bool:
        for _, members in self.each(whole, _Count()):
            return any(_is_tar(member) for member in islice(members, 1))
        return False

    def each(self, shard: TarMember, n_files: _Count) -> Iterator[tuple[str, Iterator[TarMember]]]:
        """The archives that follow one another there."""
        if self._head(shard).startswith(GZIP):
            raise _refusal(
                f"{shard.name or 'The file'} is packed by gzip.", "Unpack it: shards of pictures gain nothing by it."
            )
        start: int | None = shard.offset
        while start is not None:
            part = replace(shard, offset=start, size=shard.offset + shard.size - start)
            archive = _Archive(self._descriptor, part, n_files)
            yield shard.name, archive.members()
            start = archive.next_start()

    def _head(self, member: TarMember) -> bytes:
        return os.pread(self._descriptor, min(8, member.size), member.offset)

    def _in_zip(self) -> Iterator[TarMember]:
        with open_archive(self._path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
        for info in sorted(infos, key=lambda info: info.filename):
            if not info.filename.endswith(".tar"):
                raise _refusal(f"{info.filename} in the zip is no .tar file.", "Pack shards only.")
            if info.compress_type != zipfile.ZIP_STORED:
                raise _refusal(f"{info.filename} is compressed in the zip.", "Pack with zip -0, or as a tar of shards.")
            lengths = os.pread(self._descriptor, LOCAL_HEADER.size, info.header_offset)
            if len(lengths) < LOCAL_HEADER.size:
                raise _refusal("The zip is damaged.", "Make it again.")
            offset = info.header_offset + LOCAL_HEADER.size + sum(LOCAL_HEADER.unpack(lengths))
            yield TarMember(info.filename, offset, info.file_size)


class _Count:
    def __init__(self) -> None:
        self._n = 0

    def add(self) -> None:
        self._n += 1
        if self._n > MAX_FILES:
            raise _refusal(
                f"The shards have more than {MAX_FILES:,} files.",
                "Split them into several datasets, or leave some out.",
            )


class _Archive:
    def __init__(self, descriptor: int, place: TarMember, n_files: _Count) -> None:
        self._descriptor, self._place, self._n_files = descriptor, place, n_files
        self._end = place.offset

    def members(self) -> Iterator[TarMember]:
        name = self._place.name or "The file"
        window = _Window(self._descriptor, self._place)
        try:
            with tarfile.open(fileobj=window, mode="r:", encoding="utf-8", errors="strict") as archive:
                while (info := archive.next()) is not None:
                    vars(archive)["members"].clear()  # it would keep them all
                    self._n_files.add()
                    if not info.isdir():
                        yield self._checked(info)
                self._end = self._place.offset + archive.offset
        except (tarfile.TarError, OSError, ValueError, OverflowError) as error:
            raise _refusal(
                f"{name} is damaged as a tar: {error}.", "Make it again, and check it with tar -t."
            ) from error

    def next_start(self) -> int | None:
        """Where the next archive begins, after the blank blocks that end this one; None at the end."""
        stop, at = self._place.offset + self._place.size, self._end
        while at < stop:
            block = os.pread(self._descriptor, min(2**20, stop - at), at)
            filled = len(block) - len(block.lstrip(b"\0"))
            if filled < len(block):
                return at + filled // BLOCK_BYTES * BLOCK_BYTES
            at += len(block)
        return None

    def _checked(self, info: tarfile.TarInfo) -> TarMember:
        name, parts = info.name, PurePosixPath(info.name).parts
        if name.startswith("/") or ".." in parts or "\\" in name or "\0" in name:
            raise _refusal(
                f"The archive names {name[:200]!r}, which is outside of it.",
                "Make the tar again from within the folder, with relative names.",
                code="path_traversal",
            )
        if info.issym() or info.islnk():
            raise _refusal(f"{name[:200]!r} is a link.", "Put the file itself into the archive.", code="link")
        if not info.isreg() or info.issparse():
            raise _refusal(f"{name[:200]!r} is no plain file.", "Leave devices, pipes and sparse files out.")
        if not 0 <= info.size <= self._place.size - info.offset_data:
            raise _refusal(f"{name[:200]!r} ends after its archive does.", "Make the tar again: it is not whole.")
        return TarMember(name, self._place.offset + info.offset_data, info.size, self._place.file)


class _Window(io.RawIOBase):
    """A part of a file, as a file of its own. Refuses to read more at once than a header has."""

    def __init__(self, descriptor: int, place: TarMember) -> None:
        self._descriptor, self._place, self._at = descriptor, place, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._place.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        size = max(0, min(size, self._place.size - self._at))
        found = os.pread(self._descriptor, size, self._place.offset + self._at)
        self._at += len(found)
        return found


def _is_tar(member: TarMember) -> bool:
    return member.name.lower().endswith(".tar")


def _refusal(message: str, remedy: str, *, code: str = "invalid_file") -> BadInputError:
    return BadInputError(message, field="file", remedy=remedy, code=code)
