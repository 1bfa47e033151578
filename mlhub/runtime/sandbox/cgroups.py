# SPDX-License-Identifier: Apache-2.0
"""A control group for each run: the kernel then limits memory, processes and processors of all of it together.

Version 2 where the platform may make groups below its own or next to it, version 1 where that is still mounted.
A group that was delegated to the platform while it runs in it, as by systemd's Delegate=, is made ready: a group of
version 2 has either processes or groups with limits, so the platform's processes go to a group of their own in it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

logger = logging.getLogger(__name__)

CONTROLLERS = ("memory", "pids", "cpu")
PERIOD_US = 100_000
GONE_WITHIN_S = 2.0
PLATFORM = "mlhub-platform"  # where the platform's own processes are, in a group that was delegated to it
MOST_MOVES = 20  # of processes that may start others meanwhile
DELEGATED = "user.delegate"  # systemd's mark of a group that it leaves to the service


@dataclass(frozen=True)
class Events:
    """What the kernel counted in a group: processes ended for want of memory, forks refused for want of room."""

    n_killed_by_memory: int = 0
    n_forks_refused: int = 0


@dataclass(frozen=True)
class ControlGroup:
    """folders: of each controller that could be had; on version 2 they are all one folder."""

    folders: Mapping[str, Path]
    is_version_2: bool

    def add(self, pid: int) -> None:
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def limits(self, *, memory_bytes: int, n_processes: int, n_cpus: float) -> dict[str, dict[str, str]]:
        """What is written into which file, by controller."""
        quota_us = int(n_cpus * PERIOD_US)
        if self.is_version_2:
            wanted = {"memory": {"memory.max": f"{memory_bytes}", "memory.swap.max": "0"},
                      "cpu": {"cpu.max": f"{quota_us} {PERIOD_US}"}}  # fmt: skip
        else:
            wanted = {"memory": {"memory.limit_in_bytes": f"{memory_bytes}"},
                      "cpu": {"cpu.cfs_period_us": f"{PERIOD_US}", "cpu.cfs_quota_us": f"{quota_us}"}}  # fmt: skip
        return wanted | {"pids": {"pids.max": f"{n_processes}"}}

    def limit(self, *, memory_bytes: int, n_processes: int, n_cpus: float) -> None:
        wanted = self.limits(memory_bytes=memory_bytes, n_processes=n_processes, n_cpus=n_cpus)
        for controller, folder in self.folders.items():
            for name, value in wanted[controller].items():
                with contextlib.suppress(FileNotFoundError):  # swap is not always accounted for
                    (folder / name).write_text(value)

    @property
    def memory_events(self) -> str:
        """The file that counts processes ended for want of memory, as "oom_kill"."""
        return "memory.events" if self.is_version_2 else "memory.oom_control"

    def events(self) -> Events:
        return Events(
            n_killed_by_memory=_counter(self.folders.get("memory"), self.memory_events, "oom_kill"),
            n_forks_refused=_counter(self.folders.get("pids"), "pids.events", "max"),
        )

    def remove(self) -> None:
        until = time.monotonic() + GONE_WITHIN_S
        for folder in set(self.folders.values()):
            while folder.exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                if time.monotonic() > until:
                    break
                time.sleep(0.002)


@contextlib.contextmanager
def group(*, memory_bytes: int, n_processes: int, n_cpus: float) -> Iterator[ControlGroup | None]:
    """A group with these limits, gone afterwards; None where none can be had."""
    made = _make() if _works() else None
    if made is None:
        yield None
        return
    try:
        made.limit(memory_bytes=memory_bytes, n_processes=n_processes, n_cpus=n_cpus)
        yield made
    finally:
        made.remove()


@functools.cache
def _works() -> bool:
    """Whether a group can be made, limited and joined: a folder that can be made may yet take no process."""
    made = _make()
    if made is None:
        return False
    try:
        made.limit(memory_bytes=2**30, n_processes=64, n_cpus=1.0)
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
            try:
                made.add(process.pid)
            finally:
                process.kill()
        return True
    except OSError as error:
        logger.warning("sandbox.cgroup_unusable %s: %s", set(map(str, made.folders.values())), error)
        return False
    finally:
        made.remove()


def available_controllers() -> tuple[str, ...]:
    """Which of CONTROLLERS a run would be limited by on this machine."""
    with group(memory_bytes=2**30, n_processes=64, n_cpus=1.0) as made:
        return () if made is None else tuple(made.folders)


def below_parents(name: str) -> ControlGroup | None:
    """A group that another process may make under this name, and is not there yet; None where none can be had."""
    found = _parents()
    if found is None:
        return None
    return ControlGroup({c: folder.parent / name for c, folder in found.folders.items()}, found.is_version_2)


@functools.cache
def _parents() -> ControlGroup | None:
    """A group as it could be had here, gone again."""
    made = _make() if _works() else None
    if made is not None:
        made.remove()
    return made


def _make() -> ControlGroup | None:
    name = f"mlhub-{uuid4().hex[:12]}"
    for parent in _version_2_parents():
        folders = _make_version_2(parent, name)
        if folders:
            return ControlGroup(folders, is_version_2=True)
    folders = {}
    for controller, parent in _version_1_parents().items():
        with contextlib.suppress(OSError):
            (parent / name).mkdir()
            folders[controller] = parent / name
    return ControlGroup(folders, is_version_2=False) if folders else None


def _make_version_2(parent: Path, name: str) -> dict[str, Path]:
    try:
        known = set((parent / "cgroup.controllers").read_text().split()) & set(CONTROLLERS)
        enabled = set((parent / "cgroup.subtree_control").read_text().split()) & known
        if enabled != known and _enable(parent, known):
            enabled = known
        if "memory" not in enabled or not os.access(parent, os.W_OK):
            return {}
        (parent / name).mkdir()
    except OSError:
        return {}
    return {controller: parent / name for controller in CONTROLLERS if controller in enabled}


def _enable(group: Path, controllers: Iterable[str]) -> bool:
    """Whether groups in it are limited by these from now on."""
    wanted = " ".join(f"+{c}" for c in sorted(controllers))
    try:
        _write(group / "cgroup.subtree_control", wanted)
    except OSError as error:
        if error.errno != errno.EBUSY or not _is_delegated(group):  # busy: it has processes of its own
            return False
        try:
            _move_processes(group, group / PLATFORM)
            _write(group / "cgroup.subtree_control", wanted)
        except OSError as refused:
            logger.warning("sandbox.cgroup_not_ready %s: %s", group, refused)
            return False
    return True


def _is_delegated(group: Path) -> bool:
    if os.environ.get("MLHUB_CGROUP") == str(group):
        return True
    with contextlib.suppress(OSError):
        return os.getxattr(group, DELEGATED) == b"1"
    return False


def _move_processes(group: Path, to: Path) -> None:
    to.mkdir(exist_ok=True)
    for _ in range(MOST_MOVES):
        pids = (group / "cgroup.procs").read_text().split()
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                _write(to / "cgroup.procs", pid)


def _write(file: Path, text: str) -> None:
    """What the kernel refuses, it refuses by the error of the write."""
    file.write_text(text)


def _version_2_parents() -> list[Path]:
    """MLHUB_CGROUP first, a group that an administrator delegated; then the own group and the one around it."""
    found = [Path(os.environ["MLHUB_CGROUP"])] if os.environ.get("MLHUB_CGROUP") else []
    mount = _mounts().get("")
    own = _own_groups().get("")
    if mount is not None and own is not None:
        found.append(mount / own.lstrip("/"))
        if own != "/":
            found.append(found[-1].parent)
    return found


def _version_1_parents() -> dict[str, Path]:
    mounts, own = _mounts(), _own_groups()
    return {c: mounts[c] / own[c].lstrip("/") for c in CONTROLLERS if c in mounts and c in own}


def _own_groups() -> dict[str, str]:
    """The group of this process by controller; "" is version 2."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
    return found


def _mounts() -> dict[str, Path]:
    """Where each controller of version 1, and "" for version 2, is mounted."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, target, kind, options, *_ = line.split()
            if kind == "cgroup2":
                found[""] = Path(target)
            elif kind == "cgroup":
                found |= {c: Path(target) for c in CONTROLLERS if c in options.split(",")}
    return found


def _counter(folder: Path | None, file: str, name: str) -> int:
    if folder is None:
        return 0
    with contextlib.suppress(OSError):
        for line in (folder / file).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0
