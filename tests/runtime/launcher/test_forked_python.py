# SPDX-License-Identifier: Apache-2.0
"""A program in a forked process ends as one that is executed."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORKED = """
import os, sys
from mlhub.runtime.launcher.forked_python import run_python
child = os.fork()
if child == 0:
    os._exit(run_python(["python", "-c", sys.argv[1]], {}))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
KEEPS_A_POOL = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
print(pool.submit(int, "7").result())
"""
KEEPS_A_THREAD = """
import atexit, threading, time
atexit.register(print, "last")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
"""


@pytest.mark.parametrize(
    ("code", "printed", "status"),
    [
        (KEEPS_A_POOL, ["7"], 0),
        (KEEPS_A_THREAD, ["thread", "last"], 0),
        ("import sys; sys.exit('no')", [], 1),
        ("1 / 0", [], 1),
    ],
)
def test_its_threads_and_its_status_are_those_of_an_executed_one(code: str, printed: list[str], status: int) -> None:
    forked = subprocess.run([sys.executable, "-c", FORKED, code], capture_output=True, text=True, timeout=300)
    executed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (forked.stdout.split(), forked.returncode) == (executed.stdout.split(), executed.returncode)
    assert (forked.stdout.split(), forked.returncode) == (printed, status)
