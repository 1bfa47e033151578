# SPDX-License-Identifier: Apache-2.0
"""Some of the workers, which may speak among themselves: Horovod's process sets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist

from mlhub.runtime.compat.hvd import world
from mlhub.runtime.compat.hvd.attendance import Attendance, AttendanceWatch, warn_s_of_environment
from mlhub.runtime.compat.hvd.timeline import Timeline


class ProcessSet:
    """ranks: of all its workers, sorted; a set takes part in operations once add_process_set() was called with it."""

    def __init__(self, ranks: Sequence[int] | range | None = None) -> None:
        """None: all workers."""
        self._ranks = None if ranks is None else tuple(sorted(set(map(int, ranks))))
        self.process_set_id: int | None = None
        self.group: dist.ProcessGroup | None = None  # None: torch's own of all workers
        self.attendance: Attendance | None = None  # None in a gang of one

    @property
    def ranks(self) -> list[int]:
        return list(range(world.size())) if self._ranks is None else list(self._ranks)

    def size(self) -> int:
        return len(self.ranks)

    def rank(self) -> int:
        """Of this worker within the set. Raises ValueError when it is not in it."""
        self.check()
        return self.ranks.index(world.rank())

    def included(self) -> bool:
        return world.rank() in self.ranks

    def check(self) -> None:
        """Raises ValueError when this worker cannot speak in this set."""
        if self.process_set_id is None and not (self.size() == 1 and self.included()):
            raise ValueError(f"The process set {self.ranks} was not added: call hvd.add_process_set() on every worker.")
        if not self.included():
            raise ValueError(f"Rank {world.rank()} is not in the process set {self.ranks}.")

    def __repr__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self._ranks})"


global_process_set = ProcessSet()
_sets: dict[int, ProcessSet] = {}
_watch: AttendanceWatch | None = None
_timeline: Timeline | None = None


def init(comm: Any = None, process_sets: Sequence[ProcessSet] | str | None = None) -> None:  # noqa: ARG001
    """Joins the gang of this pod; Horovod's communicator means nothing here.

    Where the script has made a process group of its own, it is used. process_sets: to add at once; sets may be added
    later whether or not this is "dynamic".
    """
    global _watch
    if global_process_set.process_set_id is not None:
        return
    world.begin()
    if world.size() > 1:
        _watch = AttendanceWatch()
        _watch.start()
    _register(global_process_set)
    if "HOROVOD_TIMELINE" in os.environ:
        start_timeline(os.environ["HOROVOD_TIMELINE"])
    for process_set in process_sets if isinstance(process_sets, Sequence) and process_sets != "dynamic" else ():
        assert isinstance(process_set, ProcessSet)
        add_process_set(process_set)


def shutdown() -> None:
    global _watch
    stop_timeline()
    if _watch is not None:
        _watch.end()
        _watch = None
    for process_set in _sets.values():
        process_set.process_set_id = process_set.group = process_set.attendance = None
    _sets.clear()
    world.end()


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Called by all workers alike, also those that are not in it. Raises ValueError for ranks that do not exist, and
    for a set that is there already."""
    added = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    if not added.ranks or not set(added.ranks) <= set(range(world.size())):
        raise ValueError(f"The process set {added.ranks} names ranks that are not among the {world.size()} workers.")
    if any(added.ranks == known.ranks for known in _sets.values()):
        raise ValueError(f"A process set {added.ranks} was added already.")
    if world.size() > 1:
        added.group = dist.new_group(added.ranks)
    _register(added)
    return added


def remove_process_set(process_set: ProcessSet) -> bool:
    """Called by all workers alike. False when it is none that could be removed."""
    found = process_set.process_set_id
    if not found or _sets.get(found) is not process_set:
        return False
    del _sets[found]
    if _watch is not None and process_set.attendance in _watch.watched:
        _watch.watched.remove(process_set.attendance)
    if process_set.group is not None and process_set.included():
        dist.destroy_process_group(process_set.group)
    process_set.process_set_id = process_set.group = process_set.attendance = None
    return True


def get_process_set_ids_and_ranks() -> dict[int, list[int]]:
    return {found: process_set.ranks for found, process_set in _sets.items()}


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:  # noqa: ARG001 (there are no cycles here)
    """Rank 0 writes its operations to the file from now on, until stop_timeline(). Raises OSError."""
    global _timeline
    stop_timeline()
    if world.rank() == 0 and world.size() > 1:
        _timeline = Timeline(Path(file_path), rank=0)
        for process_set in _sets.values():
            if process_set.attendance is not None:
                process_set.attendance.timeline = _timeline


def stop_timeline() -> None:
    global _timeline
    if _timeline is not None:
        for process_set in _sets.values():
            if process_set.attendance is not None:
                process_set.attendance.timeline = None
        _timeline.close()
        _timeline = None


def _register(process_set: ProcessSet) -> None:
    process_set.process_set_id = max(_sets, default=-1) + 1
    _sets[process_set.process_set_id] = process_set
    if _watch is None or not process_set.included():
        return
    process_set.attendance = Attendance(
        dist.distributed_c10d._get_default_store(),
        name=f"hvd/{process_set.process_set_id}",
        ranks=process_set.ranks,
        rank=world.rank(),
        warn_s=warn_s_of_environment(),
    )
    process_set.attendance.timeline = _timeline
    _watch.watched.append(process_set.attendance)
