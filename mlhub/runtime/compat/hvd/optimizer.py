# SPDX-License-Identifier: Apache-2.0
"""Horovod's DistributedOptimizer: any torch optimiser, whose gradients are reduced over workers before it steps.

Gradients are reduced in buckets while backward goes on, the last layers' first, in the same order everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.compat.hvd.collectives import broadcast_, broadcast_object
from mlhub.runtime.compat.hvd.compression import Compression, Compressor
from mlhub.runtime.compat.hvd.handles import Handle
from mlhub.runtime.compat.hvd.process_sets import ProcessSet, global_process_set
from mlhub.runtime.compat.hvd.reductions import (
    Adasum,
    Average,
    ReduceOp,
    Sum,
    allreduce_,
    allreduce_async_,
    sparse_allreduce_async,
)

BUCKET_BYTES = 25 * 2**20


class Buckets:
    """Gradients under way. Adasum takes each parameter by itself, so that its buckets are of one.

    At the first step workers report to each other whose gradients are sparse, so that all treat them alike: those are
    gathered row by row, unless sparse_as_dense.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], *, op: ReduceOp, compression: type[Compressor], n_passes: int,
        predivide: float, sparse_as_dense: bool, process_set: ProcessSet,
    ) -> None:  # fmt: skip
        self._parameters, self._op, self._compression, self._n_passes = list(parameters), op, compression, n_passes
        self._before, self._after = (1.0 / predivide, predivide) if op is Average else (1.0, 1.0)
        self._sparse_as_dense, self._set = sparse_as_dense, process_set
        self._buckets: list[list[nn.Parameter]] | None = None
        self._sparse: list[nn.Parameter] = []
        self._passes = {id(p): 0 for p in parameters}
        self._under_way: list[tuple[Handle, Tensor]] = []
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._is_ready)  # type: ignore[no-untyped-call]

    @property
    def has_news(self) -> bool:
        """Whether backward was called since the last time that all were reduced."""
        return any(self._passes.values())

    def reduce(self) -> None:
        """Starts what has not started, waits, and leaves in every parameter's gradient what all have together."""
        buckets = self._agreed() if self._buckets is None else self._buckets
        while len(self._under_way) < len(buckets):
            self._start(buckets[len(self._under_way)])
        for parameter in self._sparse:
            self._gather(parameter)
        for bucket, (handle, flat) in zip(buckets, self._under_way, strict=True):
            handle.wait()
            pieces = torch.split(flat, [p.numel() for p in bucket])
            for parameter, piece in zip(bucket, pieces, strict=True):
                if parameter.grad is None or parameter.grad.is_sparse:  # not used here, but maybe by others
                    parameter.grad = torch.empty_like(parameter)
                parameter.grad.copy_(piece.view_as(parameter))
        self._under_way = []
        self._passes = dict.fromkeys(self._passes, 0)

    def _agreed(self) -> list[list[nn.Parameter]]:
        """The buckets: of those parameters that have no sparse gradient on any worker."""
        is_sparse = [float(p.grad is not None and p.grad.is_sparse) for p in self._parameters]
        if not self._sparse_as_dense:
            sparse_flags = torch.tensor(is_sparse, device=self._parameters[0].device)
            is_sparse = allreduce_(sparse_flags, op=Sum, name="sparse gradients", process_set=self._set).tolist()
            self._sparse = [p for p, found in zip(self._parameters, is_sparse, strict=True) if found]
        sparse_ids = {id(p) for p in self._sparse}
        dense = [p for p in self._parameters if id(p) not in sparse_ids]
        self._buckets = list(_bucketed(dense, limit=0 if self._op is Adasum else BUCKET_BYTES))
        return self._buckets

    def _is_ready(self, parameter: Tensor) -> None:
        passes = self._passes[id(parameter)] = self._passes[id(parameter)] + 1
        if passes > self._n_passes:
            raise RuntimeError(
                f"Gradients were computed {passes} times before optimizer.step(), and backward_passes_per_step is "
                f"{self._n_passes}: raise it, or step more often."
            )
        buckets = self._buckets or []
        while len(self._under_way) < len(buckets) and self._is_complete(buckets[len(self._under_way)]):
            self._start(buckets[len(self._under_way)])

    def _is_complete(self, bucket: Sequence[nn.Parameter]) -> bool:
        return all(self._passes[id(p)] == self._n_passes for p in bucket)

    def _start(self, bucket: Sequence[nn.Parameter]) -> None:
        flat = torch.cat([_dense(p).reshape(-1) for p in bucket])
        handle = allreduce_async_(
            flat, name=f"gradients {len(self._under_way)}", op=self._op, prescale_factor=self._before,
            postscale_factor=self._after, process_set=self._set, compression=self._compression,
        )  # fmt: skip
        self._under_way.append((handle, flat))

    def _gather(self, parameter: nn.Parameter) -> None:
        own = parameter.grad
        if own is None:  # not used here: no rows
            own = torch.zeros_like(parameter).to_sparse(1)
        elif not own.is_sparse:
            own = own.to_sparse(1)
        parameter.grad = sparse_allreduce_async(own, "rows", self._op, self._set).wait()


