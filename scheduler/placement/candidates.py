# SPDX-License-Identifier: Apache-2.0
"""Places worth comparing for a gang: packed, in each of the quieter racks, spread, across the quietest racks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from scheduler.api.arrays import Ints
from scheduler.api.snapshot import JobSnapshot
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.gangs import NodeWorkers, fill, place_workers

Busy = Callable[[str, str], float]  # (kind of link, name) -> how many gangs send over it on average

MOST_RACKS = 4  # that are tried, the quietest with room first
MOST_PLACES = 10


def candidate_places(
    free: FreeResources,
    job: JobSnapshot,
    *,
    n_workers: int,
    gpu_type: str,
    busy: Busy,
    near: Collection[str] = (),
    n_nodes: int = 0,
) -> list[tuple[NodeWorkers, ...]]:
    """Returns at most MOST_PLACES different places, that of place_workers() first; none if the gang does not fit.

    1. as place_workers has it; where that is one node, there is nothing to compare; packed, and one on each node, or as
       wide as there is room;
    2. inside each of the quietest racks that take it: spread as requested, packed, and on the quietest nodes;
    3. where no rack takes it, across racks: the quietest first, and the roomiest first.
    """
    node_S, k_S = room = free.capacity_by_node(job, gpu_type)
    lay = partial(place_workers, free, job, n_workers=n_workers, gpu_type=gpu_type, near=near, room=room)
    first = lay(n_nodes=n_nodes)
    if first is None or (len(first) == 1 and n_nodes < 2):
        return [first] if first else []
    spreads = [n for n in dict.fromkeys((0, n_workers)) if max(n, 1) != max(n_nodes, 1)]  # others than the first's
    options = [lay(n_nodes=n) for n in spreads]
    rack_S = free.node_arrays.rack_N[node_S]
    room_R = np.bincount(rack_S, weights=k_S, minlength=len(free.node_arrays.racks))
    quiet = sorted(
        np.flatnonzero(room_R), key=lambda r: (round(busy("uplink", free.node_arrays.racks[r]), 2), -room_R[r])
    )
    fitting = [rack for rack in quiet if room_R[rack] >= n_workers][:MOST_RACKS]
    found: list[tuple[NodeWorkers, ...] | None] = [first, *options]
    racks = [_node_workers(free, node_S, k_S, rack_S == rack) for rack in fitting]
    for node_workers in racks:
        if n_nodes > 1:
            found.append(_spread(node_workers, n_workers=n_workers, n_nodes=n_nodes, near=near))
        found.append(fill(node_workers, n_workers=n_workers, near=near))
    found += [_on_quiet_nodes(node_workers, n_workers=n_workers, busy=busy) for node_workers in racks]
    for order in (quiet, sorted(quiet, key=lambda r: -room_R[r])) if not fitting else ():
        enough = int(np.searchsorted(np.cumsum(room_R[order]), n_workers)) + 1
        chosen_R = np.zeros(len(room_R), dtype=np.bool_)
        chosen_R[order[:enough]] = True
        node_workers = _node_workers(free, node_S, k_S, chosen_R[rack_S])
        found += [
            fill(node_workers, n_workers=n_workers, near=near),
            _on_quiet_nodes(node_workers, n_workers=n_workers, busy=busy),
        ]
    different: dict[frozenset[tuple[str, int]], tuple[NodeWorkers, ...]] = {}
    for place in found:
        if place is not None:
            different.setdefault(frozenset((node.name, k) for node, k in place), place)
    return list(different.values())[:MOST_PLACES]


def _node_workers(free: FreeResources, node_S: Ints, k_S: Ints, chosen_S: np.ndarray) -> list[NodeWorkers]:
    each = zip(node_S[chosen_S].tolist(), k_S[chosen_S].tolist(), strict=True)
    return [(free.node_arrays.node_N[i], k) for i, k in each]


def _spread(
    node_workers: list[NodeWorkers], *, n_workers: int, n_nodes: int, near: Collection[str]
) -> tuple[NodeWorkers, ...] | None:
    """Evenly over the tightest of these nodes that take their part."""
    each, more = divmod(n_workers, n_nodes)
    fitting = [pair for pair in node_workers if pair[1] >= each + (more > 0)]
    fitting.sort(key=lambda pair: (pair[0].name not in near, pair[1], pair[0].name))
    if len(fitting) < n_nodes:
        return None
    nodes = sorted((node for node, _ in fitting[:n_nodes]), key=lambda node: node.name)
    return tuple((node, each + (i < more)) for i, node in enumerate(nodes))


def _on_quiet_nodes(node_workers: list[NodeWorkers], *, n_workers: int, busy: Busy) -> tuple[NodeWorkers, ...]:
    """The nodes whose NICs are least used; of equals the largest. There must be room for all."""
    chosen: list[NodeWorkers] = []
    missing = n_workers
    for node, k in sorted(node_workers, key=lambda pair: (round(busy("nic", pair[0].name), 1), -pair[1], pair[0].name)):
        if missing > 0:
            chosen.append((node, min(k, missing)))
            missing -= min(k, missing)
    return tuple(sorted(chosen, key=lambda pair: (-pair[1], pair[0].name)))
