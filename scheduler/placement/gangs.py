"""Places a gang of workers, all or nothing: fewest racks, then fewest nodes, then the tightest fit."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from scheduler.placement.room import Room
from scheduler.snapshot import Allocation, JobSnapshot, Mode, Share
from scheduler.topology import Node

Spot = tuple[Node, int]  # a node and how many workers go there


class Packing(StrEnum):
    """How a gang is laid on nodes. TIGHT: as said above. ROOMIEST: the emptiest node first, as many as it takes."""

    TIGHT = "tight"
    ROOMIEST = "roomiest"


def place_workers(
    room: Room,
    job: JobSnapshot,
    *,
    n_workers: int,
    gpu_type: str,
    near: Collection[str] = (),
    packing: Packing = Packing.TIGHT,
    n_nodes: int = 0,
) -> tuple[Spot, ...] | None:
    """Where n_workers of the job go now, or None if they do not all fit.

    near: nodes to prefer among equals (those that the job is on). A gang never mixes GPU types. n_nodes: spread evenly
    over so many nodes if they have room; otherwise, and for 0:

    1. one node with room for all: the tightest, so that large holes stay large;
    2. one rack: the largest nodes first, the last workers on the tightest node that takes them;
    3. several racks, the roomiest first.
    """
    spots = [
        (node, k) for node in room.nodes.values() if node.gpu_type == gpu_type and (k := room.workers_on(job, node)) > 0
    ]
    if packing is Packing.ROOMIEST:
        return _roomiest(spots, n_workers=n_workers)
    if n_nodes > 1 and (spread := _evenly(spots, n_workers=n_workers, n_nodes=n_nodes, near=near)) is not None:
        return spread
    alone = [spot for spot in spots if spot[1] >= n_workers]
    if alone:
        node, _ = min(alone, key=lambda spot: (spot[0].name not in near, spot[1], spot[0].name))
        return ((node, n_workers),)
    racks: dict[str, list[Spot]] = {}
    for spot in spots:
        racks.setdefault(spot[0].rack, []).append(spot)
    choices = [
        chosen for name in sorted(racks) if (chosen := _fill(racks[name], n_workers=n_workers, near=near)) is not None
    ]
    if choices:
        return min(choices, key=lambda chosen: (not _touches(chosen, near), len(chosen)))
    by_size = sorted(racks.values(), key=lambda rack: (-sum(k for _, k in rack), rack[0][0].rack))
    if sum(k for _, k in spots) < n_workers:
        return None
    merged: list[Spot] = []
    for rack in by_size:
        merged += rack
        if sum(k for _, k in merged) >= n_workers:
            break
    return _fill(merged, n_workers=n_workers, near=near)


def place_on(room: Room, job: JobSnapshot, wished: tuple[tuple[str, int], ...]) -> tuple[Spot, ...] | None:
    """Exactly these workers on these nodes, or None if one of the nodes is not there or has no room for them."""
    spots = tuple((room.nodes[name], k) for name, k in wished if name in room.nodes)
    has_room = len(spots) == len(wished) and all(room.workers_on(job, node) >= k for node, k in spots)
    return spots if has_room else None


def place_servers(room: Room, job: JobSnapshot, *, spots: tuple[Spot, ...], n_servers: int) -> dict[str, int] | None:
    """Spread the servers over the workers' nodes, evenly, then over others with CPU room; None if they do not fit.

    room must already be without what the workers take.
    """
    placed: dict[str, int] = {}
    home = [node for node, _ in spots]
    elsewhere = sorted(
        (node for node in room.nodes.values() if node not in home),
        key=lambda node: (node.rack not in {n.rack for n in home}, -room.cpus[node.name], node.name),
    )
    for nodes in (home, elsewhere):
        left = {node.name: room.servers_on(job, node) for node in nodes}
        while sum(placed.values()) < n_servers and any(left.values()):
            for node in nodes:
                if left[node.name] > 0 and sum(placed.values()) < n_servers:
                    placed[node.name] = placed.get(node.name, 0) + 1
                    left[node.name] -= 1
    return placed if sum(placed.values()) == n_servers else None


def build_allocation(
    room: Room,
    job: JobSnapshot,
    *,
    spots: tuple[Spot, ...],
    mode: Mode,
    n_servers: int,
    keep: Allocation | None = None,
) -> Allocation | None:
    """The allocation on these spots, the lowest free GPUs (those of keep first); None if the servers do not fit."""
    own = {share.node: set(share.gpus) for share in keep.shares} if keep else {}
    gpus = {
        node.name: tuple(
            sorted(sorted(room.gpus[node.name], key=lambda g, n=node.name: (g not in own.get(n, ()), g))[:k])  # type: ignore[misc]
        )
        for node, k in spots
    }
    workers = Allocation(mode, sum(k for _, k in spots), 0, tuple(Share(name, gpus[name]) for name in gpus))
    if n_servers == 0:
        return workers
    room.hold(job, workers)
    servers = place_servers(room, job, spots=spots, n_servers=n_servers)
    room.release(job, workers)
    if servers is None:
        return None
    names = [*gpus, *(name for name in servers if name not in gpus)]
    shares = tuple(Share(name, gpus.get(name, ()), servers.get(name, 0)) for name in names)
    return Allocation(mode, workers.n_workers, n_servers, shares)


def _fill(spots: list[Spot], *, n_workers: int, near: Collection[str]) -> tuple[Spot, ...] | None:
    left = sorted(spots, key=lambda spot: (spot[0].name not in near, -spot[1], spot[0].name))
    if sum(k for _, k in left) < n_workers:
        return None
    chosen: list[Spot] = []
    missing = n_workers
    while missing > 0:
        enough = [spot for spot in left if spot[1] >= missing]
        if enough:
            node, _ = min(enough, key=lambda spot: (spot[0].name not in near, spot[1], spot[0].name))
            chosen.append((node, missing))
            break
        node, k = left.pop(0)
        chosen.append((node, k))
        missing -= k
    return tuple(sorted(chosen, key=lambda spot: (-spot[1], spot[0].name)))


def _evenly(spots: list[Spot], *, n_workers: int, n_nodes: int, near: Collection[str]) -> tuple[Spot, ...] | None:
    """The tightest nodes that take their equal part; racks are not regarded."""
    each, more = divmod(n_workers, n_nodes)
    part = each + (more > 0)
    fitting = sorted(
        (spot for spot in spots if spot[1] >= part), key=lambda spot: (spot[0].name not in near, spot[1], spot[0].name)
    )
    if len(fitting) < n_nodes:
        return None
    chosen = sorted((node for node, _ in fitting[:n_nodes]), key=lambda node: node.name)
    return tuple((node, each + (i < more)) for i, node in enumerate(chosen))


def _roomiest(spots: list[Spot], *, n_workers: int) -> tuple[Spot, ...] | None:
    """Of equally empty nodes, the first of the cluster."""
    chosen: list[Spot] = []
    missing = n_workers
    for node, k in sorted(spots, key=lambda spot: -spot[1]):
        if missing > 0:
            chosen.append((node, min(k, missing)))
            missing -= min(k, missing)
    return tuple(chosen) if missing == 0 else None


def _touches(spots: tuple[Spot, ...], near: Collection[str]) -> bool:
    return any(node.name in near for node, _ in spots)
