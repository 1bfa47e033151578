# SPDX-License-Identifier: Apache-2.0
"""A sandbox's first process, started before there is a program for it, so that it has imported what that will need.

It reads its confinement from standard input like any other, and is used once (docs/decisions/warm-workers.md).
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import FileIO

from mlhub.wire.priority import apply_to_session

READY = b'{"ready": true}\n'  # what it writes to its report once it has imported

ReportedProcess = tuple["subprocess.Popen[bytes]", FileIO]  # the process, and its report


@dataclass
class SpareSandbox:
    """argv: the command, which gets the descriptor of its report as one more argument; environment: its variables."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    _waiting: ReportedProcess | None = None

    def prepare(self) -> None:
        """Starts the process, unless one waits. It ends with the thread that calls this."""
        if self._waiting is not None and self._waiting[0].poll() is not None:
            self.close()
        if self._waiting is None:
            self._waiting = started(self.argv, self.environment)

    def take(self) -> ReportedProcess | None:
        """The process, which is the caller's from now on; None when there is none that is ready."""
        if self._waiting is None or not select.select([self._waiting[1]], [], [], 0)[0]:
            return None
        found, self._waiting = self._waiting, None
        if found[1].readline() == READY and found[0].poll() is None:
            return found
        _end(found)
        return None

    def close(self) -> None:
        """Ends the process that waits, if there is one."""
        if self._waiting is not None:
            _end(self._waiting)
        self._waiting = None


def started(argv: Sequence[str], environment: Mapping[str, str]) -> ReportedProcess:
    """Starts a first process of a sandbox with pipes to it, and one for its report. Raises OSError."""
    report_from, report_to = os.pipe()
    try:
        process = subprocess.Popen(
            [*argv, str(report_to)],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(report_to,),
            start_new_session=True,
        )
    except OSError:
        os.close(report_from)
        raise
    finally:
        os.close(report_to)
    apply_to_session(process.pid)
    return process, FileIO(report_from, "rb")


def _end(found: ReportedProcess) -> None:
    process, report = found
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr, report):
        if stream is not None:
            stream.close()
