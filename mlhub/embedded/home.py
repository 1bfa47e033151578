# SPDX-License-Identifier: Apache-2.0
"""The platform's folder: secrets made once, ports remembered, and a note of where everything answers."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from mlhub import _installation
from mlhub.embedded.ports import free_port, is_free

PROJECT = _installation.ROOT
# read here: Django's processes get what they name, and the signing key is the home folder's own
FILES = {"MLHUB_SECRET_KEY_FILE", "DATABASE_URL_FILE", "REDIS_URL_FILE"}


@dataclass(frozen=True)
class Platform:
    """Where a running platform answers. pids: of its processes, by name, "supervisor" among them."""

    url: str
    database_url: str
    redis_url: str
    pids: dict[str, int]


@dataclass(frozen=True)
class Home:
    path: Path

    @classmethod
    def of_environment(cls) -> Home:
        """$MLHUB_HOME, or .mlhub in the checkout, or in the working directory when MLHub is installed."""
        return cls(Path(os.environ.get("MLHUB_HOME") or _installation.default_home()).resolve())

    @property
    def lock(self) -> Path:
        """Locked by the supervisor for as long as it lives: the lifeline of its pods."""
        return self.path / "supervisor.lock"

    @property
    def agent(self) -> Path:
        """The folder of this machine's agent, where the backend is `agents`."""
        return self.path / "agent"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def prepare(self) -> None:
        """Makes the folders, closed to other users of the machine; folders of earlier versions are closed too.

        As root, pods and PostgreSQL run as other users: those pass through some folders, and list none.
        """
        passed = 0o711 if os.geteuid() == 0 else 0o700
        for name in ("", "blobs", "checkpoints", "nodes", "pods", "sandbox"):
            _make(self.path / name, passed)
        for name in ("logs", "secrets", "static"):
            _make(self.path / name, 0o700)
        self.lock.touch()

    def secret(self, name: str) -> str:
        """A random secret, the same at every start."""
        folder = self.path / "secrets"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / name
        if not path.exists() or not path.stat().st_size:  # empty: its writer was killed, or the disk full
            _write_whole(path, secrets.token_hex(32), mode=0o600)
        return path.read_text()

    def replace_secret(self, name: str, value: str) -> None:
        """Sets a secret to that of a backup, at once."""
        folder = self.path / "secrets"
        folder.mkdir(mode=0o700, exist_ok=True)
        _write_whole(folder / name, value, mode=0o600)

    def port(self, name: str, *, wanted: int | None = None, preferred: int | None = None) -> int:
        """The wanted port, or that of last time, or the preferred one, or any; whichever is free now."""
        path = self.path / "ports.json"
        known: dict[str, int] = json.loads(path.read_text() or "{}") if path.exists() else {}
        for candidate in (wanted, known.get(name), preferred):
            if candidate and is_free(candidate):
                chosen = candidate
                break
        else:
            chosen = free_port()
        _write_whole(path, json.dumps(known | {name: chosen}))
        return chosen

    def write_platform(self, platform: Platform) -> None:
        _write_whole(self.path / "platform.json", json.dumps(asdict(platform), indent=1), mode=0o600)

    def platform(self) -> Platform | None:
        """Returns the platform as last written; its processes may have ended."""
        path = self.path / "platform.json"
        return Platform(**json.loads(path.read_text())) if path.exists() else None

    def note_backend(self, name: str) -> None:
        """Kept for commands that come later, from shells in which MLHUB_BACKEND may be another."""
        _write_whole(self.path / "backend", name)

    def backend(self) -> str:
        """The backend of the newest start; "" where a version that did not write it down was the last to start."""
        path = self.path / "backend"
        return path.read_text().strip() if path.exists() else ""

    def supervisor_pid(self) -> int | None:
        """The process of the supervisor of the platform that runs here; None: none runs."""
        platform = self.platform()
        pid = platform.pids.get("supervisor") if platform else None
        try:
            if pid:
                os.kill(pid, 0)
                return pid
        except ProcessLookupError:
            pass
        except PermissionError:  # another user's
            return pid
        return None

    def environment(self, *, url: str, database_url: str, redis_url: str) -> dict[str, str]:
        """The variables of Django's processes, on top of the environment that there is."""
        return {
            **{name: value for name, value in os.environ.items() if name not in FILES},
            "DJANGO_SETTINGS_MODULE": "mlhub.settings",
            "MLHUB_HOME": str(self.path),
            "MLHUB_SECRET_KEY": self.secret("django"),
            "MLHUB_PUBLIC_URL": url,
            "MLHUB_LIFELINE": str(self.lock),
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
        }


def given_address(name: str, default: str = "") -> str:
    """What the variable DATABASE_URL or REDIS_URL gives, or the file that NAME_FILE names. Raises OSError."""
    path = os.environ.get(f"{name}_FILE")
    return Path(path).read_text().strip() if path else os.environ.get(name, default)


def _write_whole(path: Path, text: str, *, mode: int = 0o644) -> None:
    """The file has all of the text, or what it had before: also where the process is killed or the disk is full."""
    temporary = path.with_name(f".{path.name}")
    temporary.unlink(missing_ok=True)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _make(folder: Path, mode: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
