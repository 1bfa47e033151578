"""Adasum: a sum of gradients that takes what they have in common only once. Source: Maleki et al., MLSys '21; Horovod.

    (1 - a.b / 2 a.a) a + (1 - a.b / 2 b.b) b        equal: their mean; at right angles: their sum

Each parameter by itself, pair by pair along a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

Exchange = Callable[[Tensor, int], Tensor]


def combine(first: Tensor, second: Tensor, sizes: Sequence[int]) -> Tensor:
    """first, second: shape (n,), of all parameters one after the other; sizes: elements of each, n in sum."""
    pieces = zip(torch.split(first, list(sizes)), torch.split(second, list(sizes)), strict=True)
    return torch.cat([_pair(a, b) for a, b in pieces])


def _pair(a: Tensor, b: Tensor) -> Tensor:
    dot, of_a, of_b = (float(torch.dot(x.double(), y.double())) for x, y in ((a, b), (a, a), (b, b)))
    return a * (1.0 - dot / (2.0 * of_a) if of_a else 1.0) + b * (1.0 - dot / (2.0 * of_b) if of_b else 1.0)


def adasum(
    gradient: Tensor, sizes: Sequence[int], *, rank: int, n_workers: int, exchange: Exchange | None = None
) -> float:
    """In place, the same to the bit on every worker; returns the bytes that this one sent.

    Workers beyond the largest power of two give theirs to another before, and are loss_sum the result.
    exchange: sends a vector to a peer and returns the peer's; by default over the process group.
    """
    swap = exchange or _swap
    tree = 1 << (n_workers.bit_length() - 1)
    bytes_sent = 0
    if rank >= tree:
        swap(gradient, rank - tree)
        gradient.copy_(swap(gradient, rank - tree))
        return 2.0 * gradient.nbytes
    if rank + tree < n_workers:
        gradient.copy_(combine(gradient, swap(gradient, rank + tree), sizes))
        bytes_sent += 1
    hop = 1
    while hop < tree:
        theirs = swap(gradient, rank ^ hop)
        # the lower rank's comes first, so that both compute the same
        low, high = (gradient, theirs) if rank & hop == 0 else (theirs, gradient)
        gradient.copy_(combine(low, high, sizes))
        hop, bytes_sent = 2 * hop, bytes_sent + 1
    if rank + tree < n_workers:
        swap(gradient, rank + tree)
        bytes_sent += 1
    return float(bytes_sent * gradient.nbytes)


def _swap(mine: Tensor, peer: int) -> Tensor:
    theirs = torch.empty_like(mine)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, peer), dist.P2POp(dist.irecv, theirs, peer)]):
        work.wait()
    return theirs
