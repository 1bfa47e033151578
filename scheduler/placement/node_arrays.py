# SPDX-License-Identifier: Apache-2.0
"""The nodes of a cluster as arrays, shared by all views of the free resources as long as no node changes.

Axes: N nodes, in the snapshot's order; R racks, by name.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scheduler.api.arrays import Ints
from scheduler.api.topology import NodeSnapshot


class NodeArrays:
    """Holds the nodes of a cluster as arrays. node_N: the nodes. nodes, place: a node and its index by name.

    rank_N: by name. rack_N: index into racks. whole: the usable GPUs of each node, by name. most_gpus: of one node.
    """

    def __init__(self, nodes: tuple[NodeSnapshot, ...]) -> None:
        self.node_N = nodes
        self.nodes: dict[str, NodeSnapshot] = {node.name: node for node in nodes}
        self.place: dict[str, int] = {node.name: i for i, node in enumerate(nodes)}
        self.rank_N = np.empty(len(nodes), dtype=np.int64)
        self.rank_N[sorted(range(len(nodes)), key=lambda i: nodes[i].name)] = np.arange(len(nodes))
        self.racks = sorted({node.rack for node in nodes})
        number = {name: i for i, name in enumerate(self.racks)}
        self.rack_N = np.array([number[node.rack] for node in nodes], dtype=np.int64)
        self.types = tuple(sorted({node.gpu_type for node in nodes}))
        self.whole: dict[str, frozenset[int]] = {
            node.name: _first(node.n_gpus).difference(node.unusable_gpus) for node in nodes
        }
        self.n_gpus_N = np.array([len(self.whole[node.name]) for node in nodes], dtype=np.int64)
        self.cpus_N = np.array([node.cpus for node in nodes], dtype=np.float64)
        self.memory_bytes_N = np.array([node.memory_bytes for node in nodes], dtype=np.int64)
        self.is_open_N = np.array([node.is_schedulable for node in nodes], dtype=np.bool_)
        self.most_gpus = int(self.n_gpus_N.max(initial=0))
        kind_N = np.array([self.types.index(node.gpu_type) for node in nodes], dtype=np.int64)
        self._open_of = {t: np.flatnonzero(self.is_open_N & (kind_N == i)) for i, t in enumerate(self.types)}

    def open_of(self, gpu_type: str) -> Ints:
        """Returns the indices of the nodes of that type that take jobs."""
        return self._open_of.get(gpu_type, _NONE)


_NONE: Ints = np.empty(0, dtype=np.int64)


@lru_cache(maxsize=256)
def _first(n_gpus: int) -> frozenset[int]:
    return frozenset(range(n_gpus))
