# SPDX-License-Identifier: Apache-2.0
"""Untrusted zip archives, checked before a byte is written: no traversal, links, bombs or encryption."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from mlhub.runtime.errors import BadInputError

MAX_FILES = 200_000
MAX_EXPANDED_BYTES = 8 * 2**30
MAX_RATIO = 200  # no image, array or source file of use packs better
RATIO_APPLIES_FROM_BYTES = 50 * 2**20


def open_archive(path: Path) -> zipfile.ZipFile:
    """Opens an archive. Raises BadInputError when it is no zip, or an unsafe one."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise BadInputError(
            f"The archive is damaged: {error}.", field="file", remedy="Make the zip again and check it with unzip -t."
        ) from error
    try:
        _check(archive, packed_bytes=path.stat().st_size)
    except BadInputError:
        archive.close()
        raise
    return archive


def extract(
    path: Path, folder: Path, *, keeps_executables: bool = False, only: Collection[str] | None = None
) -> list[str]:
    """Unpacks all regular files into folder; returns their names. Raises BadInputError before anything is written.

    keeps_executables: whether files that are executable in the archive are so in the folder. only: names of members.
    """
    with open_archive(path) as archive:
        wanted = archive.namelist() if only is None else list(only)
        named = set(wanted)
        infos = [info for info in archive.infolist() if not info.is_dir() and info.filename in named]
        folder.mkdir(parents=True, exist_ok=True)
        try:
            executables = {info.filename for info in infos if keeps_executables and info.external_attr >> 16 & 0o111}
            archive.extractall(folder, members=[name for name in wanted if name not in executables])
            for name in sorted(executables):
                _extract_executable(archive, name, folder)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise BadInputError(
                f"The archive is damaged: {error}.", field="file", remedy="Make the zip again."
            ) from error
    return [info.filename for info in infos]


def repository_folder(names: Iterable[str], entry: str) -> str:
    """The one folder of an archive, as repositories are downloaded: "gpt-main/" for the entry "gpt-main/train.py".

    "" where there is more in it, or where code may import the folder by its name.
    """
    top = only_folder(names, entry)
    return "" if top[:-1].isidentifier() else top


def only_folder(names: Iterable[str], entry: str) -> str:
    """The one folder of an archive, such as "src/", in which the entry is; "" where there is more in it."""
    top, _, _ = entry.partition("/")
    is_only = "/" in entry and all(name.startswith(f"{top}/") for name in names)
    return f"{top}/" if is_only else ""


def _extract_executable(archive: zipfile.ZipFile, name: str, folder: Path) -> None:
    """Writes a file that is executable from the start: a sandbox without namespaces refuses to change modes."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    with os.fdopen(descriptor, "wb") as file, archive.open(name) as source:
        shutil.copyfileobj(source, file, 2**20)


def _check(archive: zipfile.ZipFile, *, packed_bytes: int) -> None:
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise BadInputError(
            f"The archive has {len(infos):,} files; {MAX_FILES:,} are allowed.",
            field="file",
            remedy="Pack the examples as NPZ or Parquet instead.",
        )
    for info in infos:
        _check_member(info)
    require_no_bomb(sum(info.file_size for info in infos), packed_bytes=packed_bytes)


def require_no_bomb(expanded: int, *, packed_bytes: int) -> None:
    """Raises BadInputError for an archive that unpacks to more bytes than is allowed, or than files of use do."""
    found = f"The archive of {packed_bytes:,} bytes would unpack to {expanded:,} bytes"
    if expanded > MAX_EXPANDED_BYTES:
        raise BadInputError(
            f"{found}; {MAX_EXPANDED_BYTES:,} are allowed.",
            field="file",
            remedy="Pack fewer or smaller files, or pack images as WebDataset shards.",
            code="archive_bomb",
        )
    if expanded > RATIO_APPLIES_FROM_BYTES and expanded > MAX_RATIO * packed_bytes:
        raise BadInputError(
            f"{found}, more than {MAX_RATIO} times its packed size.",
            field="file",
            remedy="Leave out files of nothing but zeros, or pack without compression (zip -0).",
            code="archive_bomb",
        )


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.filename
    check_name(name)
    if stat.S_ISLNK(info.external_attr >> 16):
        raise BadInputError(
            f"{name!r} is a link.", field="file", remedy="Put the file itself into the archive.", code="link"
        )
    if info.flag_bits & 0x1:
        raise BadInputError("The archive is encrypted.", field="file", remedy="Make it without a password.")


def check_name(name: str) -> None:
    """Raises BadInputError for a member that would be outside of the folder."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or ".." in parts or "\x00" in name or (parts and ":" in parts[0]):
        raise BadInputError(
            f"The archive names {name[:200]!r}, which is outside of it.",
            field="file",
            remedy="Make the archive again from within the folder, with relative names.",
            code="path_traversal",
        )
