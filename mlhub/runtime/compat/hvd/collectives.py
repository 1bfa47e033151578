# SPDX-License-Identifier: Apache-2.0
"""Horovod's other collective operations, on tensors and objects. Every worker calls them in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mlhub.runtime.compat.hvd import primitives
from mlhub.runtime.compat.hvd.handles import Handle, Together
from mlhub.runtime.compat.hvd.process_sets import ProcessSet, global_process_set


def allgather(tensor: Tensor, name: str | None = None, process_set: ProcessSet = global_process_set) -> Tensor:
    """One after the other along the first dimension, which alone may differ between workers; none of who has joined."""
    process_set.check()
    tensor = tensor.detach() if tensor.dim() else tensor.detach().reshape(1)
    if process_set.size() == 1:
        return tensor.clone()
    n_own = torch.tensor([tensor.shape[0]], device=tensor.device)
    rows = [int(n) for n in _all_of(n_own, process_set, name and f"{name}.rows")]
    room = tensor.new_zeros(max(rows), *tensor.shape[1:])
    room[: tensor.shape[0]] = tensor
    return torch.cat([each[:n] for each, n in zip(_all_of(room, process_set, name), rows, strict=True)])


def allgather_async(tensor: Tensor, name: str | None = None, process_set: ProcessSet = global_process_set) -> Handle:
    """Done when it returns: how many rows there are must be known before they can be sent."""
    found = allgather(tensor, name, process_set)
    return Handle((), lambda: found)


def grouped_allgather(
    tensors: Sequence[Tensor], name: str | None = None, process_set: ProcessSet = global_process_set
) -> list[Tensor]:
    return [allgather(tensor, name and f"{name}.{i}", process_set) for i, tensor in enumerate(tensors)]


def grouped_allgather_async(tensors: Sequence[Tensor], *given: Any, **more: Any) -> Handle:
    return Together([allgather_async(tensor, *given, **more) for tensor in tensors])


def allgather_object(obj: Any, name: str | None = None, process_set: ProcessSet = global_process_set) -> list[Any]:
    """Returns the objects of all workers of the set, ordered by rank."""
    process_set.check()
    out: list[Any] = [obj] * process_set.size()
    if process_set.size() > 1:
        primitives.other(
            "all_gather_object", lambda: dist.all_gather_object(out, obj, process_set.group), process_set, name=name
        )
    return out


def broadcast_async_(
    tensor: Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """root_rank: of all workers' ranks, also within a process set. Raises ValueError for a root outside of the set."""
    process_set.check()
    if root_rank not in process_set.ranks:
        raise ValueError(f"The root {root_rank} is not in {process_set}.")
    if process_set.size() == 1:
        return Handle((), lambda: tensor)
    sent = tensor.detach().contiguous()
    started = primitives.broadcast(sent, root_rank, process_set, name=name)

    def finish() -> Tensor:
        tensor.detach().copy_(sent)
        return tensor

    return Handle([started], finish)


def broadcast_async(tensor: Tensor, *given: Any, **more: Any) -> Handle:
    return broadcast_async_(tensor.detach().clone(), *given, **more)


def broadcast_(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    out: Tensor = broadcast_async_(tensor, *given, **more).wait()
    return out


def broadcast(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    """(tensor, root_rank, name, process_set)"""
    out: Tensor = broadcast_async(tensor, *given, **more).wait()
    return out


def broadcast_object(
    obj: Any = None, root_rank: int = 0, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    process_set.check()
    room = [obj]
    if process_set.size() > 1:
        primitives.other(
            "broadcast_object",
            lambda: dist.broadcast_object_list(room, root_rank, group=process_set.group),
            process_set,
            name=name,
        )
    return room[0]


def alltoall(
    tensor: Tensor, splits: Tensor | None = None, name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Any:  # fmt: skip
    """To each worker its rows, `splits` of them or as many for each; what came, and with splits how much from whom.

    Raises ValueError when rows cannot be divided so.
    """
    process_set.check()
    n, me = process_set.size(), process_set.rank()
    if splits is None and tensor.shape[0] % n:
        raise ValueError(f"{tensor.shape[0]} rows cannot be divided over {n} workers: give splits.")
    sent = [tensor.shape[0] // n] * n if splits is None else [int(s) for s in splits]
    if len(sent) != n or sum(sent) != tensor.shape[0]:
        raise ValueError(f"The splits {sent} do not divide {tensor.shape[0]} rows over {n} workers.")
    came = [row[me] for row in allgather_object(sent, process_set=process_set)]
    out, given = tensor.new_empty(sum(came), *tensor.shape[1:]), tensor.detach().contiguous()
    if n == 1:
        out.copy_(given)
    else:
        primitives.other(
            "all_to_all",
            lambda: dist.all_to_all_single(out, given, came, sent, group=process_set.group),
            process_set,
            name=name,
        )
    return out if splits is None else (out, torch.tensor(came))


def alltoall_async(tensor: Tensor, *given: Any, **more: Any) -> Handle:
    """Done when it returns."""
    found = alltoall(tensor, *given, **more)
    return Handle((), lambda: found)


def barrier(process_set: ProcessSet = global_process_set) -> None:
    process_set.check()
    if process_set.size() > 1:
        primitives.barrier(process_set).wait()


def join(device: int = -1) -> int:  # noqa: ARG001 (the device is torch's)
    """This worker has no more data: it takes part with zeros in what the others do, until all have joined.

    Returns the rank that joined last. Others may sum, average, gather, broadcast and wait for each other.
    """
    global_process_set.check()
    attendance = global_process_set.attendance
    if attendance is None:
        return global_process_set.rank()
    attendance.join()
    while True:
        call = attendance.next_call()
        if call.kind == "end":
            return call.last
        primitives.take_part(call)


def _all_of(tensor: Tensor, process_set: ProcessSet, name: str | None) -> list[Tensor]:
    out = [torch.empty_like(tensor) for _ in process_set.ranks]
    primitives.all_gather(out, tensor.contiguous(), process_set, name=name).wait()
    return out
