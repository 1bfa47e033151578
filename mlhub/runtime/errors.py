"""What may go wrong in a trainer, and the exit code and cause that each is told by."""

from __future__ import annotations

import re

from mlhub.wire.exits import Cause, ExitCode


class BadInputError(Exception):
    """A file or a declaration that cannot be used: names the field and the remedy."""

    def __init__(self, message: str, *, field: str, remedy: str, code: str = "invalid_file") -> None:
        super().__init__(message)
        self.message, self.field, self.remedy, self.code = message, field, remedy, code

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "field": self.field, "message": self.message, "remedy": self.remedy}


class PeerLostError(Exception):
    """Another member of the gang went away, or never came."""


class GangTimeoutError(Exception):
    """The gang did not assemble in time."""


class NotANumberError(Exception):
    """The loss is NaN or infinite."""


class PreemptedError(Exception):
    """Asked to leave; everything is saved."""


_PEER = re.compile(r"closed by peer|Connection reset|gloo|Broken pipe|recvValue failed|Timed out waiting|NCCL", re.I)
_MEMORY = re.compile(r"can't allocate memory|out of memory", re.I)


def classify(error: BaseException) -> tuple[ExitCode, Cause]:
    """Exit code and cause of what ended a trainer. What nobody foresaw was raised by the user's code."""
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


def told(error: BaseException) -> str:
    """What a person reads of it, with the remedy where one is known."""
    if isinstance(error, BadInputError):
        return f"{error.message} {error.remedy}"
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        said += f". The image has no {package}: put it into the zip, or ask an administrator to add it to the image."
    return said
