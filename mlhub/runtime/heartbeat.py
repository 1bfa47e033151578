# SPDX-License-Identifier: Apache-2.0
"""A worker's heartbeat: its step and its activity, in a few bytes of a file that its launcher reads.

The launcher is another process, so a worker is noticed even when it hangs inside a library. Standard library only.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ACTIVITIES = ("start", "input", "compute", "sync")  # sync: the worker waits for others
_LAYOUT = struct.Struct("<qqd")


@dataclass(frozen=True)
class HeartbeatRecord:
    """at: seconds of time.monotonic(), a clock which all processes of a machine share."""

    step: int
    activity: str
    at: float


class Heartbeat:
    """Written by one thread. path None: the worker is not watched, and nothing is written.

    listener: is called at each activity, too, while a profile is recorded.
    """

    def __init__(self, path: Path | None) -> None:
        self.listener: Callable[[str], None] | None = None
        self._map: mmap.mmap | None = None
        self._step = 0
        if path is not None:
            path.write_bytes(bytes(_LAYOUT.size))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), _LAYOUT.size)
            self.record("start")

    def record(self, activity: str, *, step: int | None = None) -> None:
        """Records what the worker begins to do; step None: still the same step. It costs about a microsecond."""
        self._step = self._step if step is None else step
        if self._map is not None:
            _LAYOUT.pack_into(self._map, 0, self._step, ACTIVITIES.index(activity), time.monotonic())
        if self.listener is not None:
            self.listener(activity)


def read(path: Path) -> HeartbeatRecord | None:
    """Returns the newest record, or None before the first one."""
    try:
        step, activity, at = _LAYOUT.unpack(path.read_bytes())
    except (OSError, struct.error):
        return None
    return HeartbeatRecord(step, ACTIVITIES[activity % len(ACTIVITIES)], at) if at else None
