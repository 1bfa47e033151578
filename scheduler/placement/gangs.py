# SPDX-License-Identifier: Apache-2.0
"""Places a gang of workers, all or nothing: fewest racks, then fewest nodes, then the tightest fit."""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Ints
from scheduler.api.proposal import Packing
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation
from scheduler.api.topology import NodeSnapshot
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.node_arrays import NodeArrays

NodeWorkers = tuple[NodeSnapshot, int]  # a node and how many workers go there


def place_workers(
    free: FreeResources,
    job: JobSnapshot,
    *,
    n_workers: int,
    gpu_type: str,
    near: Collection[str] = (),
    packing: Packing = Packing.TIGHT,
    n_nodes: int = 0,
    room: tuple[Ints, Ints] | None = None,
) -> tuple[NodeWorkers, ...] | None:
    """Returns where n_workers of the job go now; None if they do not all fit.

    room: capacity_by_node(), where it is known already. near: nodes to prefer among equals (those that the job is on).
    A gang never mixes GPU types. n_nodes: spread evenly over so many nodes, or as evenly as the roomiest of them allow;
    for 0 or 1:

    1. one node with room for all: the tightest, so that large holes stay large;
    2. one rack: the largest nodes first, the last workers on the tightest node that takes them;
    3. several racks, the roomiest first.
    """
    node_S, k_S = free.capacity_by_node(job, gpu_type) if room is None else room
    if int(k_S.sum()) < n_workers:
        return None
    if packing is Packing.ROOMIEST:
        return _roomiest(free.node_arrays, node_S, k_S, n_workers=n_workers)
    key_S = _tightest_first(free.node_arrays, node_S, k_S, near)
    if n_nodes > 1:
        spread = _evenly(free.node_arrays, node_S, k_S, key_S, n_workers, n_nodes)
        spread = spread or _loosely(free.node_arrays, node_S, k_S, key_S, n_workers, n_nodes)
        if spread is not None:
            return spread
    alone_S = k_S >= n_workers
    if alone_S.any():
        return ((free.node_arrays.node_N[node_S[alone_S][np.argmin(key_S[alone_S])]], n_workers),)
    rack_S = free.node_arrays.rack_N[node_S]
    rack = _best_rack(free.node_arrays, node_S, k_S, n_workers=n_workers, near=near)
    chosen_S = rack_S == rack if rack is not None else _roomiest_racks(rack_S, k_S, n_workers=n_workers)
    each = zip(node_S[chosen_S].tolist(), k_S[chosen_S].tolist(), strict=True)
    node_workers = [(free.node_arrays.node_N[i], k) for i, k in each]
    return fill(node_workers, n_workers=n_workers, near=near)


def place_on(
    free: FreeResources, job: JobSnapshot, requested: tuple[tuple[str, int], ...]
) -> tuple[NodeWorkers, ...] | None:
    """Returns exactly these workers on these nodes; None if one of the nodes is not there or has no capacity for
    them.
    """
    node_workers = tuple((free.nodes[name], k) for name, k in requested if name in free.nodes)
    has_room = len(node_workers) == len(requested) and all(free.workers_on(job, node) >= k for node, k in node_workers)
    return node_workers if has_room else None


def place_servers(
    free: FreeResources, job: JobSnapshot, *, node_workers: tuple[NodeWorkers, ...], n_servers: int
) -> dict[str, int] | None:
    """Spreads the servers evenly over the workers' nodes, then over others with free CPUs; returns None if they do not
    fit.

    The resources of the workers are not reserved yet.
    """
    placed: dict[str, int] = {}
    workers = {node.name: k for node, k in node_workers}
    _deal({node.name: free.servers_on(job, node, workers=k) for node, k in node_workers}, n_servers, placed)
    if sum(placed.values()) < n_servers:
        racks = {node.rack for node, _ in node_workers}
        elsewhere = [node for node in free.by_free_cpus() if node.name not in workers]
        elsewhere.sort(key=lambda node: node.rack not in racks)
        _deal({node.name: free.servers_on(job, node) for node in elsewhere}, n_servers, placed)
    return placed if sum(placed.values()) == n_servers else None


