# SPDX-License-Identifier: Apache-2.0
"""Horovod's reductions: of one tensor, of several at once, of sparse ones; by all workers in the same order."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.hvd import primitives
from mlhub.runtime.compat.hvd.collectives import allgather
from mlhub.runtime.compat.hvd.compression import Compression, Compressor
from mlhub.runtime.compat.hvd.handles import Handle, Together
from mlhub.runtime.compat.hvd.process_sets import ProcessSet, global_process_set
from mlhub.runtime.strategies.toolkit.adasum import adasum


class ReduceOp(enum.Enum):
    """AVERAGE: over all of the set, those that have joined with zeros, as Horovod does it. AVERAGE_OF_PRESENT is not
    Horovod's: over those that have not joined."""

    AVERAGE = "average"
    SUM = "sum"
    ADASUM = "adasum"
    MIN = "min"
    MAX = "max"
    PRODUCT = "product"
    AVERAGE_OF_PRESENT = "average of present"


Average, Sum, Adasum = ReduceOp.AVERAGE, ReduceOp.SUM, ReduceOp.ADASUM
Min, Max, Product = ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT
AverageOfPresent = ReduceOp.AVERAGE_OF_PRESENT
FRACTIONS = (Average, AverageOfPresent, Adasum)


def allreduce_async_(
    tensor: Tensor, average: bool | None = None, name: str | None = None, op: ReduceOp | None = None,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set,
    compression: type[Compressor] = Compression.none,
) -> Handle:  # fmt: skip
    """In place. average: Horovod's older word for op. Raises ValueError for an average of whole numbers."""
    process_set.check()
    found = op or (Sum if average is False else Average)
    if found in FRACTIONS and not tensor.is_floating_point():
        raise ValueError(f"{found.value} of {tensor.dtype} is no whole number: use op=hvd.Sum.")
    sent, context = compression.compress(tensor if prescale_factor == 1.0 else tensor * prescale_factor)
    flat = sent.detach().reshape(-1)
    if found is AverageOfPresent:
        flat = torch.cat([flat, flat.new_ones(1)])  # the last element counts who is there
    elif flat.data_ptr() == tensor.data_ptr():
        flat = flat.clone()
    parts = []
    if process_set.size() > 1 and found is Adasum:
        _adasum(flat, process_set, name)
    elif process_set.size() > 1:
        reduction = "sum" if found in FRACTIONS else found.value
        parts.append(primitives.all_reduce(flat, reduction, process_set, name=name))

    def finish() -> Tensor:
        out, factor = flat, postscale_factor
        if found is AverageOfPresent:
            out, factor = flat[:-1], factor / max(1.0, float(flat[-1]))
        elif found is Average:
            factor /= process_set.size()
        out = compression.decompress(out.view(sent.shape), context)
        tensor.detach().copy_(out if factor == 1.0 else out * factor)
        return tensor

    return Handle(parts, finish)


def allreduce_async(tensor: Tensor, *given: Any, **more: Any) -> Handle:
    """Reduces as allreduce_async_ does, into a new tensor."""
    return allreduce_async_(tensor.detach().clone(), *given, **more)


def allreduce_(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    out: Tensor = allreduce_async_(tensor, *given, **more).wait()
    return out


def allreduce(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    """(tensor, average, name, op, prescale_factor, postscale_factor, process_set, compression): the mean over workers,
    unless op. A sparse tensor's is sparse: its indices and values are gathered."""
    if tensor.is_sparse:
        return _sparse(tensor, *given, **more).wait()  # type: ignore[no-any-return]
    out: Tensor = allreduce_async(tensor, *given, **more).wait()
    return out


def sparse_allreduce_async(
    tensor: Tensor, name: str | None, op: ReduceOp = Average, process_set: ProcessSet = global_process_set
) -> Handle:
    """A sparse tensor, not coalesced: rows that several workers name are there several times, as all their parts.

    Raises ValueError for anything but averages and sums.
    """
    if op not in (Average, Sum):
        raise ValueError(f"{op.value} of a sparse tensor does not exist: use hvd.Average, hvd.Sum or sparse_as_dense.")
    own = tensor.coalesce()
    indices = allgather(own.indices().t().contiguous(), name=f"{name}.indices", process_set=process_set)
    values = allgather(own.values(), name=f"{name}.values", process_set=process_set)
    if op is Average:
        values = values / process_set.size()
    found = torch.sparse_coo_tensor(indices.t(), values, tensor.shape)
    return Handle((), lambda: found)


def grouped_allreduce_async_(tensors: Sequence[Tensor], *given: Any, **more: Any) -> Handle:
    """All at once: none is waited for before the last has begun."""
    return Together([allreduce_async_(tensor, *given, **more) for tensor in tensors])


def grouped_allreduce_async(tensors: Sequence[Tensor], *given: Any, **more: Any) -> Handle:
    return Together([allreduce_async(tensor, *given, **more) for tensor in tensors])


def grouped_allreduce_(tensors: Sequence[Tensor], *given: Any, **more: Any) -> list[Tensor]:
    out: list[Tensor] = grouped_allreduce_async_(tensors, *given, **more).wait()
    return out


def grouped_allreduce(tensors: Sequence[Tensor], *given: Any, **more: Any) -> list[Tensor]:
    out: list[Tensor] = grouped_allreduce_async(tensors, *given, **more).wait()
    return out


def reducescatter_async(
    tensor: Tensor, name: str | None = None, op: ReduceOp = Average, process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
) -> Handle:  # fmt: skip
    """This worker's rows of the reduced tensor; the first workers have one more where they cannot be divided."""
    whole = allreduce_async(
        tensor, name=name, op=op, process_set=process_set,
        prescale_factor=prescale_factor, postscale_factor=postscale_factor,
    )  # fmt: skip
    return Handle((), lambda: torch.tensor_split(whole.wait(), process_set.size())[process_set.rank()].clone())


def reducescatter(tensor: Tensor, *given: Any, **more: Any) -> Tensor:
    """(tensor, name, op, process_set, prescale_factor, postscale_factor)"""
    if given and isinstance(given[0], ReduceOp):  # the order of Horovod 0.27
        given = (given[1] if len(given) > 1 else None, given[0], *given[2:])
    out: Tensor = reducescatter_async(tensor, *given, **more).wait()
    return out


def grouped_reducescatter(tensors: Sequence[Tensor], *given: Any, **more: Any) -> list[Tensor]:
    out: list[Tensor] = Together([reducescatter_async(tensor, *given, **more) for tensor in tensors]).wait()
    return out


def _sparse(
    tensor: Tensor, average: bool | None = None, name: str | None = None, op: ReduceOp | None = None,
    process_set: ProcessSet = global_process_set,
) -> Handle:  # fmt: skip
    return sparse_allreduce_async(tensor, name, op or (Sum if average is False else Average), process_set)


def _adasum(flat: Tensor, process_set: ProcessSet, name: str | None) -> None:
    if process_set is not global_process_set:
        raise ValueError("Adasum is over all workers: leave process_set out, or use hvd.Average.")
    n, me = process_set.size(), process_set.rank()
    primitives.other("adasum", lambda: adasum(flat, [flat.numel()], rank=me, n_workers=n), process_set, name=name)