class _Distributed(torch.optim.Optimizer):
    """What DistributedOptimizer() puts before an optimiser's own class; buckets is None in a gang of one."""

    _buckets: Buckets | None
    _is_skipping: bool

    def synchronize(self) -> None:
        """Reduces gradients now, to clip them, say; then step within skip_synchronize()."""
        if self._buckets is not None:
            self._buckets.reduce()

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        self._is_skipping = True
        try:
            yield
        finally:
            self._is_skipping = False

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """With a closure it is called once, before gradients are reduced."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._buckets is not None and not self._is_skipping and self._buckets.has_news:
            self._buckets.reduce()
        super().step()
        return loss


def DistributedOptimizer(  # noqa: N802 (Horovod's name)
    optimizer: torch.optim.Optimizer, named_parameters: Iterable[tuple[str, nn.Parameter]] | None = None,
    compression: type[Compressor] = Compression.none, backward_passes_per_step: int = 1, op: ReduceOp = Average,
    gradient_predivide_factor: float = 1.0, num_groups: int = 0, groups: Any = None,  # noqa: ARG001 (buckets are ours)
    sparse_as_dense: bool = False, process_set: ProcessSet = global_process_set,
) -> torch.optim.Optimizer:  # fmt: skip
    """The same optimiser, still of its class, whose step() first reduces gradients over workers.

    backward_passes_per_step: gradients are summed over so many backward passes before. gradient_predivide_factor: an
    average's division is done in two halves, before and after. sparse_as_dense: sparse gradients are made dense; else
    their rows are gathered. process_set: who reduces together. Raises ValueError for names that are not unique or that
    leave a parameter out, for values below 1, and for a predivision of anything but an average.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if named_parameters is not None:
        named = list(named_parameters)
        if len({name for name, _ in named}) < len(named):
            raise ValueError("named_parameters has one name twice: names must be unique.")
        if {id(p) for p in parameters} - {id(p) for _, p in named}:
            raise ValueError("named_parameters lacks parameters of the optimizer: give all, or none.")
    if backward_passes_per_step < 1:
        raise ValueError(f"backward_passes_per_step is {backward_passes_per_step}: give at least 1.")
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("gradient_predivide_factor goes with op=hvd.Average only.")
    kind = type(optimizer)
    optimizer.__dict__.pop("step", None)  # a schedule that was made before has wrapped the old one
    optimizer.__class__ = type(kind.__name__, (_Distributed, kind), {})
    assert isinstance(optimizer, _Distributed)
    optimizer._is_skipping = False
    optimizer._buckets = None
    if process_set.size() > 1 and process_set.included():
        optimizer._buckets = Buckets(
            parameters, op=op, compression=compression, n_passes=backward_passes_per_step,
            predivide=gradient_predivide_factor, sparse_as_dense=sparse_as_dense, process_set=process_set,
        )  # fmt: skip
    return optimizer


def broadcast_parameters(
    params: Mapping[str, Any] | Iterable[tuple[str, Any]], root_rank: int,
    process_set: ProcessSet = global_process_set,
) -> None:  # fmt: skip
    """state_dict(), or named_parameters(): all workers' become the root's. What is no tensor is left as it is."""
    named = params.items() if isinstance(params, Mapping) else params
    for name, value in sorted(named, key=lambda item: item[0]):
        if isinstance(value, Tensor):
            broadcast_(value, root_rank, name, process_set)


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root_rank: int, model: Any = None,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> None:  # fmt: skip
    """All workers' state and options become the root's, whether they have state already or not."""
    state = broadcast_object(optimizer.state_dict(), root_rank, "optimizer", process_set)
    optimizer.load_state_dict(state)


def _dense(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        return torch.zeros_like(parameter, requires_grad=False)
    gradient = parameter.grad.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient


def _bucketed(parameters: Sequence[nn.Parameter], *, limit: int) -> Iterator[list[nn.Parameter]]:
    """Last first; each of one kind of number on one device, and of no more than limit bytes or one parameter."""
    bucket: list[nn.Parameter] = []
    for parameter in reversed(parameters):
        n_bytes = sum(p.nbytes for p in bucket) + parameter.nbytes
        is_alike = bucket and (bucket[0].dtype, bucket[0].device) == (parameter.dtype, parameter.device)
        if bucket and (n_bytes > limit or not is_alike):
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket
