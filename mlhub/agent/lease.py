# SPDX-License-Identifier: Apache-2.0
"""Until when the pods of a machine may run without news from the platform: a file that their shims read.

The platform counts a silent agent as lost, and starts its jobs elsewhere. By then nothing of them may run here,
whatever became of the agent: so the time is agreed with each report, and it is the shims that keep to it.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path


def uptime_s() -> float:
    """A clock that no one sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    def __init__(self, path: Path) -> None:
        self.path = path

    def extend(self, until: float) -> None:
        """until: by uptime_s(). Raises OSError."""
        text = f"{until:024.6f}"
        try:
            temporary = self.path.with_name(f".{self.path.name}")
            temporary.write_text(text)
            temporary.rename(self.path)
        except OSError:  # a full disk, such as by a pod: what is there already can be overwritten still
            with self.path.open("r+") as file:
                file.write(text)

    def remaining_s(self) -> float:
        """0: over, or of an earlier start of the machine."""
        with contextlib.suppress(OSError, ValueError):
            return max(0.0, float(self.path.read_text()) - uptime_s())
        return 0.0
