# SPDX-License-Identifier: Apache-2.0
"""Horovod's collective operations as steps of a model: gradients go back through them, by another such operation.

The gradient of a mean over workers is the mean of theirs; of gathered rows, each worker's own rows of the sum; of
a broadcast, the sum at the root; of all-to-all, all-to-all the other way. Every worker must go back through them alike.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.hvd import collectives, reductions
from mlhub.runtime.compat.hvd.process_sets import ProcessSet, global_process_set
from mlhub.runtime.compat.hvd.reductions import Sum


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, given: tuple[Any, ...], more: dict[str, Any]) -> Tensor:
        ctx.given, ctx.more = given, more
        return reductions.allreduce(tensor.detach(), *given, **more)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return reductions.allreduce(gradient.contiguous(), *ctx.given, **ctx.more), None, None


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, name: str | None, process_set: ProcessSet) -> Tensor:
        ctx.n_rows, ctx.process_set = tensor.shape[0] if tensor.dim() else 1, process_set
        ctx.shape = tensor.shape
        return collectives.allgather(tensor, name, process_set)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        process_set = ctx.process_set
        total = reductions.allreduce(gradient.contiguous(), op=Sum, process_set=process_set)
        rows = collectives.allgather(torch.tensor([ctx.n_rows]), process_set=process_set).tolist()
        first = sum(rows[: process_set.rank()])
        return total[first : first + ctx.n_rows].view(ctx.shape), None, None


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, root: int, name: str | None, process_set: ProcessSet) -> Tensor:
        ctx.is_root, ctx.process_set = process_set.ranks[process_set.rank()] == root, process_set
        return collectives.broadcast(tensor, root, name, process_set)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        total = reductions.allreduce(gradient.contiguous(), op=Sum, process_set=ctx.process_set)
        return total if ctx.is_root else torch.zeros_like(total), None, None, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, tensor: Tensor, splits: Tensor, name: str | None, process_set: ProcessSet
    ) -> tuple[Tensor, Tensor]:
        out, came = collectives.alltoall(tensor, splits, name, process_set)
        ctx.came, ctx.process_set = came, process_set
        ctx.mark_non_differentiable(came)
        return out, came

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Any, ...]:
        back, _ = collectives.alltoall(gradient.contiguous(), ctx.came, process_set=ctx.process_set)
        return back, None, None, None


def allreduce(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    """(tensor, average, name, op, prescale_factor, postscale_factor, process_set, compression): the mean over workers,
    unless op. A sparse tensor's is sparse: its indices and values are gathered."""
    if tensor.is_sparse or not tensor.requires_grad:
        return reductions.allreduce(tensor, *given, **more)
    out: Tensor = _AllReduce.apply(tensor, given, more)  # type: ignore[no-untyped-call]
    return out


def grouped_allreduce(tensors: list[Tensor], *given: Any, **more: Any) -> list[Tensor]:
    """All at once; one after the other where gradients are to go back."""
    if any(tensor.requires_grad for tensor in tensors):
        return [allreduce(tensor, *given, **more) for tensor in tensors]
    return reductions.grouped_allreduce(tensors, *given, **more)


def allgather(tensor: Tensor, name: str | None = None, process_set: ProcessSet = global_process_set) -> Tensor:
    """One after the other along the first dimension, which alone may differ between workers; none of who has joined."""
    if not tensor.requires_grad:
        return collectives.allgather(tensor, name, process_set)
    out: Tensor = _AllGather.apply(tensor, name, process_set)  # type: ignore[no-untyped-call]
    return out


def broadcast(
    tensor: Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Tensor:
    """root_rank: of all workers' ranks, also within a process set."""
    if not tensor.requires_grad:
        return collectives.broadcast(tensor, root_rank, name, process_set)
    out: Tensor = _Broadcast.apply(tensor, root_rank, name, process_set)  # type: ignore[no-untyped-call]
    return out


def alltoall(
    tensor: Tensor, splits: Tensor | None = None, name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Any:  # fmt: skip
    """To each worker its rows, `splits` of them or as many for each; what came, and with splits how much from whom.

    Raises ValueError when rows cannot be divided so.
    """
    n = process_set.size()
    if not tensor.requires_grad or (splits is None and tensor.shape[0] % n):
        return collectives.alltoall(tensor, splits, name, process_set)
    each = torch.full((n,), tensor.shape[0] // n) if splits is None else splits
    out, came = _AllToAll.apply(tensor, each, name, process_set)  # type: ignore[no-untyped-call]
    return out if splits is None else (out, came)
