# SPDX-License-Identifier: Apache-2.0
"""A gang's layout as the models see it: workers and servers per node, the NICs and racks between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.api.snapshot import GangAllocation, Mode
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.api.unlocked_properties import unlocked_cached_property
from scheduler.models.bounded_tables import BoundedTable

MAX_LAYOUTS = 100_000  # of real allocations, by topology

Shape = tuple[Mode, int, int, int, str]  # mode, workers, servers, nodes, GPU type


@dataclass(frozen=True)
class Layout:
    """Describes a gang by parallel tuples, with one entry per node. rack holds indices into uplink_bps.

    The properties follow from the fields alone; they are worked out at the first use.
    """

    workers: tuple[int, ...]
    servers: tuple[int, ...]
    nic_bps: tuple[float, ...]
    rack: tuple[int, ...]
    uplink_bps: tuple[float, ...]
    gpu_type: str = ""

    def __hash__(self) -> int:
        return self._hash

    @unlocked_cached_property
    def _hash(self) -> int:
        """Worked out once: layouts are keys of many tables."""
        return hash((self.workers, self.servers, self.nic_bps, self.rack, self.uplink_bps, self.gpu_type))

    @unlocked_cached_property
    def n_workers(self) -> int:
        """Returns the number of workers on all nodes."""
        return sum(self.workers)

    @unlocked_cached_property
    def n_servers(self) -> int:
        """Returns the number of parameter servers on all nodes."""
        return sum(self.servers)

    @property
    def n_nodes(self) -> int:
        """Returns the number of nodes."""
        return len(self.workers)

    @unlocked_cached_property
    def n_racks(self) -> int:
        """Returns the number of racks."""
        return len(set(self.rack))

    @unlocked_cached_property
    def all_reduce_shape(self) -> Shape:
        """Returns the key of measurements of this layout under all-reduce."""
        return Mode.ALL_REDUCE, self.n_workers, self.n_servers, self.n_nodes, self.gpu_type

    @unlocked_cached_property
    def parameter_server_shape(self) -> Shape:
        """Returns the key of measurements of this layout under parameter servers."""
        return Mode.PARAMETER_SERVER, self.n_workers, self.n_servers, self.n_nodes, self.gpu_type

    @unlocked_cached_property
    def server_layouts(self) -> tuple[Layout, ...]:
        """Returns the same workers with 1, 2, 4, ... servers, no more than there are workers."""
        return tuple(self.with_servers(1 << i) for i in range(self.n_workers.bit_length()))

    def with_servers(self, n_servers: int) -> Layout:
        """Returns the same workers with this many servers, spread evenly over the nodes."""
        each, more = divmod(n_servers, self.n_nodes)
        servers = tuple(each + (i < more) for i in range(self.n_nodes))
        return Layout(self.workers, servers, self.nic_bps, self.rack, self.uplink_bps, self.gpu_type)


def shape_of(layout: Layout, mode: Mode) -> Shape:
    """Returns what distinguishes measurements of a layout from those of others."""
    return layout.all_reduce_shape if mode is Mode.ALL_REDUCE else layout.parameter_server_shape


class ClusterTopology:
    """Describes the cluster as far as layouts need it: links by name, and what a gang of n workers typically gets.

    Layouts of real allocations are kept in a table of MAX_LAYOUTS entries; equal layouts are the same object.
    """

    def __init__(self, nodes: Iterable[NodeSnapshot], racks: Iterable[RackSnapshot]) -> None:
        self._nodes: dict[str, NodeSnapshot] = {node.name: node for node in nodes}
        self._uplinks: dict[str, float] = {rack.name: rack.uplink_bps for rack in racks}
        self._by_type: dict[str, list[NodeSnapshot]] = {}
        for node in self._nodes.values():
            if node.n_gpus > 0:
                self._by_type.setdefault(node.gpu_type, []).append(node)
        for nodes_of_type in self._by_type.values():
            nodes_of_type.sort(key=lambda node: (node.rack, node.name))
        self._typical: dict[tuple[str, int, int], Layout] = {}
        self._spreads: dict[tuple[str, int], tuple[int, ...]] = {}
        self._by_allocation = BoundedTable[GangAllocation, Layout](MAX_LAYOUTS)
        self._distinct = BoundedTable[Layout, Layout](MAX_LAYOUTS)
        uplink_bps = min(self._uplinks.values(), default=float("inf"))
        most_frequent = {gpu_type: _most_frequent_node(nodes) for gpu_type, nodes in self._by_type.items()}
        self.nic_bps = min((nic_bps for _, nic_bps, _ in most_frequent.values()), default=10e9)
        self._standard = {gpu_type: (*node, uplink_bps) for gpu_type, node in most_frequent.items()}

    def layout_of(self, allocation: GangAllocation) -> Layout:
        """Returns the layout of a real allocation. A node that left counts with an infinitely fast NIC."""
        found = self._by_allocation.get(allocation)
        if found is None:
            parts = [(len(s.gpus), s.n_servers, self._nodes.get(s.node)) for s in allocation.shares]
            found = self._by_allocation.store(allocation, self._build(parts))
        return found

    def layout_on(self, workers: Mapping[str, int]) -> Layout:
        """Returns the layout of workers on named nodes, without servers."""
        return self._build([(k, 0, self._nodes.get(name)) for name, k in workers.items()])

    def typical(self, gpu_type: str, n_workers: int, *, n_nodes: int = 0) -> Layout:
        """Returns the layout of n workers on the standard node of that type, rack after rack: packed, or spread evenly
        over n_nodes.
        """
        key = (gpu_type, n_workers, n_nodes)
        if key not in self._typical:
            self._typical[key] = self._pack(gpu_type, n_workers, n_nodes)
        return self._typical[key]

    def gpus_per_node(self, gpu_type: str) -> int:
        """Returns GPUs of the standard node of that type; 1 if there is none."""
        standard = self._standard.get(gpu_type)
        return standard[0] if standard else 1

    def spreads(self, gpu_type: str, n_workers: int) -> tuple[int, ...]:
        """Returns the numbers of nodes, more than needed, to spread n workers over evenly: half-full nodes, one worker
        per node.
        """
        found = self._spreads.get((gpu_type, n_workers))
        if found is None:
            per_node = self.gpus_per_node(gpu_type)
            packed = -(-n_workers // per_node)
            wider = {-(-n_workers // max(1, per_node // 2)), n_workers}
            found = tuple(n for n in sorted(wider) if packed < n <= self.n_nodes(gpu_type))
            self._spreads[gpu_type, n_workers] = found
        return found

    @unlocked_cached_property
    def shares_links(self) -> bool:
        """Returns whether it matters on which nodes a gang of several lies: only if racks have uplinks of known
        bandwidth.

        Inside one rack all places are alike. With several, NICs are busier in one place than in another, however wide
        the uplinks are.
        """
        in_use = {node.rack for node in self._nodes.values()}
        return len(in_use) > 1 and any(self._uplinks.get(rack, float("inf")) < float("inf") for rack in in_use)

    def n_nodes(self, gpu_type: str) -> int:
        """Returns the number of nodes of that GPU type."""
        return len(self._by_type.get(gpu_type, ()))

    def gpu_types(self) -> tuple[str, ...]:
        """Returns the GPU types of the cluster, sorted."""
        return tuple(sorted(self._by_type))

    def _pack(self, gpu_type: str, n_workers: int, n_nodes: int) -> Layout:
        standard = self._standard.get(gpu_type)
        if standard is None:
            return Layout((n_workers,), (0,), (float("inf"),), (0,), (float("inf"),), gpu_type)
        n_gpus, nic_bps, nodes_per_rack, uplink_bps = standard
        if n_nodes:
            each, more = divmod(n_workers, n_nodes)
            workers = tuple(each + (i < more) for i in range(n_nodes))
        else:
            n_nodes = -(-n_workers // n_gpus)
            workers = tuple(min(n_gpus, n_workers - i * n_gpus) for i in range(n_nodes))
        rack = tuple(i // nodes_per_rack for i in range(n_nodes))
        uplinks = (uplink_bps,) * (max(rack) + 1)
        return Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, uplinks, gpu_type)

    def _build(self, parts: list[tuple[int, int, NodeSnapshot | None]]) -> Layout:
        names: dict[str, int] = {}
        rack = [names.setdefault(node.rack if node else "", len(names)) for _, _, node in parts]
        gpu_type = next((node.gpu_type for workers, _, node in parts if node and workers), "")
        layout = Layout(
            workers=tuple([workers for workers, _, _ in parts]),
            servers=tuple([servers for _, servers, _ in parts]),
            nic_bps=tuple([node.nic_bps if node else float("inf") for _, _, node in parts]),
            rack=tuple(rack),
            uplink_bps=tuple([self._uplinks.get(name, float("inf")) for name in names]),
            gpu_type=gpu_type,
        )
        found = self._distinct.get(layout)
        return self._distinct.store(layout, layout) if found is None else found


def _most_frequent_node(nodes: list[NodeSnapshot]) -> tuple[int, float, int]:
    """GPUs and NIC of the most frequent kind of node, and the number of nodes in the largest rack."""
    (n_gpus, nic_bps), _ = min(
        Counter((node.n_gpus, node.nic_bps) for node in nodes).items(), key=lambda item: (-item[1], item[0])
    )
    per_rack = max(1, max(Counter(node.rack for node in nodes).values()))
    return n_gpus, nic_bps, per_rack
