# SPDX-License-Identifier: Apache-2.0
"""Horovod's timeline: what a worker's operations did when, as a trace that chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import IO


class Timeline:
    """Events as a JSON array, which viewers also read when its end is missing. Times in seconds of one clock."""

    def __init__(self, path: Path, *, rank: int) -> None:
        """Raises OSError when the file cannot be written."""
        self._rank, self._lock = rank, threading.Lock()
        self._file: IO[str] = path.open("w")
        self._rows: dict[str, int] = {}
        self._file.write("[\n")
        self._write({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}}, first=True)

    def add(self, kind: str, label: str, *, began_s: float, ended_s: float) -> None:
        """One operation; those of one label share a row."""
        with self._lock:
            if self._file.closed:
                return
            row = self._rows.get(label)
            if row is None:
                row = self._rows[label] = len(self._rows)
                self._write({"name": "thread_name", "ph": "M", "pid": self._rank, "tid": row, "args": {"name": label}})
            times = {"ts": began_s * 1e6, "dur": (ended_s - began_s) * 1e6}
            self._write({"name": kind, "cat": "collective", "ph": "X", "pid": self._rank, "tid": row, **times})

    def close(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.write("\n]\n")
                self._file.close()

    def _write(self, event: dict[str, object], *, first: bool = False) -> None:
        self._file.write(("" if first else ",\n") + json.dumps(event))
