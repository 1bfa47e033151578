# SPDX-License-Identifier: Apache-2.0
"""Gangs whose files on disk are damaged: they are ended by what the process table shows, and reported as failed.

A pod may be able to write into its gang's folder. Whatever it leaves there costs that gang, and no other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from mlhub.backends.local import shim
from mlhub.backends.local.folders import GangFolder
from mlhub.backends.protocol import AttemptStatus, GangPhase, ItemKind, QuarantinedItem
from mlhub.wire.exits import Cause

logger = logging.getLogger(__name__)
SHIM = str(Path(shim.__file__))
# what reading a file that anybody may have written can raise
DAMAGES = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


class DamagedGangs:
    """The gangs that the newest observation found damaged. A damaged gang stays so until it is removed: what its dying
    processes still write does not make it whole."""

    def __init__(self) -> None:
        self._found: dict[str, QuarantinedItem] = {}
        self._there: dict[str, QuarantinedItem] = {}

    def begin_observation(self) -> None:
        self._found = {}

    def again(self, gang: GangFolder) -> AttemptStatus | None:
        """The status of a gang that was found damaged before; None for any other."""
        item = self._there.get(gang.attempt_id)
        if item is None:
            return None
        self._found[gang.attempt_id] = item
        return _failed(gang, item.reason)

    def removed(self, gang: GangFolder) -> None:
        """Its files are gone."""
        self._there.pop(gang.attempt_id, None)

    def end(self, gang: GangFolder, error: Exception) -> AttemptStatus:
        """Ends the gang's processes, and reports it as failed by the platform's fault, with the file's problem."""
        n_ended = end_processes(gang.path)
        problem = f"{type(error).__name__}: {error}"[:300]
        logger.error("gang.quarantined", extra={"attempt": gang.attempt_id, "error": problem, "n_ended": n_ended})
        message = f"The attempt's files on its node are damaged ({problem}); its processes were ended."
        item = QuarantinedItem(ItemKind.GANG, gang.attempt_id, message, datetime.now(UTC))
        self._found[gang.attempt_id] = self._there[gang.attempt_id] = item
        return _failed(gang, message)

    def items(self) -> tuple[QuarantinedItem, ...]:
        return tuple(self._found[name] for name in sorted(self._found))


def _failed(gang: GangFolder, message: str) -> AttemptStatus:
    return AttemptStatus(gang.attempt_id, GangPhase.FAILED, (), Cause.UNKNOWN, message)


def end_processes(folder: Path) -> int:
    """Kills the shims of the folder's pods and all their descendants; returns how many processes that were."""
    parents = dict(_parents())
    # only shims start from the folder's path: an administrator's pager on the same files is left alone
    found = {pid for pid in parents if SHIM in (line := _command_line(pid)) and str(folder) in line}
    while children := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= children
    for pid in found - {os.getpid()}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of every process that can be seen."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
