# SPDX-License-Identifier: Apache-2.0
"""Where a decision is made: in this process, or in one of its own, which is ended when a policy takes too long."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from typing import Protocol

from mlhub.control.deciding.decision_process import (
    DecisionAnswer,
    DecisionFailure,
    DecisionRequest,
    DecisionResult,
    answer_to,
)
from scheduler import RoundCache

CHILD = "from mlhub.control.deciding.decision_process import main; main"
START_S = 60.0  # for Python, numpy and scipy to be loaded


class DecisionError(Exception):
    """No plan came of it. kind: raised, overran, died or busy. The message names what happened, for administrators."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Decider(Protocol):
    """One task at a time: submit(), then result()."""

    def is_ready(self) -> bool:
        """Whether submit() would not have to wait; starts what has to be started."""

    def submit(self, task: DecisionRequest) -> None:
        """Hands the task over; task.limit_s counts from here. Raises DecisionError when no process takes it."""

    def result(self, *, waits: bool) -> DecisionResult | None:
        """The plan. Without waits: None while it is being made. Raises DecisionError."""

    def close(self) -> None: ...


class InProcessDecider:
    """In this process: for tests and single rounds. It cannot stop a policy, only refuse a plan that came too late."""

    def __init__(self) -> None:
        self._task: DecisionRequest | None = None
        self._cache = RoundCache()

    def is_ready(self) -> bool:
        return True

    def submit(self, task: DecisionRequest) -> None:
        self._task = task

    def result(self, *, waits: bool) -> DecisionResult | None:  # noqa: ARG002 (it is never at work between two calls)
        if self._task is None:
            return None
        task, self._task = self._task, None
        found = plan_of(answer_to(task, self._cache))
        if found.took_s > task.limit_s:
            raise too_long(task)
        return found

    def close(self) -> None:
        self._task = None


class SubprocessDecider:
    """Decides in a process of its own, reused from round to round. One that does not answer in time is killed; the next
    task gets another. niceness: how far it steps back for other processes."""

    def __init__(self, *, niceness: int = 0) -> None:
        self._niceness = niceness
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._task: DecisionRequest | None = None
        self._until = 0.0
        self._has_started = False

    def is_ready(self) -> bool:
        try:
            return self._hears(0.0)
        except (EOFError, OSError):
            self.close()
            return False

    def submit(self, task: DecisionRequest) -> None:
        try:
            self._open().send(task)
        except OSError:
            self.close()  # it died between two rounds: once more with another
            try:
                self._open().send(task)
            except OSError as error:
                self.close()
                raise DecisionError("died", f"The deciding process does not take its task: {error}") from error
        self._task, self._until = task, time.monotonic() + task.limit_s

    def result(self, *, waits: bool) -> DecisionResult | None:
        if self._task is None or self._connection is None:
            return None
        left_s = max(0.0, self._until - time.monotonic())
        if not self._connection.poll(left_s if waits else 0.0):
            if not waits and left_s > 0:
                return None
            task = self._task
            self.close()
            raise too_long(task)
        try:
            answer: DecisionAnswer = self._connection.recv()
        except (EOFError, OSError) as error:
            policy = self._task.policy.name
            self.close()
            raise DecisionError("died", f"The process that decided by {policy} ended without an answer.") from error
        self._task = None
        return plan_of(answer)

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = self._task = None
        self._has_started = False

    def _open(self) -> Connection:
        try:
            if self._hears(START_S) and self._connection is not None:
                return self._connection
        except (EOFError, OSError):
            pass
        self.close()
        raise DecisionError("died", "The deciding process does not start; see the log of the control loop.")

    def _hears(self, wait_s: float) -> bool:
        """Whether the process has loaded its code, after at most that wait. Raises EOFError or OSError if it died."""
        if self._connection is None or self._process is None or self._process.poll() is not None:
            self._start()
        assert self._connection is not None
        if not self._has_started and self._connection.poll(wait_s):
            self._connection.recv()
            self._has_started = True
        return self._has_started

    def _start(self) -> None:
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"{CHILD}({theirs.fileno()}, {self._niceness})"],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
                start_new_session=True,  # a Ctrl-C is for the loop, which then ends this one
            )
        self._connection, self._has_started = Connection(ours.detach()), False


def plan_of(answer: DecisionAnswer) -> DecisionResult:
    if isinstance(answer, DecisionFailure):
        raise DecisionError("raised", answer.message)
    return answer


def too_long(task: DecisionRequest) -> DecisionError:
    return DecisionError("overran", f"{task.policy.name} did not decide within {task.limit_s:g} s.")
