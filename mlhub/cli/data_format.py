# SPDX-License-Identifier: Apache-2.0
"""The format in which data is uploaded where none was named: the platform goes by the name of one file only."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from mlhub.cli import packing
from mlhub.wire.formats import AUDIO_SUFFIXES, by_suffix

FILES = "files"  # of wire/formats.py: of any kind, for scripts
PICTURES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))
SHARDS = ".tar"


def format_of(path: Path, *, is_for_script: bool = False) -> str:
    """The format of a file or a folder; "" leaves it to the platform.

    A folder of pictures only, one folder a class, is image_folder, one of audio only audio_folder, and any other folder
    files. is_for_script: code that reads files by itself will use it, so what no format claims is files, too.
    """
    if path.is_dir():
        return _of_folder([PurePosixPath(name) for _, name in packing.files_in(path)])
    return FILES if is_for_script and by_suffix(path.suffix) is None else ""


def _of_folder(names: list[PurePosixPath]) -> str:
    suffixes = {name.suffix.lower() for name in names}
    if suffixes == {SHARDS}:
        return "webdataset"
    are_in_folders = all(len(name.parts) > 1 for name in names)
    if are_in_folders and suffixes <= {*AUDIO_SUFFIXES}:
        return "audio_folder"
    return "" if are_in_folders and suffixes <= PICTURES else FILES
