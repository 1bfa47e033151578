# SPDX-License-Identifier: Apache-2.0
"""How a run ended is reported with a proof, and never more than is proven."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from mlhub.runtime.sandbox import landlock
from mlhub.runtime.sandbox.cgroups import Events
from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.runner import MAX_OUTPUT_BYTES
from mlhub.runtime.sandbox.supervision import SupervisedOutcome
from mlhub.runtime.sandbox.verdicts import End, SandboxLimits, ended

MIB = 2**20
WITH_NAMESPACES = Isolation(has_namespaces=True, has_own_user=False, has_landlock=True, has_filter=True)
LIMITS = SandboxLimits(timeout_s=20.0, memory_bytes=256 * MIB, scratch_bytes=64 * MIB, n_processes=40)


@pytest.mark.parametrize(
    ("code", "end", "proof"),
    [
        ("pass", End.EXITED, ""),
        ("import sys; sys.exit(3)", End.EXITED, ""),
        ("import os; os.kill(os.getpid(), 9)", End.SIGNAL, ""),
        ("raise ValueError('MemoryError is not what this is')\nx = 1", End.EXITED, ""),
        ("held = [bytearray(2**24) for _ in range(99)]", End.MEMORY, "MemoryError"),
        ("open('x', 'wb').write(bytes(2**27))", End.DISK, "64 MiB"),
        ("import os\nwhile True:\n    if os.fork() == 0:\n        import time; time.sleep(9)", End.PROCESSES, "40"),
        ("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)", End.SYSTEM_CALL, "SIGSYS"),
    ],
)
def test_a_run_ends_with_a_verdict_and_its_proof(code: str, end: End, proof: str, tmp_path: Path) -> None:
    found = execute(["-c", code], folder=tmp_path, limits=LIMITS)
    assert (found.end, proof in found.proof) == (end, True), found
    assert bool(found.proof) == bool(proof)


def test_a_killed_run_is_out_of_memory_only_when_the_kernel_counted_it() -> None:
    killed = SupervisedOutcome(status=int(signal.SIGKILL))
    say = {"output": "", "errors": "", "is_cut": False, "limits": LIMITS}
    assert ended(killed, Events(), **say).end is End.SIGNAL
    assert ended(killed, Events(n_killed_by_memory=1), **say).end is End.MEMORY


def test_words_about_space_count_only_when_there_is_none_left() -> None:
    say = {"output": "", "errors": "OSError: [Errno 28] No space left on device", "is_cut": False, "limits": LIMITS}
    assert ended(SupervisedOutcome(status=256, scratch_free_bytes=2**25), Events(), **say).end is End.EXITED
    assert ended(SupervisedOutcome(status=256, scratch_free_bytes=0), Events(), **say).end is End.DISK


def test_output_is_kept_up_to_a_limit_with_the_end_of_the_errors(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('a' * 20_000_000); sys.stderr.write('b' * 20_000_000 + 'last')"
    found = execute(["-c", code], folder=tmp_path, limits=LIMITS)
    assert (len(found.output), found.is_cut, found.errors[-5:]) == (MAX_OUTPUT_BYTES, True, "blast")


def test_a_sandbox_that_cannot_be_set_up_is_an_error_of_the_platform(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="could not be set up"):
        execute(["-c", "pass"], folder=tmp_path, limits=replace(LIMITS, scratch_bytes=-1), within=WITH_NAMESPACES)


def test_a_run_sends_no_signals_where_nothing_confines_them(tmp_path: Path) -> None:
    weak = Isolation(False, False, landlock.version() > 0, True, confines_signals=False)
    code = """
import os
for pid in (os.getpid(), os.getppid()):
    try: os.kill(pid, 0)
    except PermissionError: print("refused")
"""
    found = execute(["-c", code], folder=tmp_path, limits=LIMITS, within=weak)
    assert found.output.split() == ["refused", "refused"], found
