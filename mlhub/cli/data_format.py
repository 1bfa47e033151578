# SPDX-License-Identifier: Apache-2.0
"""The format in which data is uploaded where none was named: the platform goes by the name of one file only."""

from __future__ import annotations

import tarfile
from pathlib import Path, PurePosixPath
from typing import NoReturn

from mlhub.cli import packing
from mlhub.cli.failures import CommandError
from mlhub.wire.formats import AUDIO_SUFFIXES, by_suffix

FILES = "files"  # of wire/formats.py: of any kind, for scripts
PICTURES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))
AUDIO = "audio_folder"
N_LOOKED_AT = 10  # of the first shard's members


def format_of(path: Path, *, is_for_script: bool = False) -> str:
    """The format of a file or a folder; "" leaves it to the platform.

    A folder of pictures only, one folder a class, is image_folder, one of audio only audio_folder, one of shards what
    is in the first one, and any other folder files. is_for_script: code that reads files by itself will use it, so
    what no format claims is files, too.
    """
    if path.is_dir():
        files = list(packing.files_in(path))
        return _of_folder([PurePosixPath(name) for _, name in files], first=files[0][0] if files else path)
    return FILES if is_for_script and by_suffix(path.suffix) is None else ""


def refuse_columns(path: Path) -> NoReturn:
    """Raises CommandError for a folder to which a table's options were given, which only a file has."""
    suffix = next((file.suffix for file, _ in packing.files_in(path)), "")
    raise CommandError(
        f"{path} would be uploaded as files of any kind, for scripts, which have no columns.",
        remedy=f"Push one file, or name the files by their address: --from 'file:///a/folder/of/the/site/*{suffix}'"
        if suffix == ".parquet"
        else "Push one file, or say the format: --format.",
    )


def _of_folder(names: list[PurePosixPath], *, first: Path) -> str:
    suffixes = {name.suffix.lower() for name in names}
    if suffixes == {packing.SHARD}:
        return AUDIO if _has_audio(first) else "webdataset"
    are_in_folders = all(len(name.parts) > 1 for name in names)
    if are_in_folders and suffixes <= {*AUDIO_SUFFIXES}:
        return AUDIO
    return "" if are_in_folders and suffixes <= PICTURES else FILES


def _has_audio(shard: Path) -> bool:
    try:
        with tarfile.open(shard) as archive:
            members = [member for member, _ in zip(archive, range(N_LOOKED_AT), strict=False)]
    except (OSError, tarfile.TarError):
        return False  # the platform says what is wrong with it
    return any(PurePosixPath(member.name).suffix.lower() in AUDIO_SUFFIXES for member in members)
