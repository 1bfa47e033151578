# SPDX-License-Identifier: Apache-2.0
"""Machines with an agent each, for tests: real processes, each with a home and an address of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlhub.backends.agents.backend import AgentsBackend
from mlhub.backends.protocol import AttemptStatus, GangPhase
from mlhub.control.agents.actions import make_token
from mlhub.control.pods.backends import configured_backend
from mlhub.wire.launch import LaunchSpec
from tests.backends.specs import PROGRAM
from tests.storage.tus_server import asgi_server

ROOT = Path(__file__).resolve().parents[3]
# the test's program takes the place of the runtime; all else is the agent as it is
AGENT = """
import sys
from mlhub.agent.__main__ import main
sys.exit(main(sys.argv[2:], pod=[sys.executable, "-S", "-c", sys.argv[1]]))
"""


def wait(condition: Callable[[], Any], *, seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)
    return found


@dataclass
class Machine:
    """One machine: its agent can be killed and started again; its pods outlive that."""

    name: str
    folder: Path
    server: str
    token: str
    address: str
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        words = [f"--server={self.server}", f"--home={self.folder / 'home'}", f"--address={self.address}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", AGENT, PROGRAM, *words, "--slots=2", "--warm-workers=0", "--no-gpus"],
                cwd=ROOT, env=os.environ | {"MLHUB_AGENT_TOKEN": self.token, "PYTHONPATH": str(ROOT)},
                stdout=log, stderr=log,
            )  # fmt: skip

    @property
    def log(self) -> Path:
        return self.folder / "agent.log"

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def shims(self) -> list[int]:
        """Process ids of what looks after its pods, and lives no longer than they do."""
        found = subprocess.run(["pgrep", "-f", f"shim.py {self.folder}/"], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
        for pid in self.shims():
            os.kill(pid, signal.SIGTERM)
        wait(lambda: not self.shims())


@contextmanager
def machines(folder: Path, settings: Any, *, names: tuple[str, ...] = ("node-1", "node-2")) -> Iterator[Any]:
    """([Machine], their backend), once all have reported. The test's transactions must commit."""
    for parent in (folder, folder.parent):
        parent.chmod(0o755)  # pods of other users pass through
    settings.BACKEND, settings.CHECKPOINT_ROOT = "agents", folder / "checkpoints"
    with asgi_server() as url:
        settings.PUBLIC_URL = url
        found = [
            Machine(name, folder / name, url, make_token(name, actor=None)[1], f"127.0.0.{i}")
            for i, name in enumerate(names, start=2)
        ]
        backend = configured_backend()
        assert isinstance(backend, AgentsBackend)
        try:
            for machine in found:
                machine.start()
            wait(lambda: is_ready(backend, *names))
            yield found, backend
        finally:
            for machine in found:
                machine.end()


def is_ready(backend: AgentsBackend, *names: str) -> bool:
    return {node.name for node in backend.inventory() if node.is_ready} >= set(names)


def status_of(backend: AgentsBackend, spec: LaunchSpec) -> AttemptStatus | None:
    return next((status for status in backend.observe() if status.attempt_id == spec.attempt_id), None)


def runs(backend: AgentsBackend, spec: LaunchSpec) -> bool:
    status = status_of(backend, spec)
    return status is not None and status.phase is GangPhase.RUNNING


def ended(backend: AgentsBackend, spec: LaunchSpec) -> AttemptStatus:
    def look() -> AttemptStatus | None:
        status = status_of(backend, spec)
        return status if status is not None and status.phase.is_ended else None

    found: AttemptStatus = wait(look)
    return found
