"""A gang's shape as the models see it: workers and servers per node, the NICs and racks between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import cast

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.api.topology import Node, Rack

_SERIALS = count()


_NEWEST: list[tuple[tuple[Node, ...], tuple[Rack, ...], ClusterTopology]] = []
_MOST_TERRAINS = 4
_MOST_LAYOUTS = 100_000  # of real allocations that are remembered


def terrain_of(nodes: tuple[Node, ...], racks: tuple[Rack, ...]) -> ClusterTopology:
    """The terrain of a cluster; that of the rounds before, as long as nothing changed."""
    for known_nodes, known_racks, terrain in _NEWEST:
        if known_nodes == nodes and known_racks == racks:
            return terrain
    terrain = ClusterTopology(nodes, racks)
    _NEWEST.insert(0, (nodes, racks, terrain))
    del _NEWEST[_MOST_TERRAINS:]
    return terrain


@dataclass(frozen=True)
class Layout:
    """Parallel tuples, one entry a node. rack holds indices into uplink_bps.

    memo: for what is worked out of it again and again (shapes, terms of a synchronisation).
    """

    workers: tuple[int, ...]
    servers: tuple[int, ...]
    nic_bps: tuple[float, ...]
    rack: tuple[int, ...]
    uplink_bps: tuple[float, ...]
    gpu_type: str = ""

    @cached_property
    def memo(self) -> dict[object, object]:
        return {}

    @cached_property
    def n_workers(self) -> int:
        return sum(self.workers)

    @cached_property
    def n_servers(self) -> int:
        return sum(self.servers)

    @property
    def n_nodes(self) -> int:
        return len(self.workers)

    @cached_property
    def n_racks(self) -> int:
        return len(set(self.rack))

    def with_servers(self, n_servers: int) -> Layout:
        """The same workers with this many servers, spread evenly over the nodes."""
        each, more = divmod(n_servers, self.n_nodes)
        servers = tuple(each + (i < more) for i in range(self.n_nodes))
        return Layout(self.workers, servers, self.nic_bps, self.rack, self.uplink_bps, self.gpu_type)


Shape = tuple[Mode, int, int, int, str]  # mode, workers, servers, nodes, GPU type


def shape_of(layout: Layout, mode: Mode) -> Shape:
    """What tells measurements of a layout from those of others."""
    key = "ring" if mode is Mode.ALL_REDUCE else "served"
    found = layout.memo.get(key)
    if found is None:
        found = layout.memo[key] = mode, layout.n_workers, layout.n_servers, layout.n_nodes, layout.gpu_type
    return cast("Shape", found)


def servings(layout: Layout) -> tuple[Layout, ...]:
    """The same workers with 1, 2, 4, ... servers, no more than there are workers."""
    found = layout.memo.get("servings")
    if found is None:
        counts = (1 << i for i in range(layout.n_workers.bit_length()))
        found = layout.memo["servings"] = tuple(layout.with_servers(p) for p in counts)
    return cast("tuple[Layout, ...]", found)


class ClusterTopology:
    """The cluster as far as layouts need it: links by name, and what a gang of n workers typically gets.

    serial: no two terrains of a process have the same, so that what was worked out for one can be remembered. memo: for
    those who build tables on top of it (ways.py). waiting_s, on_place: as told in speeds.py.
    """

    def __init__(self, nodes: Iterable[Node], racks: Iterable[Rack]) -> None:
        self.serial = next(_SERIALS)
        self._nodes: dict[str, Node] = {node.name: node for node in nodes}
        self._uplinks: dict[str, float] = {rack.name: rack.uplink_bps for rack in racks}
        self._by_type: dict[str, list[Node]] = {}
        for node in self._nodes.values():
            if node.n_gpus > 0:
                self._by_type.setdefault(node.gpu_type, []).append(node)
        for nodes_of_type in self._by_type.values():
            nodes_of_type.sort(key=lambda node: (node.rack, node.name))
        self._typical: dict[tuple[str, int, int], Layout] = {}
        self._spreads: dict[tuple[str, int], tuple[int, ...]] = {}
        self._known: dict[GangAllocation, Layout] = {}
        self._alike: dict[Layout, Layout] = {}  # one of those that are equal, for its memo
        self.memo: dict[object, object] = {}
        self.waiting_s: dict[int, tuple[JobSnapshot, float]] = {}
        self.on_place: dict[str, tuple[GangAllocation, object, float]] = {}
        uplink_bps = min(self._uplinks.values(), default=float("inf"))
        kinds = [_usual_node(alike) for alike in self._by_type.values()]
        self.nic_bps = min((nic_bps for _, nic_bps, _ in kinds), default=10e9)
        self._usual = {kind: (*_usual_node(alike), uplink_bps) for kind, alike in self._by_type.items()}

    def layout_of(self, allocation: GangAllocation) -> Layout:
        """The layout of a real allocation. A node that left counts with an infinitely fast NIC."""
        found = self._known.get(allocation)
        if found is None:
            parts = [(len(s.gpus), s.n_servers, self._nodes.get(s.node)) for s in allocation.shares]
            if len(self._known) >= _MOST_LAYOUTS:
                self._known.clear()
            self._known[allocation] = found = self._build(parts)
        return found

    def layout_on(self, workers: Mapping[str, int]) -> Layout:
        """The layout of workers on named nodes, without servers."""
        return self._build([(k, 0, self._nodes.get(name)) for name, k in workers.items()])

    def typical(self, gpu_type: str, n_workers: int, *, n_nodes: int = 0) -> Layout:
        """n workers on the usual node of that type, filling rack after rack: packed, or evenly over n_nodes."""
        key = (gpu_type, n_workers, n_nodes)
        if key not in self._typical:
            self._typical[key] = self._pack(gpu_type, n_workers, n_nodes)
        return self._typical[key]

    def gpus_per_node(self, gpu_type: str) -> int:
        """Of the usual node of that type; 1 if there is none."""
        usual = self._usual.get(gpu_type)
        return usual[0] if usual else 1

    def spreads(self, gpu_type: str, n_workers: int) -> tuple[int, ...]:
        """Numbers of nodes, more than needed, that n workers may be spread evenly over: half-full nodes, one a node."""
        found = self._spreads.get((gpu_type, n_workers))
        if found is None:
            per_node = self.gpus_per_node(gpu_type)
            packed = -(-n_workers // per_node)
            wider = {-(-n_workers // max(1, per_node // 2)), n_workers}
            found = tuple(n for n in sorted(wider) if packed < n <= self.n_nodes(gpu_type))
            self._spreads[gpu_type, n_workers] = found
        return found

    @cached_property
    def shares_links(self) -> bool:
        """Does it matter on which nodes a gang of several lies? Not in one rack; else NICs are fuller here than there.

        However wide the uplinks are, if anything is said of them.
        """
        in_use = {node.rack for node in self._nodes.values()}
        return len(in_use) > 1 and any(self._uplinks.get(rack, float("inf")) < float("inf") for rack in in_use)

    def n_nodes(self, gpu_type: str) -> int:
        return len(self._by_type.get(gpu_type, ()))

    def gpu_types(self) -> tuple[str, ...]:
        return tuple(sorted(self._by_type))

    def _pack(self, gpu_type: str, n_workers: int, n_nodes: int) -> Layout:
        usual = self._usual.get(gpu_type)
        if usual is None:
            return Layout((n_workers,), (0,), (float("inf"),), (0,), (float("inf"),), gpu_type)
        n_gpus, nic_bps, nodes_per_rack, uplink_bps = usual
        if n_nodes:
            each, more = divmod(n_workers, n_nodes)
            workers = tuple(each + (i < more) for i in range(n_nodes))
        else:
            n_nodes = -(-n_workers // n_gpus)
            workers = tuple(min(n_gpus, n_workers - i * n_gpus) for i in range(n_nodes))
        rack = tuple(i // nodes_per_rack for i in range(n_nodes))
        uplinks = (uplink_bps,) * (max(rack) + 1)
        return Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, uplinks, gpu_type)

    def _build(self, parts: list[tuple[int, int, Node | None]]) -> Layout:
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
        if len(self._alike) >= _MOST_LAYOUTS:
            self._alike.clear()
        return self._alike.setdefault(layout, layout)


def _usual_node(nodes: list[Node]) -> tuple[int, float, int]:
    """GPUs and NIC of the most frequent kind of node, and how many nodes the largest rack has."""
    (n_gpus, nic_bps), _ = min(
        Counter((node.n_gpus, node.nic_bps) for node in nodes).items(), key=lambda item: (-item[1], item[0])
    )
    per_rack = max(1, max(Counter(node.rack for node in nodes).values()))
    return n_gpus, nic_bps, per_rack
