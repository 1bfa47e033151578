# SPDX-License-Identifier: Apache-2.0
"""A signal that reaches the process around a pod when the program has ended does not change how the pod ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.sandbox.init import FORWARDED
from mlhub.wire.exits import ExitCode

# what is left of a module is freed when the interpreter has taken back the handlers of signals
ENDING = """
import os, signal, sys
from mlhub.runtime.sandbox import init

class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=int(sys.argv[1])):
        kill(pid, number)

for number in init.FORWARDED:
    signal.signal(number, lambda *_: None)
report_from, report = os.pipe()
os.write(report, sys.argv[2].encode())
os.close(report)
late = Late()
sys.exit(init.end_like_the_program(report_from, os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT)))
"""


def ended(number: int, report: dict[str, Any], problem: Path) -> int:
    argv = [sys.executable, "-c", ENDING, str(number), json.dumps(report) + "\n", str(problem)]
    return subprocess.run(argv, check=False, capture_output=True).returncode


@pytest.mark.parametrize("number", FORWARDED)
def test_a_lost_relay_stays_the_cause(number: int, tmp_path: Path) -> None:
    assert ended(number, {"error": "The relay ended."}, tmp_path / "problem") == ExitCode.SANDBOX_FAILED
    assert (tmp_path / "problem").read_text() == "The relay ended."


@pytest.mark.parametrize(("status", "code"), [(0, 0), (75 << 8, 75), (signal.SIGTERM, -signal.SIGTERM)])
def test_the_program_s_own_end_stays_the_pod_s(status: int, code: int, tmp_path: Path) -> None:
    assert ended(signal.SIGTERM, {"outcome": {"status": status}}, tmp_path / "problem") == code
