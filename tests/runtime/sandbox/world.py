# SPDX-License-Identifier: Apache-2.0
"""What attacks aim at: secrets, another tenant's blob, servers, processes, with a witness of what became of them.

Run as a module it lets attacks loose, as the user that runs it: a JSON list of {attack, mode} in, a list of Seen out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import site
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from mlhub.runtime.sandbox import landlock, syscall_filter
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.isolation import SCOPES_SIGNALS_FROM, Isolation
from mlhub.runtime.sandbox.runner import MAX_OUTPUT_BYTES, PROJECT
from mlhub.runtime.sandbox.verdicts import SandboxLimits
from tests.runtime.sandbox.attacks import ATTACKS, Attack

NAMESPACES, LANDLOCK, OUTSIDE = "namespaces", "landlock", "outside"
MIB = 2**20
BLOB = b"another tenant's data"


@dataclass(frozen=True)
class Seen:
    """How a run ended, what it printed, and what the witness found afterwards."""

    end: str
    exit_code: int
    output: str
    errors: str
    proof: str
    is_victim_well: bool
    is_blob_whole: bool
    n_survivors: int
    planted: list[str]


class World:
    def __init__(self, folder: Path) -> None:
        self.token, self.folder = uuid4().hex, folder / "platform"
        (folder / "sandbox").mkdir()
        self.sandbox = folder / "sandbox"
        self.folder.mkdir()
        self.secret, self.blob = self.folder / "secret", self.folder / "blob"
        self.secret.write_text(self.token)
        self.blob.write_bytes(BLOB)
        os.environ["MLHUB_SECRET_KEY"] = self.token
        self.sockets = [_listening(socket.AF_INET, ("127.0.0.1", 0)), _datagrams()]
        self.sockets += [
            _listening(socket.AF_UNIX, str(self.folder / "broker")),
            _listening(socket.AF_UNIX, f"\0{self.token}"),
        ]
        self.victim = self._start_victim()

    def _start_victim(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["/bin/sleep", "600"], cwd=self.folder, start_new_session=True)

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for each in self.sockets:
            each.close()

    def bait(self, scratch: Path, mark: str) -> dict[str, Any]:
        return {
            "token": self.token, "folder": str(self.folder), "secret": str(self.secret), "blob": str(self.blob),
            "scratch": str(scratch), "victim": self.victim.pid, "mark": mark, "project": str(PROJECT),
            "tcp": self.sockets[0].getsockname()[1], "udp": self.sockets[1].getsockname()[1],
            "unix": str(self.folder / "broker"), "abstract": self.token, "cgroup": "/sys/fs/cgroup",
            "packages": site.getsitepackages()[0],
        }  # fmt: skip

    def let_loose(self, attack: Attack, mode: str) -> Seen:
        mark = f"mark-{uuid4().hex}"
        # its secrets, which its program names, are no part of what the attack finds out
        code = f"bait = {self.bait(self.sandbox, mark)!r}\n{attack.program}"
        code = code.replace(repr(self.token), "''.join(map(chr, " + repr([ord(c) for c in self.token]) + "))")
        if mode == OUTSIDE:
            end, exit_code, output, errors, proof = self._outside(code)
        else:
            limits = SandboxLimits(attack.timeout_s, 256 * MIB, 64 * MIB, n_processes=40)
            ended = execute(["-c", code], folder=self.sandbox, limits=limits, within=isolation_of(mode))
            end, exit_code, output, errors, proof = ended.end, ended.exit_code, ended.output, ended.errors, ended.proof
        assert len(output) <= MAX_OUTPUT_BYTES
        return self.observed(end, exit_code, output[-4000:], errors[-4000:], proof, mark)

    def _outside(self, code: str) -> tuple[str, int, str, str, str]:
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as output:  # a daemon may keep it
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=scratch,
                stdout=output,
                stderr=output,
                timeout=30,
                start_new_session=True,
            )
            output.seek(0)
            return OUTSIDE, done.returncode, output.read(), "", ""

    def observed(self, end: str, exit_code: int, output: str, errors: str, proof: str, mark: str) -> Seen:
        survivors = _marked(mark)
        for pid in survivors:
            os.kill(pid, signal.SIGKILL)
        is_well = self.victim.poll() is None and _state_of(self.victim.pid) not in "TtZ"
        if not is_well:
            self.victim.kill()
            self.victim.wait()
            self.victim = self._start_victim()
        return Seen(
            end,
            exit_code,
            output,
            errors,
            proof,
            is_well,
            self.blob.read_bytes() == BLOB,
            len(survivors),
            self._planted(),
        )

    def _planted(self) -> list[str]:
        """Files that must not be there; removed, so that the next attack starts anew."""
        places = [self.folder / "planted", Path(site.getsitepackages()[0], "mlhub_breach.pth")]
        places += [PROJECT / "mlhub" / "mlhub_breach.py", Path("/usr/mlhub_breach"), Path("/etc/mlhub_breach")]
        found = [str(path) for path in places if path.exists()]
        for path in found:
            Path(path).unlink()
        return found


def isolation_of(mode: str) -> Isolation:
    if mode == NAMESPACES:
        return isolation()
    confines_signals = landlock.version() >= SCOPES_SIGNALS_FROM
    return Isolation(False, False, landlock.version() > 0, syscall_filter.is_available(), confines_signals)


def _listening(family: int, address: Any) -> socket.socket:
    found = socket.socket(family)
    found.bind(address)
    found.listen(64)
    return found


def _datagrams() -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind(("127.0.0.1", 0))
    return found


def _marked(mark: str) -> list[int]:
    """Processes that carry a mark among their arguments; given a moment to be started, or to be gone."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if (
                name.isdigit()
                and mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes()
                and _state_of(int(name)) != "Z"
            ):
                found.append(int(name))
    return found


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        made = World(Path(folder))
        try:
            yield made
        finally:
            made.close()


def main() -> None:
    with world() as here:
        for wanted in json.load(sys.stdin):
            attack, began = ATTACKS[wanted["attack"]], time.monotonic()
            seen = here.let_loose(attack, wanted["mode"])
            print(json.dumps({**wanted, "seen": asdict(seen), "took_s": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
