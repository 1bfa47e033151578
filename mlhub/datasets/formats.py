# SPDX-License-Identifier: Apache-2.0
"""Guessing a file's format from its name, or from its first bytes. Only inspection proves that the file is sound."""

from __future__ import annotations

import json
import struct
import tarfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.archive_listings import BoundedReads, TooLongError
from mlhub.wire.formats import AUDIO_SUFFIXES, FORMATS, TEXT_FIELDS, by_first_bytes, by_suffix

FIRST_LINE_BYTES = 2**20
ANY_KIND = "files"
ARCHIVES = ("image_folder", "webdataset")  # formats whose names of files are those of audio, too
OF_PICTURES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tar"))
N_NAMES = 200  # of an archive that are looked at
ZIP = b"PK\x03\x04"
LOCAL_HEADER = struct.Struct("<4s2xH10xI4xHH")  # of a zip: flags, the packed size, the lengths of name and extra field
SIZE_FOLLOWS = 0x8  # a flag: the size stands behind the bytes
UNKNOWN_SIZE = 0xFFFFFFFF


def guess(filename: str, opened: Callable[[], BinaryIO]) -> str:
    """The name of a format of wire/formats.py. opened: gives the file, each time anew.

    Raises InvalidInputError if neither name nor content shows it.
    """
    by_name = by_suffix(Path(filename).suffix)
    if by_name == "json_lines" and _are_texts(opened):
        return "text_lines"
    if by_name in ARCHIVES and _are_clips(opened):
        return "audio_folder"
    if by_name is not None:
        return by_name
    with opened() as file:
        by_content = by_first_bytes(file.read(8))
    if by_content is None:
        raise InvalidInputError(
            f"Neither the name {filename} nor the first bytes show the format.",
            field="format",
            remedy=f"Give the format: {', '.join(FORMATS)}. A script reads files of any kind: {ANY_KIND}.",
        )
    return "audio_folder" if by_content in ARCHIVES and _are_clips(opened) else by_content


def _are_texts(opened: Callable[[], BinaryIO]) -> bool:
    """Whether the first object of JSON lines has a text, and besides at most a label and a part."""
    with opened() as file:
        line = file.readline(FIRST_LINE_BYTES)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("text"), str) and found.keys() <= TEXT_FIELDS


def _are_clips(opened: Callable[[], BinaryIO]) -> bool:
    """Whether the first files of an archive are of audio, and none is a picture or belongs to shards."""
    with opened() as file:
        head = file.read(len(ZIP))
        file.seek(0)
        try:
            names = list(islice(_names_in_zip(file) if head == ZIP else _names_in_tar(file), N_NAMES))
        except (OSError, ValueError, tarfile.TarError, TooLongError):
            return False
    suffixes = {PurePosixPath(name).suffix.lower() for name in names if not name.startswith("__MACOSX")}
    return bool(suffixes & {*AUDIO_SUFFIXES}) and not suffixes & OF_PICTURES


def _names_in_zip(file: BinaryIO) -> Iterator[str]:
    """By the headers of the first files: the directory at the end may be long."""
    while len(head := file.read(LOCAL_HEADER.size)) == LOCAL_HEADER.size:
        mark, flags, packed, n_name, n_extra = LOCAL_HEADER.unpack(head)
        if mark != ZIP:
            return
        yield file.read(n_name).decode(errors="replace")
        if flags & SIZE_FOLLOWS or packed == UNKNOWN_SIZE:
            return
        file.seek(n_extra + packed, 1)


def _names_in_tar(file: BinaryIO) -> Iterator[str]:
    with tarfile.open(fileobj=BoundedReads(file), mode="r:") as archive:
        for info in archive:
            if info.isreg():
                yield info.name
