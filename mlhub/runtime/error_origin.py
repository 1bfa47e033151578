# SPDX-License-Identifier: Apache-2.0
"""Where an exception was raised: in the user's code, in communication within the gang, or in the platform's own code.

Judged by types and by stack frames, never by words: a user may write "NCCL" or "Broken pipe" into any message. torch
and gloo raise some errors natively as plain RuntimeErrors; of those the C++ source file counts, which both write at
the head of the message, and only when no `raise` statement of Python raised it. No torch is imported here.
"""

from __future__ import annotations

import opcode
import re
import sysconfig
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import TracebackType

_MLHUB = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_COMMUNICATION = (
    *(f"{_MLHUB}/runtime/{folder}/" for folder in ("ps", "compat", "launcher")),
    *(f"{folder}torch/distributed/" for folder in _LIBRARIES),
)
_NATIVE_PEER = re.compile(r"\[\S*/gloo/transport/\S+:\d+\] ")
_NATIVE_MEMORY = re.compile(r"\[enforce fail at alloc_cpu\.cpp:\d+\] ")


class Origin(Enum):
    USER = "user"
    COMMUNICATION = "communication"
    PLATFORM = "platform"
    LIBRARY = "library"  # no frame of the others', as with an exception that was never raised


def origin_of(error: BaseException) -> Origin:
    """Whose frame is the innermost one, where libraries count for those who called them."""
    for step in reversed(list(_steps(error.__traceback__))):
        file = step.tb_frame.f_code.co_filename
        if file.startswith(_COMMUNICATION):
            return Origin.COMMUNICATION
        if file.startswith(f"{_MLHUB}/"):
            return Origin.PLATFORM
        if not file.startswith((*_LIBRARIES, "<frozen ")):
            return Origin.USER
    return Origin.LIBRARY


def below_the_platform(traceback: TracebackType | None) -> TracebackType | None:
    """The stack from the first frame on that is neither MLHub's nor Python's way of running a file."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith((f"{_MLHUB}/", "<frozen runpy>")):
        traceback = traceback.tb_next
    return traceback


def place_in(code: Path, error: BaseException) -> str | None:
    """File and line of the innermost frame in the folder, such as "data.py, line 4"."""
    found = None
    for step in _steps(error.__traceback__):
        path = Path(step.tb_frame.f_code.co_filename)
        if path.is_absolute() and path.is_relative_to(code):
            found = f"{path.relative_to(code)}, line {step.tb_lineno}"
    return found


def is_torch_type(error: BaseException, module: str, name: str) -> bool:
    """Whether the error is of that class of torch's, or of one derived from it."""
    return any((kind.__module__, kind.__name__) == (module, name) for kind in type(error).__mro__)


def is_out_of_memory(error: BaseException) -> bool:
    """A MemoryError, CUDA's type, or what torch's allocator for CPUs raises."""
    if isinstance(error, MemoryError) or is_torch_type(error, "torch", "OutOfMemoryError"):
        return True
    return _is_native(error, _NATIVE_MEMORY)


def is_peer_lost(error: BaseException) -> bool:
    """Whether communication with another member of the gang failed."""
    if is_torch_type(error, "torch.distributed", "DistError"):
        return not _is_raised_by_user(error)
    if isinstance(error, OSError):
        return origin_of(error) is Origin.COMMUNICATION
    return _is_native(error, _NATIVE_PEER)


def explicit_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was explicitly raised from, and so on."""
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__


def _is_native(error: BaseException, head: re.Pattern[str]) -> bool:
    return type(error) is RuntimeError and head.match(str(error)) is not None and not _is_raised_by_python(error)


def _is_raised_by_user(error: BaseException) -> bool:
    return _is_raised_by_python(error) and origin_of(error) is Origin.USER


def _is_raised_by_python(error: BaseException) -> bool:
    """Whether a `raise` statement raised it, rather than a call into native code."""
    steps = list(_steps(error.__traceback__))
    if not steps:
        return False
    last = steps[-1]
    return opcode.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
