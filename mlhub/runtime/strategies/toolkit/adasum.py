# SPDX-License-Identifier: Apache-2.0
"""Adasum: a sum of gradients that counts their common part once. Source: Maleki et al., MLSys '21; Horovod.

    (1 - a.b / 2 a.a) a + (1 - a.b / 2 b.b) b        the mean of equal ones, the sum of orthogonal ones

Each parameter is combined separately, pair by pair along a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

PairExchange = Callable[[Tensor, int], Tensor]


def combine(first: Tensor, second: Tensor, sizes: Sequence[int]) -> Tensor:
    """Combines two gradients of shape (n,), all parameters one after the other. sizes: elements of each parameter."""
    pieces = zip(torch.split(first, list(sizes)), torch.split(second, list(sizes)), strict=True)
    return torch.cat([_pair(a, b) for a, b in pieces])


def _pair(a: Tensor, b: Tensor) -> Tensor:
    dot, of_a, of_b = (float(torch.dot(x.double(), y.double())) for x, y in ((a, b), (a, a), (b, b)))
    return a * (1.0 - dot / (2.0 * of_a) if of_a else 1.0) + b * (1.0 - dot / (2.0 * of_b) if of_b else 1.0)


def adasum(
    gradient: Tensor, sizes: Sequence[int], *, rank: int, n_workers: int, exchange: PairExchange | None = None
) -> float:
    """In place, the same to the bit on every worker; returns the bytes that this one sent.

    Workers beyond the largest power of two give received to another before, and are loss_sum the result.
    exchange: sends a vector to a peer and returns the peer's; by default over the process group.
    """
    swap = exchange or _swap
    tree = 1 << (n_workers.bit_length() - 1)
    n_messages = 0
    if rank >= tree:
        swap(gradient, rank - tree)
        gradient.copy_(swap(gradient, rank - tree))
        return 2.0 * gradient.nbytes
    if rank + tree < n_workers:
        gradient.copy_(combine(gradient, swap(gradient, rank + tree), sizes))
        n_messages += 1
    hop = 1
    while hop < tree:
        received = swap(gradient, rank ^ hop)
        # the lower rank's comes first, so that both compute the same
        low, high = (gradient, received) if rank & hop == 0 else (received, gradient)
        gradient.copy_(combine(low, high, sizes))
        hop, n_messages = 2 * hop, n_messages + 1
    if rank + tree < n_workers:
        swap(gradient, rank + tree)
        n_messages += 1
    return float(n_messages * gradient.nbytes)


def _swap(own: Tensor, peer: int) -> Tensor:
    received = torch.empty_like(own)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, own, peer), dist.P2POp(dist.irecv, received, peer)]):
        work.wait()
    return received