def _deal(room_on: dict[str, int], n_servers: int, placed: dict[str, int]) -> None:
    """One server a node, round after round, until all are placed or no node has room."""
    missing = n_servers - sum(placed.values())
    while missing > 0 and any(room_on.values()):
        for name in room_on:
            if room_on[name] > 0 and missing > 0:
                placed[name] = placed.get(name, 0) + 1
                room_on[name] -= 1
                missing -= 1


def build_allocation(
    free: FreeResources,
    job: JobSnapshot,
    *,
    node_workers: tuple[NodeWorkers, ...],
    mode: Mode,
    n_servers: int,
    keep: GangAllocation | None = None,
) -> GangAllocation | None:
    """Returns the allocation on these nodes, with the lowest free GPUs (those of keep first); None if the servers do
    not fit.
    """
    own = {share.node: set(share.gpus) for share in keep.shares} if keep else {}
    gpus = {node.name: _lowest(free.gpus[node.name], k, own.get(node.name)) for node, k in node_workers}
    workers = GangAllocation(
        mode, sum(k for _, k in node_workers), 0, tuple(NodeAllocation(name, gpus[name]) for name in gpus)
    )
    if n_servers == 0:
        return workers
    servers = place_servers(free, job, node_workers=node_workers, n_servers=n_servers)
    if servers is None:
        return None
    names = [*gpus, *(name for name in servers if name not in gpus)]
    shares = tuple(NodeAllocation(name, gpus.get(name, ()), servers.get(name, 0)) for name in names)
    return GangAllocation(mode, workers.n_workers, n_servers, shares)


def _lowest(free: Collection[int], k: int, own: Collection[int] | None) -> tuple[int, ...]:
    """k of these GPUs, those of its own first, ascending."""
    if not own:
        return tuple(sorted(free)[:k])
    return tuple(sorted(sorted(free, key=lambda gpu: (gpu not in own, gpu))[:k]))


def fill(node_workers: list[NodeWorkers], *, n_workers: int, near: Collection[str]) -> tuple[NodeWorkers, ...] | None:
    """Returns workers on the largest nodes first, the last ones on the tightest node that takes them; None without
    capacity for all.
    """
    left = sorted(node_workers, key=lambda pair: (pair[0].name not in near, -pair[1], pair[0].name))
    largest_left = list(accumulate((k for _, k in reversed(left)), max))[::-1]
    chosen: list[NodeWorkers] = []
    missing = n_workers
    for i, (node, k) in enumerate(left):
        if largest_left[i] >= missing:
            enough = (pair for pair in left[i:] if pair[1] >= missing)
            last, _ = min(enough, key=lambda pair: (pair[0].name not in near, pair[1], pair[0].name))
            chosen.append((last, missing))
            return tuple(sorted(chosen, key=lambda pair: (-pair[1], pair[0].name)))
        chosen.append((node, k))
        missing -= k
    return None


def _tightest_first(arrays: NodeArrays, node_S: Ints, k_S: Ints, near: Collection[str]) -> Ints:
    """A number for each node, smallest for a near one, then for the one with the least room, then by name."""
    key_S = k_S * len(arrays.node_N) + arrays.rank_N[node_S]
    if near:
        far_N = np.ones(len(arrays.node_N), dtype=np.int64)
        far_N[[arrays.place[name] for name in near if name in arrays.place]] = 0
        key_S = key_S + far_N[node_S] * ((arrays.most_gpus + 1) * len(arrays.node_N))
    return key_S


def _evenly(
    arrays: NodeArrays, node_S: Ints, k_S: Ints, key_S: Ints, n_workers: int, n_nodes: int
) -> tuple[NodeWorkers, ...] | None:
    """The tightest nodes that take their equal part; racks are not regarded."""
    each, more = divmod(n_workers, n_nodes)
    fitting_S = k_S >= each + (more > 0)
    if int(fitting_S.sum()) < n_nodes:
        return None
    first = np.argpartition(key_S[fitting_S], n_nodes - 1)[:n_nodes]
    chosen = sorted((arrays.node_N[i] for i in node_S[fitting_S][first]), key=lambda node: node.name)
    return tuple((node, each + (i < more)) for i, node in enumerate(chosen))


