# SPDX-License-Identifier: Apache-2.0
"""Files in folders of the site, such as NFS, that MLHUB_DATA_FOLDERS lists; everybody on the platform may read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

from django.conf import settings

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.sources.failure import FetchError


class SiteFile(NamedTuple):
    """etag: of its time of change and its size, which an entity tag stands for."""

    file: BinaryIO
    size_bytes: int
    etag: str


def check_path(uri: str) -> None:
    """Whether the path is in a listed folder, by its words alone. Raises InvalidInputError."""
    path = _path(uri)
    if urlsplit(uri).netloc or ".." in path.parts:
        raise InvalidInputError(
            "The address of a file has three slashes and no .. in it.",
            field="source.uri",
            remedy="Write it like file:///a/folder/of/the/site/iris.csv.",
        )
    if not any(path.is_relative_to(folder) for folder in settings.DATA_FOLDERS):
        listed = ", ".join(str(folder) for folder in settings.DATA_FOLDERS) or "none"
        raise InvalidInputError(
            f"{path} is in no folder that the site offers.",
            field="source.uri",
            remedy=f"Offered are: {listed}. An administrator sets MLHUB_DATA_FOLDERS.",
        )


@contextmanager
def opened(uri: str) -> Iterator[SiteFile]:
    """The file, checked once it is open: links that lead out of the folders are refused. Raises FetchError."""
    path = _path(uri)
    try:
        # O_NONBLOCK: a pipe would wait for who writes to it
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FetchError(
            "not_found",
            f"{path} cannot be opened by the platform's worker: {error.strerror}.",
            "Check the path, and that the platform's user may read the file.",
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        where = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if not any(where.is_relative_to(os.path.realpath(folder)) for folder in settings.DATA_FOLDERS):
            raise FetchError(
                "outside_folder", f"{path} leads out of the folders that the site offers.", "Name the file itself."
            )
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise FetchError("no_file", f"{path} is no file.", "Name one file; zip a folder of images.")
        yield SiteFile(file, facts.st_size, etag_of(descriptor))


def names_in(uri: str) -> list[str]:
    """The names of the files in the folder of a file's address. Raises FetchError."""
    folder = _path(uri).parent
    if not any(Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(one)) for one in settings.DATA_FOLDERS):
        raise FetchError(
            "outside_folder", f"{folder} leads out of the folders that the site offers.", "Name the folder itself."
        )
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file()]
    except OSError as error:
        raise FetchError(
            "not_found",
            f"{folder} cannot be read by the platform's worker: {error.strerror}.",
            "Check the path, and that the platform's user may read the folder.",
        ) from error


def etag_of(descriptor: int) -> str:
    """Stands for the content of an open file, as long as its time of change is not set back."""
    facts = os.fstat(descriptor)
    return f"{facts.st_mtime_ns:x}-{facts.st_size:x}"


def _path(uri: str) -> PurePosixPath:
    return PurePosixPath(unquote(urlsplit(uri).path))
