# SPDX-License-Identifier: Apache-2.0
"""Communication hooks of DistributedDataParallel: compressed gradients, and Adasum.

Residuals are stored by parameter, since DDP rearranges its buckets after the first step.
"""

# No deferred annotations here: DDP looks at those of its hooks.
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from mlhub.runtime.compression.codecs import Codec, ErrorFeedback, codec_for
from mlhub.runtime.strategies.toolkit.adasum import adasum

Reduced = torch.futures.Future[Tensor]
Named = Sequence[tuple[str, nn.Parameter]]


class Hook(ABC):
    """n_bytes: sent by this worker since it was last set to 0. has_residual: what is not sent is kept."""

    has_residual = False

    def __init__(self, *, rank: int, n_workers: int) -> None:
        self.rank, self.n_workers, self.n_bytes = rank, n_workers, 0.0

    @abstractmethod
    def reduce(self, bucket: dist.GradBucket) -> Reduced:
        """Reduces all workers' gradients of the bucket to one."""

    def residuals(self) -> dict[str, Tensor]:
        """By parameter, the part of the gradients that this worker has not sent; empty without compression."""
        return {}

    def count_ring(self, n_bytes: float) -> None:
        self.n_bytes += ring_bytes(n_bytes, self.n_workers)


class HalfPrecisionHook(Hook):
    def reduce(self, bucket: dist.GradBucket) -> Reduced:
        self.count_ring(bucket.buffer().nbytes / 2)
        return default_hooks.fp16_compress_hook(_world(), bucket)


class CompressedHook(Hook):
    """Every worker sends its encoded gradient to all others, and all decode the same bytes in the same order.

    The sum of gradients is the sum of decoded ones plus the residuals.
    """

    has_residual = True

    def __init__(
        self, named: Named, codec: Codec, residuals: Mapping[str, Tensor], *,
        rank: int, n_workers: int, seed: int = 0, start: int = 0, plain_steps: int = 0,
    ) -> None:  # fmt: skip
        """start: steps that were made before. plain_steps: the first steps, which are not compressed."""
        super().__init__(rank=rank, n_workers=n_workers)
        self._plain_steps = plain_steps
        self._codec, self._seed, self._step = codec, f"{seed}/{rank}", start
        self._name = {id(p): name for name, p in named}
        self._residual_of = {name: _residual(p, residuals.get(name)) for name, p in named}

    def reduce(self, bucket: dist.GradBucket) -> Reduced:
        gradient = bucket.buffer()
        if self._step < self._plain_steps:
            self._step += bucket.is_last()
            self.count_ring(gradient.nbytes)
            return default_hooks.allreduce_hook(_world(), bucket)
        residuals = [self._residual_of[self._name[id(p)]] for p in bucket.parameters()]
        seed = f"{self._seed}/{bucket.index()}"
        feedback = ErrorFeedback(self._codec, torch.cat([o.reshape(-1) for o in residuals]), seed=seed, turn=self._step)
        payload = feedback.encode(gradient)
        self._step += bucket.is_last()
        for residual, left in zip(
            residuals, torch.split(feedback.residual, [o.numel() for o in residuals]), strict=True
        ):
            residual.copy_(left.view_as(residual))
        gathered = payload.new_empty(self.n_workers, payload.numel())
        dist.all_gather(list(gathered.unbind(0)), payload)
        gradient.zero_()
        for encoded in gathered.unbind(0):
            gradient += self._codec.decode(encoded, n=gradient.numel())
        gradient /= self.n_workers
        self.n_bytes += float(payload.numel() * (self.n_workers - 1))
        return _done(gradient)

    def residuals(self) -> dict[str, Tensor]:
        return self._residual_of


