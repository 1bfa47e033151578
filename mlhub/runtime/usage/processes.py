# SPDX-License-Identifier: Apache-2.0
"""Processor time, memory and disk of a process and of all that it started, as /proc counts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# places among the fields of /proc/PID/stat behind the program's name
STATE, PARENT, CPU_TIMES = 0, 1, slice(11, 15)  # of the process, and of its children that have ended: user, system


@dataclass(frozen=True)
class ProcessUse:
    """cpu_s, read_bytes, written_bytes: since the processes began; memory_bytes: at this moment."""

    cpu_s: float
    memory_bytes: int
    read_bytes: int
    written_bytes: int


def use_of(ancestor: int) -> ProcessUse:
    """What the process and its descendants use. A process that may not be looked into counts by its times only."""
    ticks = memory = read = written = 0
    for pid, fields in _family(ancestor):
        ticks += sum(int(value) for value in fields[CPU_TIMES])
        with suppress(OSError):
            memory += _memory_bytes(pid)
        with suppress(OSError):
            counters = _numbers(Path(f"/proc/{pid}/io").read_text())
            read += counters.get("read_bytes", 0)
            written += counters.get("write_bytes", 0)
    return ProcessUse(ticks / TICKS_PER_S, memory, read, written)


def _family(ancestor: int) -> Iterator[tuple[int, list[str]]]:
    """Each process of it, with its fields of /proc/PID/stat. One that has ended counts until its parent knows of it:
    only then are its times among those of the parent's children, and else they would be gone for a moment."""
    fields: dict[int, list[str]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                found = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if found[STATE] != "X":
                    fields[int(entry)] = found
    front = [ancestor] if ancestor in fields else []
    while front:
        for pid in front:
            yield pid, fields[pid]
        front = [pid for pid, found in fields.items() if int(found[PARENT]) in front]


def _memory_bytes(pid: int) -> int:
    """The process's part of the memory that it has mapped, files not counted. Raises OSError."""
    try:
        kib = _numbers(Path(f"/proc/{pid}/smaps_rollup").read_text())
        return 1024 * (kib.get("Pss_Anon", 0) + kib.get("Pss_Shmem", 0))
    except PermissionError:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _numbers(text: str) -> dict[str, int]:
    """The first number behind each name of lines such as "Pss_Anon:  1200 kB"."""
    lines = (line.split() for line in text.splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}
