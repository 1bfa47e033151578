# SPDX-License-Identifier: Apache-2.0
"""The trainer's process is the same to its launcher whether it is executed, or was forked before and waited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlhub.backends.local.folders import start_time
from mlhub.runtime.sandbox.runner import PROJECT

LAUNCHER = """
import json, os, sys, threading
from mlhub.runtime.launcher import standby
if sys.argv[1] == "warm":
    standby.fork_standby()
threading.Thread(target=threading.Event().wait, daemon=True).start()  # from here on no fork would be safe
with open(sys.argv[2], "ab") as output:
    trainer = standby.start_trainer(["-c", sys.argv[3]], {"PYTHONPATH": os.environ["PYTHONPATH"], "A": "b"}, output.fileno())
print(trainer.pid, flush=True)
if "trainer" in sys.argv[4]:
    while not os.path.getsize(sys.argv[2]):
        pass
    {"ends the trainer": trainer.terminate, "kills the trainer": trainer.kill}[sys.argv[4]]()
if sys.argv[4] == "dies":
    os.kill(os.getpid(), 9)
print(json.dumps([trainer.wait(), trainer.poll()]))
"""  # noqa: E501
SAYS = "import os, sys; print(sorted(k for k in os.environ if k in ('A', 'HOME')), sys.argv, __name__, flush=True); "


def launched(folder: Path, kind: str, code: str, then: str = "waits") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LAUNCHER, kind, str(folder / "output"), code, then]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "HOME": str(folder)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("kind", ["warm", "cold"])
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (SAYS, 0),
        (f"{SAYS}sys.exit(7)", 7),
        (f"{SAYS}os._exit(9)", 9),
        (f"{SAYS}raise RuntimeError('no')", 1),
        (f"{SAYS}import signal; signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM),
    ],
)
def test_a_trainer_ends_as_its_code_ends(tmp_path: Path, kind: str, code: str, status: int) -> None:
    done = launched(tmp_path, kind, code)
    assert json.loads(done.stdout.splitlines()[-1]) == [status, status], done.stderr
    lines = (tmp_path / "output").read_text().splitlines()
    assert lines[0] == "['A'] ['-c'] __main__"
    assert ("RuntimeError: no" in lines) is (status == 1)


@pytest.mark.parametrize("kind", ["warm", "cold"])
@pytest.mark.parametrize(
    ("then", "number"), [("ends the trainer", signal.SIGTERM), ("kills the trainer", signal.SIGKILL)]
)
def test_a_launcher_ends_its_trainer(tmp_path: Path, kind: str, then: str, number: signal.Signals) -> None:
    done = launched(tmp_path, kind, f"{SAYS}import time; time.sleep(1000)", then)
    assert json.loads(done.stdout.splitlines()[-1]) == [-number, -number], done.stderr


@pytest.mark.parametrize("kind", ["warm", "cold"])
def test_a_trainer_ends_with_its_launcher(tmp_path: Path, kind: str) -> None:
    done = launched(tmp_path, kind, "import time; time.sleep(1000)", "dies")
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 60
    while start_time(int(done.stdout)) is not None:
        assert time.monotonic() < until
        time.sleep(0.02)
