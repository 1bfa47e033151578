# SPDX-License-Identifier: Apache-2.0
"""A confined program steps back for the platform, also where processors are shared between sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.verdicts import SandboxLimits
from tests.runtime.sandbox.world import LANDLOCK, NAMESPACES, isolation_of

READS = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), open('/proc/self/autogroup').read())"


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel groups no processes by session")
@pytest.mark.parametrize("mode", [NAMESPACES, LANDLOCK])
def test_the_session_of_a_confined_program_has_its_niceness(mode: str, tmp_path: Path) -> None:
    limits = SandboxLimits(60.0, 256 * 2**20, 64 * 2**20, n_processes=40)
    ended = execute(["-c", READS], folder=tmp_path, limits=limits, within=isolation_of(mode))
    niceness, *_, of_session = ended.output.split()
    assert int(niceness) > os.getpriority(os.PRIO_PROCESS, 0)
    assert of_session == niceness
