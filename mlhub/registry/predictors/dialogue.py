# SPDX-License-Identifier: Apache-2.0
"""A program in the sandbox that stays: it reads requests from a FIFO, one a line, and answers each with a line.

Lines are JSON. What the program writes is untrusted: its size and the time that it may take are bounded here, and its
content is for the caller to check.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from mlhub.runtime.sandbox import cgroups
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.runner import CollectedOutput, confinement_of, started_sandbox
from mlhub.runtime.sandbox.verdicts import SandboxLimits

MAX_LINE_BYTES = 16 * 2**20
PIECE = 2**16
TAIL = 2_000  # characters of what the program printed


class DialogueError(Exception):
    """The program ended, took too long, or wrote what is no answer. It is closed then. printed: the end of its log."""

    def __init__(self, code: str, message: str, *, printed: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.printed = code, message, printed


class SandboxedProgram:
    """Runs `python argv... FIFO` until it is closed. One thread at a time may use it.

    The kernel ends it with the thread that makes this object, which must therefore live as long as the process.
    """

    def __init__(
        self, argv: Sequence[str], *, folder: Path, limits: SandboxLimits, readable: Sequence[Path] = ()
    ) -> None:
        """Raises OSError when the sandbox cannot be set up. limits.timeout_s is for its whole life."""
        self._held = ExitStack()
        try:
            self._process = self._start(argv, folder, limits, readable)
        except BaseException:
            self._held.close()
            raise

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], *, timeout_s: float) -> Any:
        """Sends a request and returns the answer. Raises DialogueError, after which the program is closed."""
        until = time.monotonic() + timeout_s
        try:
            self._send(json.dumps(request).encode() + b"\n", until)
            return self._received(until)
        except DialogueError:
            self.close()
            raise

    def received(self, *, timeout_s: float) -> Any:
        """The next answer, which no request asked for. Raises DialogueError."""
        try:
            return self._received(time.monotonic() + timeout_s)
        except DialogueError:
            self.close()
            raise

    def close(self) -> None:
        """Ends the program with everything that it started. May be called again."""
        self._held.close()

    def _start(
        self, argv: Sequence[str], folder: Path, limits: SandboxLimits, readable: Sequence[Path]
    ) -> subprocess.Popen[bytes]:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)
        run_folder = Path(self._held.enter_context(temporary))
        fifo = run_folder / "requests"
        os.mkfifo(fifo)
        fifo.chmod(0o644)  # read by the user of the sandbox
        self._requests = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # a reader of its own: never a broken pipe
        self._held.callback(os.close, self._requests)
        confinement = confinement_of([*argv, str(fifo)], run_folder, limits, [*readable, fifo], isolation())
        group = self._held.enter_context(
            cgroups.group(
                memory_bytes=limits.memory_bytes + limits.scratch_bytes,
                n_processes=limits.n_processes,
                n_cpus=limits.n_cpus,
            )
        )
        process, report = started_sandbox()
        self._held.callback(report.close)
        self._held.callback(_end, process)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._printed = CollectedOutput(process.stderr, keeps_end=True)
        self._answers = process.stdout.fileno()
        if group is not None:
            group.add(process.pid)
        with suppress(BrokenPipeError):
            process.stdin.write(confinement.to_json().encode())
            process.stdin.close()
        return process

    def _send(self, line: bytes, until: float) -> None:
        left = memoryview(line)
        while left:
            self._wait(until, writes=True)
            with suppress(BlockingIOError):
                left = left[os.write(self._requests, left[:PIECE]) :]

    def _received(self, until: float) -> Any:
        line = bytearray()
        while not line.endswith(b"\n"):
            self._wait(until, writes=False)
            piece = os.read(self._answers, PIECE)
            if not piece:
                raise self._error("ended", "The program ended.")
            line += piece
            if len(line) > MAX_LINE_BYTES:
                raise self._error("answer_too_large", f"The answer has more than {MAX_LINE_BYTES:,} bytes.")
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._error("no_answer", "What the program wrote is no answer.") from error

    def _wait(self, until: float, *, writes: bool) -> None:
        """Until the pipe is ready. Raises DialogueError when the program has ended or the time is over."""
        while True:
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise self._error("too_slow", "The program took too long.")
            ready = select.select([self._answers], [self._requests] if writes else [], [], min(left_s, 1.0))
            if ready[1] or (ready[0] and not writes):
                return
            if writes and not self.is_running:
                raise self._error("ended", "The program ended.")

    def _error(self, code: str, message: str) -> DialogueError:
        return DialogueError(code, message, printed=self._printed.text()[-TAIL:].strip())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
