# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as files of the platform's own disk. Pods write the folders and are not trusted: no link is followed."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from django.conf import settings

from mlhub.core.errors import ConflictError, GoneError
from mlhub.wire.trees import remove_tree

NAME = re.compile(r"^(best-)?attempt-\d{4,}-step-\d{10,}$")
WEIGHTS, MANIFEST, PIN = "weights.safetensors", "manifest.json", "pinned"
SMALL_BYTES, BLOCK_BYTES = 2**20, 512  # st_blocks counts 512 bytes each, whatever the file system's own blocks are
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def are_reachable(job_id: UUID) -> bool:
    """Whether this process reads the job's checkpoints; on Kubernetes only pods of its project do, unless shared."""
    return settings.BACKEND != "kubernetes" or _folder_of(job_id).is_dir()


def names(job_id: UUID) -> set[str]:
    """The names of the complete checkpoints of the job that are there."""
    found = set()
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(_folder_of(job_id)):
            if NAME.fullmatch(name) and _is_complete(job_id, name):
                found.add(name)
    return found


def is_script_s(name: str) -> bool:
    """Whether a script wrote it, in a format and under a name of its own."""
    return NAME.fullmatch(name) is None


def open_weights(job_id: UUID, name: str) -> tuple[BinaryIO, int]:
    """The weights of a checkpoint, and their size in bytes. Raises GoneError, ConflictError."""
    with _opened(job_id, name) as folder:
        try:
            descriptor = os.open(WEIGHTS, os.O_RDONLY | _FILE, dir_fd=folder)
        except OSError as error:
            raise _gone(name) from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise _gone(name)
    return os.fdopen(descriptor, "rb"), found.st_size


def refuse_sparse(file: BinaryIO, name: str) -> None:
    """Raises ConflictError for a file that is mostly holes: a copy of it would take far more of the disk than it does.

    A quarter leaves room for file systems that compress; small files may be stored within their inode.
    """
    found = os.fstat(file.fileno())
    stored_bytes = found.st_blocks * BLOCK_BYTES
    if found.st_size > SMALL_BYTES and stored_bytes < found.st_size // 4:
        raise ConflictError(
            f"The weights of {name} have {found.st_size:,} bytes, of which {stored_bytes:,} are on the disk.",
            code="checkpoint_sparse",
            field="checkpoint",
            remedy="Take another checkpoint; write weights in full, without holes.",
        )


def pin(job_id: UUID, name: str, *, is_pinned: bool) -> None:
    """Leaves the mark by which a training does not remove the checkpoint, or removes it. Raises GoneError."""
    with _opened(job_id, name) as folder:
        if is_pinned:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(PIN, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o644, dir_fd=folder))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(PIN, dir_fd=folder)


def remove(job_id: UUID, chosen: Iterable[str]) -> None:
    """Removes checkpoints; one that is gone already is no error."""
    for name in chosen:
        if NAME.fullmatch(name):
            remove_tree(_folder_of(job_id) / name)


def remove_but(job_folder: Path, kept: Collection[str]) -> bool:
    """Removes a job's folder but for the checkpoints of these names; returns whether anything was removed."""
    if not any((job_folder / name).is_dir() for name in kept):
        remove_tree(job_folder)
        return True
    others = [path for path in job_folder.iterdir() if path.name not in kept]
    for path in others:
        remove_tree(path)
        with contextlib.suppress(OSError):
            path.unlink()
    return bool(others)


def require_reachable(job_id: UUID) -> None:
    """Raises ConflictError where only the pods of the job's project reach its checkpoints."""
    if not are_reachable(job_id):
        raise ConflictError(
            "The platform's web server does not reach this job's checkpoints: they are on its project's volume.",
            code="checkpoints_out_of_reach",
            remedy="Clone the job, or start from a model version that was trained.",
        )


@contextlib.contextmanager
def _opened(job_id: UUID, name: str) -> Iterator[int]:
    require_reachable(job_id)
    if is_script_s(name):
        raise ConflictError(
            f"{name} is a checkpoint in a format of the script's own, which only the script reads.",
            code="checkpoint_of_a_script",
            remedy="Resume the job, whose next attempt finds it. Files of a job that succeeded are its artifacts.",
        )
    try:
        root = os.open(_folder_of(job_id), _FOLDER)
    except OSError as error:
        raise _gone(name) from error
    try:
        folder = os.open(name, _FOLDER, dir_fd=root)
    except OSError as error:
        raise _gone(name) from error
    finally:
        os.close(root)
    try:
        yield folder
    finally:
        os.close(folder)


def _is_complete(job_id: UUID, name: str) -> bool:
    try:
        return stat.S_ISREG((_folder_of(job_id) / name / MANIFEST).lstat().st_mode)
    except OSError:
        return False


def _folder_of(job_id: UUID) -> Path:
    return Path(settings.CHECKPOINT_ROOT) / str(job_id)


def _gone(name: str) -> GoneError:
    return GoneError(
        f"The checkpoint {name} is not there any more.",
        code="checkpoint_gone",
        remedy="Take one of those that are listed. Pin what shall stay.",
    )
