# SPDX-License-Identifier: Apache-2.0
"""A process that steps back does so for other sessions, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlhub.wire.priority import apply_to_session

AUTOGROUP = Path("/proc/self/autogroup")
STEP_BACK = "import sys; from mlhub.wire.priority import step_back; step_back(7); print(flush=True); sys.stdin.read()"


def session_niceness(pid: int) -> int:
    found = re.search(r"nice (-?\d+)", Path(f"/proc/{pid}/autogroup").read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel groups no processes by session")
def test_a_process_gives_its_session_its_niceness() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STEP_BACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert session_niceness(process.pid) == os.getpriority(os.PRIO_PROCESS, process.pid)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
        process.communicate(b"")


def test_a_process_that_is_gone_is_no_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait()
    assert not apply_to_session(process.pid)
