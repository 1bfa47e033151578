# SPDX-License-Identifier: Apache-2.0
"""Processes that the supervisor keeps running."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mlhub.embedded.children import Child

AUTOGROUP = Path("/proc/self/autogroup")
WAITS = "import sys; sys.stdin.close(); import signal; signal.pause()"


def test_background_processes_step_back_for_the_web_server(tmp_path: Path) -> None:
    argv, environment = [sys.executable, "-c", WAITS], dict(os.environ)
    children = [Child(f"n{n}", argv, environment, tmp_path, tmp_path / f"{n}.log", niceness=n) for n in (0, 5)]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        for child in children:
            child.start()
        found = [os.getpriority(os.PRIO_PROCESS, child.pid or 0) - own for child in children]
        assert found == [0, min(5, 19 - own)]
        if AUTOGROUP.exists():
            sessions = [Path(f"/proc/{child.pid}/autogroup").read_text().split()[-1] for child in children]
            assert sessions == [str(own), str(min(19, own + 5))]
    finally:
        for child in children:
            child.ask_to_stop()
            child.wait_stopped()
