"""Runs code of strangers in a process of its own: bounded time, memory, files and output, a scrubbed environment.

No network where the kernel lets us take it away. It is not another user, nor a container. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
MAX_OUTPUT_BYTES = 16 * 2**20
MAX_FILE_BYTES = 10 * 2**30
MAX_OPEN_FILES = 512
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, CLONE_NEWNET = 1, 38, 0x40000000


@dataclass(frozen=True)
class Ended:
    """exit_code: negative for a signal. is_too_late: it was killed at the end of its time."""

    exit_code: int
    output: str
    errors: str
    is_too_late: bool


def run(argv: Sequence[str], *, folder: Path, timeout_s: float, memory_bytes: int) -> Ended:
    """Runs `python argv...` in a folder of its own below `folder`, which is gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
        work = Path(name)
        with (work / "out").open("wb") as out, (work / "err").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, *argv],
                cwd=work,
                env=_environment(work),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=lambda: _confine(memory_bytes, timeout_s),
            )
            try:
                is_too_late = False
                process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                is_too_late = True
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Ended(process.returncode, _read(work / "out"), _read(work / "err"), is_too_late)


def _environment(work: Path) -> dict[str, str]:
    """Nothing of the platform's own: no database, no secrets."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(work),
        "TMPDIR": str(work),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


def _confine(memory_bytes: int, timeout_s: float) -> None:
    """In the child, before it becomes the program."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.unshare(CLONE_NEWNET)  # refused to ordinary users on many systems; then there is a network
    seconds = int(timeout_s) + 5
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, 4 * seconds),
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
    ):
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    os.nice(5)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_OUTPUT_BYTES).decode(errors="replace")
