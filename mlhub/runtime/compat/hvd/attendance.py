# SPDX-License-Identifier: Apache-2.0
"""Who has come to which operation: for join(), and to name whom a gang waits for.

Every worker counts its collective operations. Nothing is published about them until a worker joins: then the others
write down what they begin, and a worker that has joined takes part with zeros. A thread looks ten times a second
whether that is so.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta

import torch.distributed as dist

from mlhub.runtime.compat.hvd.timeline import Timeline

LOOK_S = 0.1
WARN_S = 60.0
READ_S = 60.0
KEPT = 1000  # operations that may be under way when a worker joins


@dataclass(frozen=True)
class Call:
    """An operation, as far as one who only takes part needs to know it. detail: the reduction, or the root."""

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    detail: str = ""
    last: int = -1  # kind "end": the rank that joined last


@dataclass
class _Pending:
    call: Call
    label: str
    since: float
    work: dist.Work | None = None
    warned_at: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.work is not None and bool(self.work.is_completed())


class Attendance:
    """Of one process set on one worker. warn_s: how long a wait lasts before a warning is printed; 0: never."""

    def __init__(self, store: dist.Store, *, name: str, ranks: Sequence[int], rank: int, warn_s: float) -> None:
        self.ranks, self.rank = tuple(ranks), rank
        self.timeline: Timeline | None = None
        self._name, self._warn_s = name, warn_s
        self._store: dist.Store = store.clone()  # type: ignore[attr-defined]
        self._waiting_store: dist.Store = store.clone()  # type: ignore[attr-defined]
        self._waiting_store.set_timeout(timedelta(days=30))  # for those who are not done yet
        self._lock = threading.Lock()
        self._n_entered, self._round, self._n_published = 0, 0, -1
        self._is_publishing = False  # others write down what they begin
        self._log: deque[tuple[int, Call]] = deque(maxlen=KEPT)
        self._pending: dict[int, _Pending] = {}
        self._looked_at = 0.0

    def enter(self, call: Call, *, label: str) -> int:
        """An operation begins here; its number, the same on every worker."""
        with self._lock:
            serial = self._n_entered
            self._n_entered += 1
            self._log.append((serial, call))
            if len(self._pending) > KEPT:  # handles that no caller waited for
                self._pending = {s: p for s, p in self._pending.items() if not p.is_over}
            self._pending[serial] = _Pending(call, label, time.monotonic())
            if self._is_publishing:
                self._write_down(serial, call)
            return serial

    def attach(self, serial: int, work: dist.Work | None) -> None:
        with self._lock:
            self._pending[serial].work = work

    def leave(self, serial: int) -> None:
        """It is over here."""
        with self._lock:
            pending = self._pending.pop(serial, None)
        if self.timeline is not None and pending is not None:
            self.timeline.add(pending.call.kind, pending.label, began_s=pending.since, ended_s=time.monotonic())

    # Joining -----------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """From now on this worker only takes part: next_call() returns in what."""
        self._publish_all()
        self._store.set(f"{self._name}/joined/{self._round}", "1")
        if self._store.add(f"{self._name}/n_joined/{self._round}", 1) == len(self.ranks):
            with self._lock:
                self._write_down(self._n_entered, Call("end", last=self.rank))

    def next_call(self) -> Call:
        """Waits for what the others begin next; kind "end" when all have joined, and the next round begins."""
        raw = json.loads(self._waiting_store.get(f"{self._name}/call/{self._n_entered}"))
        call = Call(**{**raw, "shape": tuple(raw["shape"])})
        if call.kind == "end":
            self._wait_for_readers()
            with self._lock:
                self._n_entered += 1
                self._round += 1
                self._is_publishing = False
                self._log.clear()
        return call

    def _wait_for_readers(self) -> None:
        """The store lives in worker 0, which may be about to leave: not before all have read that this is the end."""
        key, until = f"{self._name}/n_read/{self._round}", time.monotonic() + READ_S
        n_read = self._store.add(key, 1)
        while self.rank == 0 and n_read < len(self.ranks) and time.monotonic() < until:
            time.sleep(0.001)
            n_read = self._store.add(key, 0)

    def _publish_all(self) -> None:
        with self._lock:
            self._is_publishing = True
            for serial, call in self._log:
                self._write_down(serial, call)

    def _write_down(self, serial: int, call: Call) -> None:
        self._store.set(f"{self._name}/call/{serial}", json.dumps(asdict(call)))

    # Waiting -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Looks for workers that joined, and for a wait of this worker. Raises RuntimeError when the store is gone."""
        if not self._is_publishing and self._store.check([f"{self._name}/joined/{self._round}"]):
            self._publish_all()
        now = time.monotonic()
        if not self._warn_s or now - self._looked_at < min(5.0, self._warn_s / 4):
            return
        self._looked_at = now
        with self._lock:
            n, waits = self._n_entered, [(s, p) for s, p in self._pending.items() if not p.is_over]
        if n != self._n_published:
            self._store.set(f"{self._name}/n_entered/{self.rank}", str(n))
            self._n_published = n
        for serial, pending in waits[:1]:
            if now - max(pending.since, pending.warned_at) > self._warn_s:
                self._warn(serial, pending, waited_s=now - pending.since)
                pending.warned_at = now

    def _warn(self, serial: int, pending: _Pending, *, waited_s: float) -> None:
        missing = [rank for rank in self.ranks if rank != self.rank and self._n_of(rank) <= serial]
        whom = f"rank {', '.join(map(str, missing))}" if missing else "no rank: all have begun it"
        print(
            f"hvd: rank {self.rank} has waited for {waited_s:.0f} s in {pending.call.kind} {pending.label} "
            f"(operation {serial}); missing: {whom}.",
            file=sys.stderr,
            flush=True,
        )

    def _n_of(self, rank: int) -> int:
        key = f"{self._name}/n_entered/{rank}"
        return int(self._store.get(key)) if self._store.check([key]) else 0


class AttendanceWatch(threading.Thread):
    """Looks for all process sets of this worker, until end()."""

    def __init__(self) -> None:
        super().__init__(name="hvd attendance", daemon=True)
        self.watched: list[Attendance] = []
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(LOOK_S):
            with suppress(RuntimeError):  # the store's host has left before: no worker will join any more
                for attendance in list(self.watched):
                    attendance.look()

    def end(self) -> None:
        self._over.set()
        self.join()


def warn_s_of_environment() -> float:
    """Horovod's own variables: HOROVOD_STALL_CHECK_DISABLE, HOROVOD_STALL_CHECK_TIME_SECONDS (60)."""
    if os.environ.get("HOROVOD_STALL_CHECK_DISABLE", "0") not in ("", "0"):
        return 0.0
    return float(os.environ.get("HOROVOD_STALL_CHECK_TIME_SECONDS", WARN_S))
