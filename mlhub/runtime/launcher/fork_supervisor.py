# SPDX-License-Identifier: Apache-2.0
"""Restarts a process that dies by a signal: a supervisor, which has everything imported, forks the worker process.

A fork takes milliseconds where starting Python and torch takes seconds. The supervisor itself holds next to nothing, so
the kernel's out-of-memory killer does not choose it. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

PR_SET_PDEATHSIG = 1
MAX_RESTARTS, WITHIN_S = 3, 3600.0  # a process that dies more often than that does so for a reason
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # sent on purpose


@dataclass(frozen=True)
class Incarnation:
    """Of the process that does the work. number: 0 for the first. died_at: its predecessor, seconds since the epoch."""

    number: int = 0
    died_by: str = ""  # the signal's name
    died_at: float = 0.0


@dataclass
class ForkSupervisor:
    """work: in a process of its own; returns its exit status. can_return: whether there is something to go on from.

    is_asked_to_stop: by SIGTERM, which is passed on; the work sets its own handler, and looks here afterwards.
    """

    work: Callable[[Incarnation], int]
    can_return: Callable[[], bool]
    is_asked_to_stop: bool = False
    _child: int | None = None
    _deaths: deque[float] = field(default_factory=deque)

    def run(self) -> int:
        """The status that the work ended with; dies of the signal that it died of when it may not go on."""
        signal.signal(signal.SIGTERM, self._pass_on)
        incarnation = Incarnation()
        while True:
            status = self._run_once(incarnation)
            if status >= 0:
                return status
            if -status in STOP_SIGNALS or not self._may_restart(time.monotonic()):
                with suppress(OSError):  # of those that no process can handle
                    signal.signal(-status, signal.SIG_DFL)
                os.kill(os.getpid(), -status)
            name = signal.Signals(-status).name
            print(f"supervisor: the process died by {name} and is started again", flush=True)
            incarnation = Incarnation(incarnation.number + 1, name, time.time())

    def _run_once(self, incarnation: Incarnation) -> int:
        """Until it ends: its exit status, or minus the signal that killed it."""
        supervisor = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            self._run_child(incarnation, supervisor)
        if self.is_asked_to_stop:
            os.kill(self._child, signal.SIGTERM)
        _, status = os.waitpid(self._child, 0)
        self._child = None
        return os.waitstatus_to_exitcode(status)

    def _run_child(self, incarnation: Incarnation, supervisor: int) -> None:
        """The child: never returns."""
        status = 1
        try:
            die_with_parent()
            if os.getppid() == supervisor:
                status = self.work(incarnation)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _may_restart(self, now: float) -> bool:
        while self._deaths and self._deaths[0] < now - WITHIN_S:
            self._deaths.popleft()
        self._deaths.append(now)
        return len(self._deaths) <= MAX_RESTARTS and self.can_return()

    def _pass_on(self, *_: object) -> None:
        self.is_asked_to_stop = True
        if self._child:
            os.kill(self._child, signal.SIGTERM)


def die_with_parent() -> None:
    """No process outlives the one that it works for, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
