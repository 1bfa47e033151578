# SPDX-License-Identifier: Apache-2.0
"""Programs of an exported model that a command runs: they end when the command is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlhub.cli.exports import run_program
from mlhub.cli.failures import CommandError

PROGRAM = """
import os, pathlib, time
pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
print("ready", flush=True)
time.sleep(600)
"""
COMMAND = """
import pathlib, sys
from mlhub.cli.exports import run_program
run_program(pathlib.Path(sys.argv[1]), "serve.py", [])
"""


def a_program(folder: Path, code: str) -> None:
    (folder / "serve.py").write_text(code)
    (folder / "torch.py").write_text("import pathlib; pathlib.Path(__file__).with_name('imported').touch()")


def test_a_program_is_started_without_an_import_of_torch_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports torch itself, which takes seconds."""
    a_program(tmp_path, "")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run_program(tmp_path, "serve.py", [])
    assert not (tmp_path / "imported").exists()


def test_a_program_that_is_killed_is_said_to_be(tmp_path: Path) -> None:
    a_program(tmp_path, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(CommandError, match=r"^serve\.py was ended by SIGKILL\.$") as refused:
        run_program(tmp_path, "serve.py", [])
    assert "memory" in refused.value.remedy


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_ends_its_program(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "serve.py").write_text(PROGRAM)
    (tmp_path / "torch.py").write_text("")  # the real one takes seconds to import
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "ready\n"
        program = int((tmp_path / "pid").read_text())
        command.send_signal(number)  # to the command alone, as a supervisor does
        assert command.wait(timeout=120) in (128 + number, -number)
    until = time.monotonic() + 60
    while is_running(program) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(program)
