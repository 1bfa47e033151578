"""Horovod's DistributedOptimizer: any torch optimiser, whose gradients are reduced over workers before it steps.

Gradients are reduced in buckets while backward goes on, the last layers' first, in the same order everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.hvd.collectives import (
    Adasum,
    Average,
    Compression,
    Compressor,
    Handle,
    ReduceOp,
    allreduce_async_,
    broadcast_,
    broadcast_object,
)
from mlhub.runtime.hvd.world import size

BUCKET_BYTES = 25 * 2**20


class Buckets:
    """Gradients under way. Adasum takes each parameter by itself, so that its buckets are of one."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], *,
        op: ReduceOp, compression: type[Compressor], n_passes: int, predivide: float,
    ) -> None:  # fmt: skip
        self._op, self._compression, self._n_passes = op, compression, n_passes
        self._before, self._after = (1.0 / predivide, predivide) if op is Average else (1.0, 1.0)
        self._buckets = list(_bucketed(parameters, limit=0 if op is Adasum else BUCKET_BYTES))
        self._bucket_of = {id(p): index for index, bucket in enumerate(self._buckets) for p in bucket}
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
        while len(self._under_way) < len(self._buckets):
            self._start(len(self._under_way))
        for bucket, (handle, flat) in zip(self._buckets, self._under_way, strict=True):
            handle.wait()
            pieces = torch.split(flat, [p.numel() for p in bucket])
            for parameter, piece in zip(bucket, pieces, strict=True):
                if parameter.grad is None:  # not used here, but maybe by others
                    parameter.grad = torch.empty_like(parameter)
                parameter.grad.copy_(piece.view_as(parameter))
        self._under_way = []
        self._passes = dict.fromkeys(self._passes, 0)

    def _is_ready(self, parameter: Tensor) -> None:
        passes = self._passes[id(parameter)] = self._passes[id(parameter)] + 1
        if passes > self._n_passes:
            raise RuntimeError(
                f"Gradients were computed {passes} times before optimizer.step(), and backward_passes_per_step is "
                f"{self._n_passes}: raise it, or step more often."
            )
        while len(self._under_way) < len(self._buckets) and self._is_complete(len(self._under_way)):
            self._start(len(self._under_way))

    def _is_complete(self, index: int) -> bool:
        return all(self._passes[id(p)] == self._n_passes for p in self._buckets[index])

    def _start(self, index: int) -> None:
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._buckets[index]]
        flat = torch.cat([gradient.detach().reshape(-1) for gradient in own])
        handle = allreduce_async_(
            flat, op=self._op, prescale_factor=self._before, postscale_factor=self._after,
            compression=self._compression,
        )  # fmt: skip
        self._under_way.append((handle, flat))


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
    gradient_predivide_factor: float = 1.0,
) -> torch.optim.Optimizer:  # fmt: skip
    """The same optimiser, still of its class, whose step() first reduces gradients over workers.

    backward_passes_per_step: gradients are summed over so many backward passes before. gradient_predivide_factor: an
    average's division is done in two halves, before and after. Raises ValueError for names that are not unique or that
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
    if size() > 1:
        optimizer._buckets = Buckets(
            parameters, op=op, compression=compression, n_passes=backward_passes_per_step,
            predivide=gradient_predivide_factor,
        )  # fmt: skip
    return optimizer


def broadcast_parameters(params: Mapping[str, Any] | Iterable[tuple[str, Any]], root_rank: int) -> None:
    """state_dict(), or named_parameters(): all workers' become the root's. What is no tensor is left as it is."""
    named = params.items() if isinstance(params, Mapping) else params
    for _, value in sorted(named, key=lambda item: item[0]):
        if isinstance(value, Tensor):
            broadcast_(value, root_rank)


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int, model: Any = None) -> None:  # noqa: ARG001
    """All workers' state and options become the root's, whether they have state already or not."""
    optimizer.load_state_dict(broadcast_object(optimizer.state_dict(), root_rank))


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
