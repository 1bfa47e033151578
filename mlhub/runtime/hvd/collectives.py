"""Horovod's collective operations on tensors and objects. Every worker must call them in the same order."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from mlhub.runtime.hvd.world import rank, size
from mlhub.runtime.strategies.adasum import adasum


class ReduceOp(enum.Enum):
    AVERAGE = "average"
    SUM = "sum"
    ADASUM = "adasum"
    MIN = "min"
    MAX = "max"
    PRODUCT = "product"


Average, Sum, Adasum = ReduceOp.AVERAGE, ReduceOp.SUM, ReduceOp.ADASUM
Min, Max, Product = ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT
_TORCH = {
    Average: dist.ReduceOp.SUM, Sum: dist.ReduceOp.SUM, Min: dist.ReduceOp.MIN, Max: dist.ReduceOp.MAX,
    Product: dist.ReduceOp.PRODUCT,
}  # fmt: skip


class Compressor(Protocol):
    """How a tensor travels: compress() tells what decompress() needs to undo it."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]: ...

    @staticmethod
    def decompress(tensor: Tensor, context: torch.dtype) -> Tensor: ...


class _AsItIs:
    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
        return tensor, tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: torch.dtype) -> Tensor:  # noqa: ARG004
        return tensor


class _Half:
    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: torch.dtype) -> Tensor:
        return tensor.to(context)


class Compression:
    none: type[Compressor] = _AsItIs
    fp16: type[Compressor] = _Half


class Handle:
    """An operation under way."""

    def __init__(self, work: dist.Work | None, finish: functools.partial[Tensor]) -> None:
        self._work, self._finish = work, finish
        self._result: Tensor | None = None

    def is_done(self) -> bool:
        return self._result is not None or self._work is None or bool(self._work.is_completed())

    def wait(self) -> Tensor:
        if self._result is None:
            if self._work is not None:
                self._work.wait()
            self._result = self._finish()
        return self._result


def poll(handle: Handle) -> bool:
    """Whether synchronize() would not wait."""
    return handle.is_done()


def synchronize(handle: Handle) -> Tensor:
    """Waits; returns the operation's tensor."""
    return handle.wait()


def allreduce_async_(
    tensor: Tensor, average: bool | None = None, name: str | None = None, op: ReduceOp | None = None,  # noqa: ARG001
    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
    compression: type[Compressor] = Compression.none,
) -> Handle:  # fmt: skip
    """In place. average: Horovod's older word for op. Raises ValueError for an average of whole numbers."""
    found = op or (Sum if average is False else Average)
    if found in (Average, Adasum) and not tensor.is_floating_point():
        raise ValueError(f"{found.value} of {tensor.dtype} is no whole number: use op=hvd.Sum.")
    travelling, context = compression.compress(tensor if prescale_factor == 1.0 else tensor * prescale_factor)
    travelling = travelling.contiguous() if travelling is not tensor else tensor.detach().clone()
    work = None
    if size() > 1 and found is Adasum:
        flat = travelling.reshape(-1)
        adasum(flat, [flat.numel()], rank=rank(), n_workers=size())
        travelling = flat.view_as(travelling)
    elif size() > 1:
        work = dist.all_reduce(travelling, _TORCH[found], async_op=True)
    factor = postscale_factor / (size() if found is Average else 1)

    def finish() -> Tensor:
        out = compression.decompress(travelling, context)
        tensor.detach().copy_(out if factor == 1.0 else out * factor)
        return tensor

    return Handle(work, functools.partial(finish))


def allreduce_async(tensor: Tensor, *given: Any, **more: Any) -> Handle:
    """As allreduce_async_, into a tensor of its own."""
    return allreduce_async_(tensor.detach().clone(), *given, **more)


def allreduce_(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    return allreduce_async_(tensor, *given, **more).wait()


def allreduce(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    """(tensor, average, name, op, prescale_factor, postscale_factor, compression): the mean over workers, unless op."""
    return allreduce_async(tensor, *given, **more).wait()


def grouped_allreduce(tensors: Sequence[Tensor], *given: Any, **more: Any) -> list[Tensor]:
    """All at once: none is waited for before the last has begun."""
    return [handle.wait() for handle in [allreduce_async(tensor, *given, **more) for tensor in tensors]]


def allgather(tensor: Tensor, name: str | None = None) -> Tensor:  # noqa: ARG001
    """One after the other along the first dimension, which alone may differ between workers."""
    if size() == 1:
        return tensor.clone()
    rows = [int(n) for n in _all_of(torch.tensor([tensor.shape[0]], device=tensor.device))]
    room = tensor.new_zeros(max(rows), *tensor.shape[1:])
    room[: tensor.shape[0]] = tensor
    return torch.cat([each[:n] for each, n in zip(_all_of(room), rows, strict=True)])


def allgather_object(obj: Any, name: str | None = None) -> list[Any]:  # noqa: ARG001
    """By rank."""
    out: list[Any] = [obj] * size()
    if size() > 1:
        dist.all_gather_object(out, obj)
    return out


def broadcast_(tensor: Tensor, root_rank: int, name: str | None = None) -> Tensor:  # noqa: ARG001
    if size() > 1:
        sent = tensor.detach().contiguous()
        dist.broadcast(sent, root_rank)
        tensor.detach().copy_(sent)
    return tensor


def broadcast(tensor: Tensor, root_rank: int, name: str | None = None) -> Tensor:
    return broadcast_(tensor.detach().clone(), root_rank, name)


def broadcast_object(obj: Any = None, root_rank: int = 0, name: str | None = None) -> Any:  # noqa: ARG001
    room = [obj]
    if size() > 1:
        dist.broadcast_object_list(room, root_rank)
    return room[0]


def alltoall(tensor: Tensor, splits: Tensor | None = None, name: str | None = None) -> Any:  # noqa: ARG001
    """To each worker its rows, `splits` of them or as many for each; what came, and with splits how much from whom.

    Raises ValueError when rows cannot be divided so.
    """
    n = size()
    if splits is None and tensor.shape[0] % n:
        raise ValueError(f"{tensor.shape[0]} rows cannot be divided over {n} workers: give splits.")
    sent = [tensor.shape[0] // n] * n if splits is None else [int(s) for s in splits]
    if len(sent) != n or sum(sent) != tensor.shape[0]:
        raise ValueError(f"The splits {sent} do not divide {tensor.shape[0]} rows over {n} workers.")
    came = [row[rank()] for row in allgather_object(sent)]
    out = tensor.new_empty(sum(came), *tensor.shape[1:])
    if n == 1:
        out.copy_(tensor)
    else:
        dist.all_to_all_single(out, tensor.contiguous(), came, sent)
    return out if splits is None else (out, torch.tensor(came))


def reducescatter(tensor: Tensor, op: ReduceOp = Average, name: str | None = None) -> Tensor:
    """This worker's rows of the reduced tensor; the first workers have one more where they cannot be divided."""
    whole = allreduce(tensor, name=name, op=op)
    return torch.tensor_split(whole, size())[rank()].clone()


def barrier() -> None:
    if size() > 1:
        dist.barrier()


def _all_of(tensor: Tensor) -> list[Tensor]:
    out = [torch.empty_like(tensor) for _ in range(size())]
    dist.all_gather(out, tensor.contiguous())
    return out
