# SPDX-License-Identifier: Apache-2.0
"""The files on disk of a gang: <home>/pods/<attempt>/{launch,launched,stop}.json and a folder for each pod.

Files appear whole (written aside, then renamed). A process is known by its id and its start time, since ids are reused.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlhub.wire.launch import AttemptId, PodRole


def write_json(path: Path, value: Any, *, mode: int = 0o644) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as file:
        json.dump(value, file)
    temporary.rename(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """None when it is not there. Files are renamed into place, so what is there is whole, unless a pod wrote it.

    Raises ValueError for a file that holds no JSON object, RecursionError for one that nests too deep.
    """
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return found


def start_time(pid: int) -> int | None:
    """Clock ticks since boot at which the process started; None when there is none, or only a zombie is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, started: int) -> bool:
    """Whether that very process still runs. Raises ValueError for what is no process of a pod, such as 0 or null.

    They come from files that a pod may have written, and process groups are killed by them; 0 is the caller's group.
    """
    if type(pid) is not int or type(started) is not int or pid < 1:
        raise ValueError(f"{pid!r} started at {started!r} is no process of a pod")
    return start_time(pid) == started


@dataclass(frozen=True)
class PodFolder:
    path: Path
    role: PodRole
    index: int

    @property
    def shim(self) -> Path:
        return self.path / "shim.json"

    @property
    def exit(self) -> Path:
        return self.path / "exit.json"

    @property
    def output(self) -> Path:
        return self.path / "output.log"


@dataclass(frozen=True)
class GangFolder:
    path: Path

    @property
    def attempt_id(self) -> AttemptId:
        return AttemptId(self.path.name)

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def launched(self) -> Path:
        return self.path / "launched.json"

    @property
    def stop(self) -> Path:
        return self.path / "stop.json"

    def pod(self, role: PodRole, index: int) -> PodFolder:
        return PodFolder(self.path / f"{role}-{index}", role, index)

    def ask_to_stop(self, *, grace_s: float, why: str) -> None:
        """Asks the gang's shims to end their pods. A later call can only bring the deadline nearer."""
        deadline = time.time() + grace_s
        asked = read_json(self.stop)
        if asked is None:
            write_json(self.stop, {"deadline": deadline, "why": why, "asked_at": time.time()})
        elif deadline < asked["deadline"]:
            write_json(self.stop, {**asked, "deadline": deadline})
