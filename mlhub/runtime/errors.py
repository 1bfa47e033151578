# SPDX-License-Identifier: Apache-2.0
"""The errors that end a pod's main process, and the exit code, cause and message of each."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mlhub.runtime.error_origin import Origin, explicit_causes, is_out_of_memory, is_peer_lost, origin_of, place_in
from mlhub.wire import environment as names
from mlhub.wire.exits import Cause, ExitCode

# of the disk or the volume behind a file; a missing or malformed file is no such error
STORAGE_ERRORS = {
    errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ESTALE, errno.ENODEV, errno.ENOTCONN, errno.ETIMEDOUT,
    errno.EREMOTEIO, errno.EMFILE, errno.ENFILE,
}  # fmt: skip


class BadInputError(Exception):
    """A file or a declaration cannot be used. The error names the field and the remedy."""

    def __init__(self, message: str, *, field: str, remedy: str, code: str = "invalid_file") -> None:
        super().__init__(message)
        self.message, self.field, self.remedy, self.code = message, field, remedy, code

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "field": self.field, "message": self.message, "remedy": self.remedy}


class PeerLostError(Exception):
    """Another member of the gang is gone, or never came."""


class GangTimeoutError(Exception):
    """The gang did not assemble in time."""


class GpuUnavailableError(Exception):
    """The pod was given a GPU that cannot be used."""


class NotANumberError(Exception):
    """The loss is NaN or infinite."""


class PreemptedError(Exception):
    """The platform asked this worker to leave, and everything is saved."""


class ExitStatusError(Exception):
    """The user's code ended the process with a status other than 0."""


_CAUSES: dict[type[Exception], Cause] = {
    PreemptedError: Cause.PREEMPTED,
    BadInputError: Cause.USER_CODE,
    ExitStatusError: Cause.USER_CODE,
    NotANumberError: Cause.NOT_A_NUMBER,
    GangTimeoutError: Cause.TIMEOUT,
    GpuUnavailableError: Cause.GPU_UNAVAILABLE,
}


def classify(error: BaseException) -> tuple[ExitCode, Cause]:
    """Exit code and cause of what ended a trainer."""
    cause = _cause_of(error)
    return ExitCode[cause.name], cause


def _cause_of(error: BaseException) -> Cause:
    """The user's code, unless the error's type and stack show something else."""
    for kind, cause in _CAUSES.items():
        if isinstance(error, kind):
            return cause
    chain = list(explicit_causes(error))
    if any(is_out_of_memory(link) for link in chain):
        return Cause.OUT_OF_MEMORY
    if any(_is_peer_lost(link) for link in chain):
        return Cause.PEER_LOST
    if isinstance(error, OSError) and error.errno in STORAGE_ERRORS and origin_of(error) is not Origin.USER:
        return Cause.IO_ERROR
    return Cause.USER_CODE


def _is_peer_lost(error: BaseException) -> bool:
    if isinstance(error, PeerLostError):
        return origin_of(error) is not Origin.USER
    return is_peer_lost(error)


def describe_error(error: BaseException, *, code: Path | None = None) -> str:
    """The message that a person reads, with the line of their code and the remedy where they are known.

    code: the folder of the user's unpacked package, if there is one.
    """
    if isinstance(error, BadInputError):
        return f"{error.message} {error.remedy}"
    if isinstance(error, GpuUnavailableError | ExitStatusError):
        return str(error)
    place = place_in(code.resolve(), error) if code is not None else None
    message = f"{type(error).__name__}: {error}" if place is None else f"{place}: {type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        message += f". {_remedy_for_import(error.name.partition('.')[0], code)}"
    if isinstance(error, FileNotFoundError) and names.DATA_DIR in os.environ:  # of a script
        message += f". The job's data is in the folder ${names.DATA_DIR}, which an option may have as its value."
    return message


def _remedy_for_import(name: str, code: Path | None) -> str:
    """Advice for a module that was not found: it may lie in a folder of the package that is not searched."""
    found = [] if code is None else [*code.rglob(f"{name}.py"), *code.rglob(f"{name}/__init__.py")]
    if code is None or not found:
        return f"The environment has no {name}: name its package in a requirements.txt at the top of the zip."
    path = min(found, key=lambda path: (len(path.parts), path)).relative_to(code)
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    module = ".".join([*folder.parts, name])
    return (
        f"The zip has {path}, but Python searches the script's own folder and the top of the zip only: "
        f"import it as {module}, or move it there."
    )
