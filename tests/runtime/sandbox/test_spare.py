# SPDX-License-Identifier: Apache-2.0
"""A sandbox that was started before its program runs it like a new one, once."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.backends.local.folders import start_time
from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.verdicts import End, Ended, SandboxLimits
from mlhub.runtime.spare_sandbox import READY, SpareSandbox
from mlhub.runtime.warm import start
from tests.contract.test_backend import wait

LIMITS = SandboxLimits(timeout_s=60.0, memory_bytes=2**30, scratch_bytes=2**26)
# as mlhub.runtime.warm.inspection, without torch
LIGHT = f"""
import os, sys
from mlhub.runtime.warm import start
os.write(int(sys.argv[1]), {READY!r})
sys.exit(start.run_reported(int(sys.argv[1])))
"""
STATE = """
import json, os, resource, sys
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status"))
limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
fds = {}
for number in range(3, 512):
    if os.path.lexists(f"/proc/self/fd/{number}"):
        fds[number] = os.readlink(f"/proc/self/fd/{number}")
print(json.dumps({
    "environment": dict(os.environ), "fds": fds, "cwd": os.getcwd(), "argv": sys.argv, "path": sys.path,
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits if name != "RLIMIT_NPROC"},
    "status": {k: status[k] for k in (
        "Umask", "Groups", "SigBlk", "SigIgn", "SigCgt", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp",
        "Seccomp_filters", "NSpid") if k in status},
    "mounts": sorted(" ".join(line.split()[3:6]) for line in open("/proc/self/mountinfo") if "/tmp" not in line),
    "pid": [os.getpid(), os.getpgid(0), os.getsid(0)], "networks": sorted(os.listdir("/sys/class/net"))
    if os.path.exists("/sys/class/net") else [],
}))
"""


@pytest.fixture
def spare() -> Iterator[SpareSandbox]:
    found = SpareSandbox([sys.executable, "-c", LIGHT], start.variables())
    found.prepare()
    yield found
    found.close()


def waiting(spare: SpareSandbox) -> int:
    """The process id of the spare, once it is ready."""
    import select

    assert spare._waiting is not None
    process, report = spare._waiting
    wait(lambda: select.select([report], [], [], 0)[0])
    return process.pid


def run(folder: Path, code: str, spare: SpareSandbox | None, *, limits: SandboxLimits = LIMITS) -> Ended:
    return execute(["-c", code], folder=folder, limits=limits, spare=spare)


def test_a_program_finds_in_a_spare_sandbox_what_it_finds_in_a_new_one(tmp_path: Path, spare: SpareSandbox) -> None:
    new = run(tmp_path, STATE, None)
    waiting(spare)
    found = run(tmp_path, STATE, spare)
    assert spare._waiting is None  # it was used
    assert (found.exit_code, new.exit_code) == (0, 0), (found.errors, new.errors)
    assert json.loads(found.output) == json.loads(new.output)


def test_a_program_in_a_spare_sandbox_is_limited_in_time(tmp_path: Path, spare: SpareSandbox) -> None:
    waiting(spare)
    found = run(tmp_path, "import time; time.sleep(600)", spare, limits=SandboxLimits(0.5, 2**30, 2**26))
    assert found.end is End.TIME


@pytest.mark.slow
def test_a_spare_that_died_or_is_not_ready_leaves_the_program_to_a_new_one(tmp_path: Path, spare: SpareSandbox) -> None:
    victim = waiting(spare)
    os.kill(victim, signal.SIGKILL)
    wait(lambda: start_time(victim) is None)
    assert run(tmp_path, "print('done')", spare).output == "done\n"
    importing = SpareSandbox([sys.executable, "-c", "import time; time.sleep(1000)"], {})
    importing.prepare()
    assert run(tmp_path, "print('done')", importing).output == "done\n"
    assert importing._waiting is not None
    assert importing._waiting[0].poll() is None
    importing.close()


def test_a_spare_that_died_is_replaced(spare: SpareSandbox) -> None:
    victim = waiting(spare)
    os.kill(victim, signal.SIGKILL)
    wait(lambda: start_time(victim) is None)
    spare.prepare()
    assert waiting(spare) != victim
