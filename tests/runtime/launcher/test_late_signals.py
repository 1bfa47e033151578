# SPDX-License-Identifier: Apache-2.0
"""A signal to stop that comes while a pod's process ends does not change how it ended."""

from __future__ import annotations

import subprocess
import sys

# an object that the interpreter destroys after it gave up its signal handlers, as late as a signal can come
LATE = """
import os, signal, sys
class Late:
    def __init__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGTERM):
        self.send = lambda: kill(pid, number)
    def __del__(self):
        self.send()
sys.late = Late()
signal.signal(signal.SIGTERM, lambda *_: None)
"""
LAUNCHER = """
import runpy, types
main = types.ModuleType("mlhub.runtime.launcher.main")
main.main = lambda: 75
sys.modules[main.__name__] = main
runpy.run_module("mlhub.runtime", run_name="__main__")
"""


def test_a_launcher_that_ended_with_a_status_keeps_it() -> None:
    assert subprocess.run([sys.executable, "-c", LATE + LAUNCHER], timeout=300, check=False).returncode == 75


def test_the_signal_of_this_test_comes_when_there_are_no_handlers() -> None:
    assert subprocess.run([sys.executable, "-c", LATE + "sys.exit(75)"], timeout=300, check=False).returncode == -15
