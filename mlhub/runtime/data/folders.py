# SPDX-License-Identifier: Apache-2.0
"""Datasets as folders, for code that reads files by itself: an archive is unpacked once for all pods of a node."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from mlhub.runtime.data import archives, tar_archives
from mlhub.runtime.data.node_cache import NodeCache

LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db")  # which systems put into archives by themselves


def members_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files of the archive, without those that packing programs add."""
    return [
        info
        for info in archive.infolist()
        if not info.is_dir() and not any(part in LITTER for part in PurePosixPath(info.filename).parts)
    ]


def is_unpacked(filename: str, path: Path) -> bool:
    """Whether a dataset's file is shown to scripts as the folder that was packed: an archive under an archive's name.

    A file such as weights.pt or book.docx is a zip as well, and stays the file that its readers expect; so do shards of
    WebDataset. Raises BadInputError for a damaged tar.
    """
    if PurePosixPath(filename).suffix.lower() == ".zip":
        return zipfile.is_zipfile(path)
    is_named_so = filename.lower().endswith(tar_archives.SUFFIXES)
    return is_named_so and tar_archives.is_tar(path) and not tar_archives.holds_samples(path)


def unpacked(path: Path, *, sha256: str, cache: NodeCache) -> Path:
    """The folder with the archive's files, which stays while the cache is open.

    Raises BadInputError for an unsafe archive, OSError when the disk is full.
    """
    return cache.get(f"{sha256}-files", lambda folder: _unpack(path, folder))


def linked(path: Path, folder: Path, filename: str) -> Path:
    """The folder, with the file under the name that it was uploaded with."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / PurePosixPath(filename).name
    link.unlink(missing_ok=True)  # of a process before this one
    link.symlink_to(path)
    return folder


def _unpack(path: Path, folder: Path) -> None:
    if tar_archives.is_tar(path):  # asked first: one that ends with a zip looks like a zip, too
        tar_archives.extract(path, folder, without=LITTER)
        return
    with archives.open_archive(path) as archive:
        members = [info.filename for info in members_of(archive)]
    archives.extract(path, folder, only=members)
