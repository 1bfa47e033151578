# SPDX-License-Identifier: Apache-2.0
"""What each process of a running platform takes of processors, PostgreSQL's by whose connection it serves."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.platform import RunningPlatform

TITLE = re.compile(r"postgres: (?:\S+ \S+ \S+\((?P<port>\d+)\)|(?P<kind>[a-z ]+))")


def platform_times(platform: RunningPlatform) -> Counter[str]:
    """Seconds of processor time so far, by what took it: a process of the platform with those that it started, or
    PostgreSQL for that process. A process that ends is missing from then on."""
    database = database_pid(platform)
    named = {pid: name for name, pid in platform.pids().items()} | {database: ""}
    parents = {pid: parent for pid, parent, _ in found_processes()}
    own = {pid: name for pid in parents if (name := _name_of(pid, parents, named))}
    found: Counter[str] = Counter()
    for pid, name in own.items():
        found[name] += processor_s([pid])
    owners = {port: name for pid, name in own.items() for port in _local_ports(pid)}
    for pid in database_processes(platform):
        found[f"PostgreSQL, {_work_of(pid, owners)}"] += processor_s([pid])
    return found


def database_pid(platform: RunningPlatform) -> int:
    return int(next(platform.home.glob("*/postmaster.pid")).read_text().split()[0])


def database_processes(platform: RunningPlatform) -> list[int]:
    """PostgreSQL's first process, and the one for each connection and each task of its own."""
    database = database_pid(platform)
    return [database, *(pid for pid, parent, _ in found_processes() if parent == database)]


def processes_of(platform: RunningPlatform) -> list[int]:
    """Those that answer and store: the web server and PostgreSQL."""
    return [platform.pids()["web"], *database_processes(platform)]


def found_processes() -> Iterator[tuple[int, int, int]]:
    """Of each process on this machine its id, its parent's and its session's."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := stat_of(int(folder.name))):
            yield int(folder.name), int(fields[1]), int(fields[3])


def stat_of(pid: int) -> list[str]:
    """Its fields after the name; none of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def processor_s(pids: Iterable[int]) -> float:
    """What these processes have taken of processors so far."""
    ticks = sum(int(fields[11]) + int(fields[12]) for pid in pids if (fields := stat_of(pid)))
    return ticks / os.sysconf("SC_CLK_TCK")


def _name_of(pid: int, parents: Mapping[int, int], named: Mapping[int, str]) -> str:
    """Of the platform's process that it is, or that started it; "" of any other."""
    while pid in parents and pid not in named:
        pid = parents[pid]
    return named.get(pid, "")


def _work_of(pid: int, owners: Mapping[int, str]) -> str:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        title = ""
    found = TITLE.match(title)
    if found is None:
        return "its first process"
    return f"for {owners.get(int(found['port']), 'others')}" if found["port"] else found["kind"].strip()


def _local_ports(pid: int) -> set[int]:
    """Ports of this process's own ends of its connections."""
    try:
        targets = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    except OSError:
        return set()
    sockets = {target[8:-1] for target in targets if target.startswith("socket:[")}
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in sockets}