class PowerSgdHook(Hook):
    """torch's PowerSGD: each matrix as a product of two thin ones. Source: Vogels et al., NeurIPS '19."""

    has_residual = True

    def __init__(
        self, named: Named, residuals: Mapping[str, Tensor], parameters: Mapping[str, Any], *, rank: int, n_workers: int
    ) -> None:
        super().__init__(rank=rank, n_workers=n_workers)
        self._name = {id(p): name for name, p in named}
        self._residuals = residuals
        self._buckets: dict[int, list[Tensor]] = {}
        self.state = powerSGD_hook.PowerSGDState(
            None,
            matrix_approximation_rank=parameters["rank"],
            start_powerSGD_iter=10 if parameters["plain_steps"] < 0 else parameters["plain_steps"],
        )

    def reduce(self, bucket: dist.GradBucket) -> Reduced:
        if self.state.iter < self.state.start_powerSGD_iter:
            self.count_ring(bucket.buffer().nbytes)
            return powerSGD_hook.powerSGD_hook(self.state, bucket)
        index, mine = bucket.index(), bucket.parameters()
        if index not in self._buckets and self._residuals:
            restored = [_residual(p, self._residuals.get(self._name[id(p)])).reshape(-1) for p in mine]
            self.state.error_dict[index] = torch.cat(restored)
        self._buckets[index] = mine
        before = self.state.total_numel_after_compression
        # waits, so that the sums of several buckets have the same order on all workers
        reduced = powerSGD_hook.powerSGD_hook(self.state, bucket).wait()
        self.count_ring((self.state.total_numel_after_compression - before) * reduced.element_size())
        return _done(reduced)

    def residuals(self) -> dict[str, Tensor]:
        out = dict(self._residuals) if not self._buckets else {}
        for index, parameters in self._buckets.items():
            pieces = torch.split(self.state.error_dict[index], [p.numel() for p in parameters])
            out |= {self._name[id(p)]: piece.view(p.shape) for p, piece in zip(parameters, pieces, strict=True)}
        return out


class AdasumHook(Hook):
    """Gradients that agree are averaged, orthogonal ones are added."""

    def reduce(self, bucket: dist.GradBucket) -> Reduced:
        gradient, sizes = bucket.buffer(), [g.numel() for g in bucket.gradients()]
        self.n_bytes += adasum(gradient, sizes, rank=self.rank, n_workers=self.n_workers)
        return _done(gradient)


def hook_for(
    named: Named, parameters: Mapping[str, Any], residuals: Mapping[str, Tensor], *,
    rank: int, n_workers: int, seed: int = 0, start: int = 0,
) -> Hook | None:  # fmt: skip
    """The hook of a job; None: plain averages, which DDP makes with fewer copies than any hook.

    parameters: of a validated all_reduce. residuals: the mean residual of a checkpoint. seed: the job's.
    start: how many steps were made before.
    """
    if parameters["reduction"] == "adasum":
        return AdasumHook(rank=rank, n_workers=n_workers)
    if parameters["compression"] == "power_sgd":
        return PowerSgdHook(named, residuals, parameters, rank=rank, n_workers=n_workers)
    if parameters["compression"] == "fp16":
        return HalfPrecisionHook(rank=rank, n_workers=n_workers)
    codec = codec_for(parameters)
    if codec is None:
        return None
    return CompressedHook(
        named, codec, residuals, rank=rank, n_workers=n_workers, seed=seed, start=start,
        plain_steps=parameters["plain_steps"],
    )  # fmt: skip


def ring_bytes(n_bytes: float, n_workers: int) -> float:
    """The bytes that each worker sends when a ring all-reduce sums n_bytes."""
    return 2.0 * n_bytes * (n_workers - 1) / n_workers


def _residual(parameter: Tensor, saved: Tensor | None) -> Tensor:
    if saved is None:
        return torch.zeros_like(parameter, requires_grad=False)
    return saved.to(parameter.device).view(parameter.shape).clone()


def _done(value: Tensor) -> Reduced:
    future: Reduced = torch.futures.Future()
    future.set_result(value)
    return future


def _world() -> dist.ProcessGroup:
    return dist.distributed_c10d._get_default_group()
