"""The errors that end a pod's main process, and the exit code, cause and message of each."""

from __future__ import annotations

import re
from pathlib import Path

from mlhub.wire.exits import Cause, ExitCode


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


class NotANumberError(Exception):
    """The loss is NaN or infinite."""


class PreemptedError(Exception):
    """The platform asked this worker to leave, and everything is saved."""


_PEER = re.compile(r"closed by peer|Connection reset|gloo|Broken pipe|recvValue failed|Timed out waiting|NCCL", re.I)
_MEMORY = re.compile(r"can't allocate memory|out of memory", re.I)


def classify(error: BaseException) -> tuple[ExitCode, Cause]:
    """Returns the exit code and the cause of an error. Whatever is not recognised comes from the user's code."""
    if isinstance(error, PreemptedError):
        return ExitCode.PREEMPTED, Cause.PREEMPTED
    if isinstance(error, BadInputError):
        return ExitCode.USER_CODE, Cause.USER_CODE
    if isinstance(error, NotANumberError):
        return ExitCode.NOT_A_NUMBER, Cause.NOT_A_NUMBER
    if isinstance(error, GangTimeoutError):
        return ExitCode.TIMEOUT, Cause.TIMEOUT
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and _MEMORY.search(str(error))):
        return ExitCode.OUT_OF_MEMORY, Cause.OUT_OF_MEMORY
    is_network = isinstance(error, PeerLostError | ConnectionError) or type(error).__name__.startswith("Dist")
    if is_network or (isinstance(error, RuntimeError) and _PEER.search(str(error))):
        return ExitCode.PEER_LOST, Cause.PEER_LOST
    return ExitCode.USER_CODE, Cause.USER_CODE


def describe_error(error: BaseException, *, code: Path | None = None) -> str:
    """The message that a person reads, with the remedy where one is known.

    code: the folder of the user's unpacked package, if there is one.
    """
    if isinstance(error, BadInputError):
        return f"{error.message} {error.remedy}"
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        message += f". {_remedy_for_import(error.name.partition('.')[0], code)}"
    return message


def _remedy_for_import(name: str, code: Path | None) -> str:
    """Advice for a module that was not found: it may lie in a folder of the package that is not searched."""
    found = [] if code is None else [*code.rglob(f"{name}.py"), *code.rglob(f"{name}/__init__.py")]
    if code is None or not found:
        return f"The image has no {name}: put it into the zip, or ask an administrator to add it to the image."
    path = min(found, key=lambda path: (len(path.parts), path)).relative_to(code)
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    module = ".".join([*folder.parts, name])
    return (
        f"The zip has {path}, but Python searches the script's own folder and the top of the zip only: "
        f"import it as {module}, or move it there."
    )
