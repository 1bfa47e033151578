"""A worker's pulse: which step it is at and what it does, in a few bytes of a file that its launcher reads.

The launcher is another process, so that a worker is noticed which hangs in the deepest of libraries.
Standard library only.
"""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass
from pathlib import Path

DOINGS = ("start", "input", "compute", "sync")
_LAYOUT = struct.Struct("<qqd")


@dataclass(frozen=True)
class Beat:
    """at: on the clock of time.monotonic(), which all processes of a machine share."""

    step: int
    doing: str
    at: float


class Heartbeat:
    """Written by one thread. path None: a worker that nobody watches."""

    def __init__(self, path: Path | None) -> None:
        self._map: mmap.mmap | None = None
        self._step = 0
        if path is not None:
            path.write_bytes(bytes(_LAYOUT.size))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), _LAYOUT.size)
            self.beat("start")

    def beat(self, doing: str, *, step: int | None = None) -> None:
        """Costs about a microsecond."""
        self._step = self._step if step is None else step
        if self._map is not None:
            _LAYOUT.pack_into(self._map, 0, self._step, DOINGS.index(doing), time.monotonic())


def read(path: Path) -> Beat | None:
    """None before the first beat."""
    try:
        step, doing, at = _LAYOUT.unpack(path.read_bytes())
    except (OSError, struct.error):
        return None
    return Beat(step, DOINGS[doing % len(DOINGS)], at) if at else None
