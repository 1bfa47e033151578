# SPDX-License-Identifier: Apache-2.0
"""The processes of this machine that wait, with everything imported, to become a pod (warm_worker.py): one use each.

The pool starts one at a time, some seconds after the last one was given away, so that a gang that starts has the
processors for itself. A worker that ends, stays silent or cannot import is thrown away; the pause before the next one
then doubles. Without a ready worker a pod starts cold.
"""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlhub.backends.local import warm_worker
from mlhub.backends.local.warm_worker import READY, TAKEN
from mlhub.wire.launch import NOTEBOOK, LaunchSpec
from mlhub.wire.priority import apply_to_session

PAUSE_S, LONGEST_PAUSE_S = 3.0, 600.0
ANSWER_S = 5.0  # a worker that is asked answers in milliseconds
MAX_IMPORT_S = 600.0  # a machine may be slow; after this time the worker hangs

logger = logging.getLogger(__name__)


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    started_at: float
    is_ready: bool = False

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


@dataclass
class WarmPool:
    """program: the module and its two functions that warm_worker.py names; environment: all variables of a worker.

    size: how many wait at a time; 0 = none. log: the file of what they print before they have a pod. clock: of seconds.
    pause_s: between a worker that was given away, or the pool's beginning, and the start of the next one.
    """

    program: str
    environment: Mapping[str, str]
    size: int
    log: Path
    clock: Callable[[], float] = time.monotonic
    pause_s: float = PAUSE_S
    _workers: list[_Worker] = field(default_factory=list)
    _next_start_at: float | None = None
    _n_failures: int = 0

    @property
    def n_ready(self) -> int:
        return sum(worker.is_ready for worker in self._workers)

    def tend(self) -> None:
        """Looks after the workers, and starts one that is missing. To be called now and then."""
        if not self.size:
            return
        now = self.clock()
        for worker in list(self._workers):
            self._look_at(worker, now=now)
        if self._next_start_at is None:
            self._next_start_at = now + self.pause_s
        if len(self._workers) < self.size and self.n_ready == len(self._workers) and now >= self._next_start_at:
            self._start(now)

    def take(self, folder: Path) -> bool:
        """Has a ready worker become the pod of this folder; False when none did, and none will."""
        if self.size:
            self._next_start_at = self.clock() + self.pause_s
        for worker in [each for each in self._workers if each.is_ready]:
            self._workers.remove(worker)
            if _accepted(worker.process, folder):
                return True
            self._discard(worker, "did not answer")
        return False

    def close(self) -> None:
        """Ends the workers that wait. Those that became pods go on."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _start(self, now: float) -> None:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, warm_worker.__file__, self.program, str(os.getpid())],
                cwd="/",
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                start_new_session=True,
            )
        apply_to_session(process.pid)
        self._workers.append(_Worker(process, started_at=now))

    def _look_at(self, worker: _Worker, *, now: float) -> None:
        if worker.process.poll() is not None:
            why = f"ended with status {worker.process.returncode}"
        elif not worker.is_ready and now - worker.started_at > MAX_IMPORT_S:
            why = f"was not ready after {MAX_IMPORT_S:g} s"
        else:
            if not worker.is_ready and _answer(worker.process, within_s=0) == READY:
                worker.is_ready, self._n_failures = True, 0
            return
        self._workers.remove(worker)
        self._discard(worker, why)

    def _discard(self, worker: _Worker, why: str) -> None:
        worker.end()
        self._n_failures += 1
        pause_s = min(self.pause_s * 2**self._n_failures, LONGEST_PAUSE_S)
        self._next_start_at = self.clock() + pause_s
        logger.warning("warm_worker.discarded: it %s (see %s); the next one starts in %g s", why, self.log, pause_s)


def may_start_warm(spec: LaunchSpec) -> bool:
    """Whether the gang's programs may find libraries imported already.

    Scripts and code with packages of its own may want other versions of them, or to set them up first; variables and
    secrets of users may be ones that a library reads when it is loaded.
    """
    has_own_setting = bool(spec.variables or spec.secrets)
    return spec.model.kind not in ("script", NOTEBOOK) and not spec.model.environment and not has_own_setting


def _accepted(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Whether the worker took the pod. One that is not sure to have taken it must be ended."""
    assert process.stdin is not None
    try:
        process.stdin.write(os.fsencode(folder) + b"\n")
    except BrokenPipeError:
        return False
    if _answer(process, within_s=ANSWER_S) != TAKEN:
        return False
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    return True


def _answer(process: subprocess.Popen[bytes], *, within_s: float) -> bytes:
    """The line that the worker wrote; empty when it wrote none in time."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], within_s)[0]:
        return b""
    return process.stdout.readline()
