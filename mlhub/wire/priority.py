# SPDX-License-Identifier: Apache-2.0
"""Which processes step back for others when processors are scarce.

Where the kernel shares processors between sessions first (autogroups, sched(7): the default of most distributions), the
niceness of a process counts among the processes of its session only. A process that starts a session of its own has to
give the session its niceness, too, or it gets as much as everything else together.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

TRIES = 4  # without privileges the kernel takes one change in a tenth of a second, and refuses others
PAUSE_S = 0.11


def step_back(niceness: int) -> None:
    """Adds `niceness` to that of this process, which leads its session."""
    os.nice(niceness)
    apply_to_session(os.getpid())


def give_niceness(pid: int, niceness: int) -> bool:
    """Gives process `pid`, which leads its session, a niceness that is not below its own. False where that is refused,
    such as for a process of another user."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
    except OSError:
        return False
    apply_to_session(pid)
    return True


def apply_to_session(pid: int) -> bool:
    """Gives the session of process `pid` the niceness of that process. False where the kernel has or takes none."""
    for _ in range(TRIES):
        try:
            Path(f"/proc/{pid}/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, pid)))
        except BlockingIOError:
            time.sleep(PAUSE_S)
        except OSError:  # no autogroups, no such process any more, or another user's
            return False
        else:
            return True
    return False
