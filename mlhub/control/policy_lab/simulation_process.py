# SPDX-License-Identifier: Apache-2.0
"""The process that only simulates: a case from standard input, lines of JSON to standard output. Loads no Django."""

from __future__ import annotations

import json
import pickle
import resource
import signal
import sys
import time
from typing import Any

from mlhub.wire.priority import step_back
from scheduler.simulator.reports.policy_lab import LabCase, run_case

EVERY_S = 0.5  # between reports of progress
NICENESS = 10
ORPHAN_GRACE_S = 5.0  # past the limit, it ends itself: the caller may be gone


def main(limit_s: float, memory_bytes: int) -> None:
    """Writes {"progress": [label, ended, all]} now and then, and at last {"result": ...} or {"error": ...}."""
    step_back(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.setitimer(signal.ITIMER_REAL, limit_s + ORPHAN_GRACE_S)
    try:
        case: Any = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
        assert isinstance(case, LabCase)
        _write({"result": run_case(case, stopwatch=time.perf_counter, on_progress=_Progress())})
    except MemoryError:
        gib = memory_bytes / 2**30
        _write({"error": f"The simulation needs more than {gib:g} GiB of memory; choose a shorter period."})
    except Exception as error:
        _write({"error": f"The simulation failed: {type(error).__name__}: {error}"[:1000]})


class _Progress:
    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, label: str, n_done: int, n_jobs: int) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + EVERY_S
            _write({"progress": [label, n_done, n_jobs]})


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
