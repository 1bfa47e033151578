# SPDX-License-Identifier: Apache-2.0
"""Files that are sent, and files that are received: whole, or not there."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from mlhub.client.requests import FileSource


@dataclass(frozen=True)
class OpenedFile:
    """file: at its beginning, seekable. filename: by which the platform guesses the format."""

    file: BinaryIO
    filename: str
    size_bytes: int


@contextmanager
def opened(source: FileSource) -> Iterator[OpenedFile]:
    """A file to send. Raises OSError; TypeError for what is no file."""
    if isinstance(source, tuple):
        name, content = source
        yield OpenedFile(io.BytesIO(content), name, len(content))
    elif isinstance(source, str | os.PathLike):
        with Path(source).expanduser().open("rb") as file:
            yield OpenedFile(file, Path(source).name, os.fstat(file.fileno()).st_size)
    elif hasattr(source, "seek"):
        size_bytes = source.seek(0, os.SEEK_END)
        source.seek(0)
        yield OpenedFile(source, Path(str(getattr(source, "name", "file"))).name, size_bytes)
    else:
        raise TypeError("file: give a path, an open binary file, or (filename, bytes).")


@contextmanager
def partial_file(target: Path) -> Iterator[BinaryIO]:
    """A file next to the target, which takes its place when nothing went wrong, and is removed otherwise."""
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        opened = part.open("w+b")
    except OSError as error:  # a person knows the target's name
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with opened as file:
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def form_of(fields: Mapping[str, Any], file: tuple[str, bytes] | None) -> list[tuple[str, tuple[str | None, bytes]]]:
    """Parts of multipart/form-data: of a list one part for each value."""
    parts: list[tuple[str, tuple[str | None, bytes]]] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            text = one if isinstance(one, str) else json.dumps(one)
            parts.append((name, (None, text.encode())))
    if file is not None:
        parts.append(("file", file))
    return parts
