# SPDX-License-Identifier: Apache-2.0
"""A command that is kept running: started anew with back-off when it dies, and dead when the supervisor is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from mlhub.embedded.privileges import prefix
from mlhub.wire.priority import apply_to_session

BACK_OFF_S = (0.2, 1.0, 2.0, 5.0, 10.0)
HEALTHY_AFTER_S = 30.0


@dataclass
class Child:
    """One process of the platform, in a session of its own: the terminal's Ctrl-C reaches the supervisor only."""

    name: str
    argv: list[str]
    environment: dict[str, str]
    folder: Path
    log: Path
    stop_timeout_s: float = 10.0
    niceness: int = 0  # it and all that it starts step back so far for others when processors are scarce
    process: subprocess.Popen[bytes] | None = None
    n_restarts: int = 0
    _started_at: float = field(default=0.0, repr=False)
    _restart_at: float | None = field(default=None, repr=False)

    def start(self) -> None:
        """Call it from the main thread: the kernel ties the child's life to the thread that starts it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix(death_signal="TERM", drop=False), *self.argv],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, os.getpriority(os.PRIO_PROCESS, 0) + self.niceness)
            apply_to_session(self.process.pid)
        self._started_at = time.monotonic()
        self._restart_at = None

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    def look_after(self) -> str | None:
        """Starts it again if it died, once its back-off is over. Returns a line for people when something happened."""
        assert self.process is not None
        code = self.process.poll()
        if code is None:
            if self.n_restarts and time.monotonic() - self._started_at > HEALTHY_AFTER_S:
                self.n_restarts = 0
            return None
        if self._restart_at is None:
            self._kill_group()  # what a killed parent left behind
            wait_s = BACK_OFF_S[min(self.n_restarts, len(BACK_OFF_S) - 1)]
            self._restart_at = time.monotonic() + wait_s
            return f"{self.name} ended with status {code}; starting it again in {wait_s:g} s (see {self.log})"
        if time.monotonic() >= self._restart_at:
            self.n_restarts += 1
            self.start()
            return f"{self.name} started again (process {self.pid})"
        return None

    def ask_to_stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait_stopped(self) -> None:
        """Kills it when it does not leave in time."""
        if self.process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self.stop_timeout_s)
        self._kill_group()
        self.process.wait()

    def last_words(self, n_characters: int = 1500) -> str:
        return self.log.read_text(errors="replace")[-n_characters:] if self.log.exists() else ""

    def _kill_group(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
