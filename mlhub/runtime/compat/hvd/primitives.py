# SPDX-License-Identifier: Apache-2.0
"""torch's operations under Horovod's words, each announced to the process set's attendance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mlhub.runtime.compat.hvd.attendance import Attendance, Call
from mlhub.runtime.compat.hvd.process_sets import ProcessSet, global_process_set

REDUCTIONS: dict[str, Any] = {
    "sum": dist.ReduceOp.SUM, "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX, "product": dist.ReduceOp.PRODUCT,
}  # fmt: skip


class Started:
    """An operation under way."""

    def __init__(self, attendance: Attendance | None, serial: int, work: dist.Work | None) -> None:
        self._attendance, self._serial, self._work = attendance, serial, work

    def is_done(self) -> bool:
        return self._work is None or bool(self._work.is_completed())

    def wait(self) -> None:
        if self._work is not None:
            self._work.wait()
        if self._attendance is not None:
            self._attendance.leave(self._serial)


def all_reduce(tensor: Tensor, reduction: str, process_set: ProcessSet, *, name: str | None) -> Started:
    """In place. reduction: of REDUCTIONS."""
    call = Call("all_reduce", tuple(tensor.shape), _name_of(tensor.dtype), reduction)
    return _start(
        lambda: dist.all_reduce(tensor, REDUCTIONS[reduction], group=process_set.group, async_op=True),
        call, process_set, name,
    )  # fmt: skip


def all_gather(out: Sequence[Tensor], tensor: Tensor, process_set: ProcessSet, *, name: str | None) -> Started:
    """out: one a member, each like tensor, which is contiguous."""
    call = Call("all_gather", tuple(tensor.shape), _name_of(tensor.dtype))
    return _start(
        lambda: dist.all_gather(list(out), tensor, group=process_set.group, async_op=True), call, process_set, name
    )


def broadcast(tensor: Tensor, root: int, process_set: ProcessSet, *, name: str | None) -> Started:
    """root: of all workers' ranks. tensor: contiguous."""
    call = Call("broadcast", tuple(tensor.shape), _name_of(tensor.dtype), str(root))
    return _start(lambda: dist.broadcast(tensor, root, group=process_set.group, async_op=True), call, process_set, name)


def barrier(process_set: ProcessSet) -> Started:
    return _start(lambda: dist.barrier(process_set.group, async_op=True), Call("barrier"), process_set, None)


def other(kind: str, run: Callable[[], Any], process_set: ProcessSet, *, name: str | None) -> Any:
    """An operation that who has joined cannot take part in; waits for it. Returns what run() does."""
    attendance = process_set.attendance
    if attendance is None:
        return run()
    serial = attendance.enter(Call(kind), label=name or kind)
    try:
        return run()
    finally:
        attendance.leave(serial)


def take_part(call: Call) -> None:
    """With zeros, in what the others of all workers do. Raises ValueError for what cannot be done without data."""
    everybody = global_process_set
    if call.kind == "barrier":
        barrier(everybody).wait()
        return
    if call.kind not in ("all_reduce", "all_gather", "broadcast") or call.detail in ("min", "max", "product"):
        raise ValueError(
            f"A worker that has joined cannot take part in {call.kind} {call.detail}: make it before hvd.join()."
        )
    device = "cuda" if torch.cuda.is_available() and dist.get_backend() == "nccl" else "cpu"
    zeros = torch.zeros(call.shape, dtype=getattr(torch, call.dtype), device=device)
    if call.kind == "all_reduce":
        all_reduce(zeros, call.detail, everybody, name=None).wait()
    elif call.kind == "all_gather":
        all_gather([torch.empty_like(zeros) for _ in everybody.ranks], zeros, everybody, name=None).wait()
    else:
        if int(call.detail) == everybody.rank():
            raise ValueError(f"Rank {call.detail} has joined, and cannot broadcast: choose a root that has not.")
        broadcast(zeros, int(call.detail), everybody, name=None).wait()


def _start(begin: Callable[[], Any], call: Call, process_set: ProcessSet, name: str | None) -> Started:
    attendance = process_set.attendance
    if attendance is None:
        return Started(None, 0, begin())
    serial = attendance.enter(call, label=name or f"of shape {list(call.shape)}")
    work = begin()
    attendance.attach(serial, work)
    return Started(attendance, serial, work)


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
