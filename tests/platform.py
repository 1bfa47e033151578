# SPDX-License-Identifier: Apache-2.0
"""The whole embedded platform for tests: started by its own command in a folder of its own, reached over HTTP."""

from __future__ import annotations

import json
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

from mlhub.demo.client import Person
from mlhub.embedded.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "correct horse battery staple"


def wait(condition: Callable[[], Any], *, seconds: float = 150, message: str = "waited too long") -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, message
        time.sleep(0.1)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass
class RunningPlatform:
    """home: its state; start() may be called again after stop() or kill()."""

    home: Path
    process: subprocess.Popen[bytes] | None = None
    url: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)  # several platforms of one machine would all prefer the same
    commands: subprocess.Popen[str] | None = None  # tests.django_commands, once somebody was made
    program: Path = ROOT  # whose code is started; another version's may follow on the same home

    def start(self) -> None:
        self._end_commands()  # its database was the former start's
        self.home.mkdir(mode=0o755, parents=True, exist_ok=True)
        note = self.home / "platform.json"
        note.unlink(missing_ok=True)
        clean = {
            k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
        }
        clean |= {"MLHUB_HOME": str(self.home), "MLHUB_PORT": str(self.port)}
        if self.program != ROOT:
            clean |= {"PYTHONPATH": str(self.program)}  # before the environment's own copy of MLHub
        with (self.home / "supervisor.out").open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlhub.embedded", "up"], cwd=self.program, env=clean, stdout=out, stderr=out
            )
        wait(lambda: note.exists() or self.process is None or self.process.poll() is not None, seconds=600)
        assert self.process.poll() is None, self.logs()
        self.url = json.loads(note.read_text())["url"]
        wait(
            lambda: b"platform is up" in self._output().rpartition(b"PostgreSQL and Valkey")[2],
            seconds=600,
            message=self.logs(),
        )
        self.environment = clean | self._variables(clean)

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(600)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """For the end of a test: gone in any case, pods too."""
        self._end_commands()
        if self.process is not None and self.process.poll() is None:
            self.stop()
        for pid in self.pods().values():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)

    def _end_commands(self) -> None:
        if self.commands is not None:
            self.commands.communicate(timeout=60)
            self.commands = None

    def pids(self) -> dict[str, int]:
        found: dict[str, int] = json.loads((self.home / "platform.json").read_text())["pids"]
        return found

    def pods(self) -> dict[str, int]:
        """Process ids of the pods' launchers, by attempt and pod."""
        shims = sorted((self.home / "pods").glob("*/*/shim.json"))
        return {f"{p.parent.parent.name}/{p.parent.name}": json.loads(p.read_text())["child"] for p in shims}

    def person(self, name: str, *, organisation: str | None = None, role: str = "owner") -> Person:
        """Signed in; made first where needed. Without an organisation: the platform's administrator."""
        belongs = ["--organisation", organisation, "--role", role] if organisation else ["--staff"]
        self.run_django("create_user", name, "--password-env", "TEST_PASSWORD", *belongs)
        return Person(self.url, name, PASSWORD)

    def run_django(self, *arguments: str) -> None:
        """Does what manage.py does with these arguments, in one process for all of them: each would import Django."""
        if self.commands is None:
            self.commands = subprocess.Popen(
                [sys.executable, "-P", str(ROOT / "tests" / "django_commands.py")],
                cwd=self.program, env=self.environment | {"PYTHONPATH": str(self.program)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self.commands.stdin is not None
        assert self.commands.stdout is not None
        asked = {"arguments": arguments, "variables": self.environment | {"TEST_PASSWORD": PASSWORD}}
        self.commands.stdin.write(json.dumps(asked) + "\n")
        self.commands.stdin.flush()
        problem = json.loads(self.commands.stdout.readline() or '"the process that runs commands has ended"')
        assert not problem, problem

    def logs(self) -> str:
        logs = sorted((self.home / "logs").glob("*.log"))
        outputs = [f"--- {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in logs]
        return "\n".join([self._output().decode(errors="replace")[-3000:], *outputs])

    def _output(self) -> bytes:
        return (self.home / "supervisor.out").read_bytes()

    def _variables(self, environment: dict[str, str]) -> dict[str, str]:
        """What `python -m mlhub.embedded env` prints, as a shell would read it."""
        show = "import json, os; print(json.dumps(dict(os.environ)))"
        script = f'eval "$({sys.executable} -m mlhub.embedded env)"; {sys.executable} -c "{show}"'
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.program, env=environment, capture_output=True, text=True, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found


@contextmanager
def running(folder: Path) -> Iterator[RunningPlatform]:
    """A platform whose state lies in the folder, which it lets pods of other users reach; it ends with the block."""
    for parent in (folder, folder.parent):
        parent.chmod(0o755)
    found = RunningPlatform(folder / "home")
    try:
        found.start()
        yield found
    finally:
        found.end()
