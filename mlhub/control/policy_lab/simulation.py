# SPDX-License-Identifier: Apache-2.0
"""Runs a case in a process of its own, with bounds on time and memory, until it ends or is cancelled."""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from scheduler.simulator.reports.policy_lab import LabCase

CHILD = "from mlhub.control.policy_lab.simulation_process import main; main"
MEMORY_BYTES = 2 * 2**30  # half of what a worker of the chart has
LOOKS_EVERY_S = 1.0  # whether it is cancelled


class SimulationFailedError(Exception):
    """The simulation has no result; the message is for people."""


class SimulationCancelledError(Exception):
    """Somebody cancelled it."""


def simulate_case(
    case: LabCase,
    *,
    limit_s: float,
    on_progress: Callable[[str, int, int], None],
    is_cancelled: Callable[[], bool],
    memory_bytes: int = MEMORY_BYTES,
) -> dict[str, Any]:
    """Returns what run_case() returns. Raises SimulationFailedError and SimulationCancelledError."""
    with tempfile.TemporaryFile() as given:
        pickle.dump(case, given)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-c", f"{CHILD}({limit_s}, {memory_bytes})"],
            stdin=given,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",  # each thread of numpy's libraries takes address space
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
            },
            start_new_session=True,
        )
    try:
        return _followed(process, limit_s, on_progress, is_cancelled)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _followed(
    process: subprocess.Popen[str],
    limit_s: float,
    on_progress: Callable[[str, int, int], None],
    is_cancelled: Callable[[], bool],
) -> dict[str, Any]:
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    until, look_at = time.monotonic() + limit_s, 0.0
    while True:
        now_s = time.monotonic()
        if now_s > until:
            raise SimulationFailedError(
                f"The simulation took longer than {limit_s:g} s; choose a shorter period or fewer policies."
            )
        if now_s >= look_at:
            look_at = now_s + LOOKS_EVERY_S
            if is_cancelled():
                raise SimulationCancelledError
        try:
            line = lines.get(timeout=min(LOOKS_EVERY_S, max(0.01, until - now_s)))
        except queue.Empty:
            continue
        if not line:
            raise SimulationFailedError("The process that simulated ended without a result; see the worker's log.")
        message = json.loads(line)
        if "progress" in message:
            on_progress(*message["progress"])
        elif "error" in message:
            raise SimulationFailedError(message["error"])
        else:
            found: dict[str, Any] = message["result"]
            return found


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Puts every line of the process, and "" at its end."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.put(line)
    except ValueError:
        pass  # the pipe was closed: its reader has gone
    lines.put("")