def _loosely(
    arrays: NodeArrays, node_S: Ints, k_S: Ints, key_S: Ints, n_workers: int, n_nodes: int
) -> tuple[NodeWorkers, ...] | None:
    """Over the roomiest nodes, as few workers as can be on the fullest; None if these nodes are not enough."""
    first_F = np.lexsort((key_S, -k_S))[:n_nodes]
    room_F = k_S[first_F]
    if int(room_F.sum()) < n_workers:
        return None
    most = next(m for m in range(1, int(room_F.max()) + 1) if int(np.minimum(room_F, m).sum()) >= n_workers)
    count_F = np.minimum(room_F, most)
    full = np.flatnonzero(count_F == most)
    count_F[full[: int(count_F.sum()) - n_workers]] -= 1
    chosen = [(arrays.node_N[node_S[s]], int(k)) for s, k in zip(first_F, count_F, strict=True) if k]
    return tuple(sorted(chosen, key=lambda pair: (-pair[1], pair[0].name)))


def _best_rack(arrays: NodeArrays, node_S: Ints, k_S: Ints, *, n_workers: int, near: Collection[str]) -> int | None:
    """Of the racks with room for all: one with near nodes, then one where the fewest nodes are enough, then by name.

    No node takes all of them. Racks with near nodes: the fewest nodes, if the near ones are taken first.
    """
    rack_S = arrays.rack_N[node_S]
    room_R = np.bincount(rack_S, weights=k_S, minlength=len(arrays.racks))
    fitting_R = room_R >= n_workers
    if not fitting_R.any():
        return None
    if len(fitting_R) == 1:
        return 0
    near_racks = {arrays.rack_N[arrays.place[name]] for name in near if name in arrays.place}
    choices = []
    for rack in sorted(near_racks):
        node_workers = [
            (arrays.node_N[i], int(k)) for i, k in zip(node_S[rack_S == rack], k_S[rack_S == rack], strict=True)
        ]
        chosen = fill(node_workers, n_workers=n_workers, near=near) if fitting_R[rack] else None
        if chosen is not None and any(node.name in near for node, _ in chosen):
            choices.append((len(chosen), rack))
    if choices:
        return int(min(choices)[1])
    # how many nodes of a rack are enough: those with most room first; by how many nodes have how much room
    n_sizes = arrays.most_gpus + 1
    count_RK = np.bincount(rack_S * n_sizes + k_S, minlength=len(arrays.racks) * n_sizes).reshape(-1, n_sizes)
    missing_R, n_nodes_R = np.full(len(arrays.racks), n_workers), np.zeros(len(arrays.racks), dtype=np.int64)
    for k in range(n_sizes - 1, 0, -1):
        used_R = np.minimum(count_RK[:, k], -(-missing_R // k))
        n_nodes_R += used_R
        missing_R = np.maximum(0, missing_R - used_R * k)
    return int(np.argmin(np.where(fitting_R, n_nodes_R, len(arrays.node_N) + 1)))


def _roomiest_racks(rack_S: Ints, k_S: Ints, *, n_workers: int) -> NDArray[np.bool_]:
    """Which nodes are in the fewest racks that have room for all together, those with most room first."""
    room_R = np.bincount(rack_S, weights=k_S)
    order_R = np.argsort(-room_R, kind="stable")
    n_racks = int(np.searchsorted(np.cumsum(room_R[order_R]), n_workers)) + 1
    chosen_R = np.zeros(len(room_R), dtype=np.bool_)
    chosen_R[order_R[:n_racks]] = True
    return chosen_R[rack_S]


def _roomiest(arrays: NodeArrays, node_S: Ints, k_S: Ints, *, n_workers: int) -> tuple[NodeWorkers, ...]:
    """Of equally empty nodes, the first of the cluster. There must be room for all."""
    chosen: list[NodeWorkers] = []
    missing = n_workers
    for s in np.argsort(-k_S, kind="stable"):
        if missing <= 0:
            break
        chosen.append((arrays.node_N[node_S[s]], min(int(k_S[s]), missing)))
        missing -= chosen[-1][1]
    return tuple(chosen)
