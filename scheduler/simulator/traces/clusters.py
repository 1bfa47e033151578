# SPDX-License-Identifier: Apache-2.0
"""Reads clusters: the nXgY files of Tiresias and Muri, and MLHub's own JSON. Bandwidths in bit/s."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.snapshot import TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput, Row, Rows

NXGY_COLUMNS = ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node")
MOST = 1_000_000  # nodes, and GPUs or CPUs of one; more is a slip of the pen
_MOST_QUANTITY = 2.0**60
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BYTES = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


@dataclass(frozen=True)
class Cluster:
    """Holds a cluster. tenants: with their quota; empty where every tenant may use everything. name: of its file, for
    errors.
    """

    nodes: tuple[NodeSnapshot, ...]
    racks: tuple[RackSnapshot, ...]
    tenants: tuple[TenantSnapshot, ...] = ()
    name: str = "the cluster"

    @property
    def n_gpus(self) -> int:
        """Returns the number of GPUs on all nodes."""
        return sum(node.n_gpus for node in self.nodes)


def uniform_cluster(
    *,
    n_nodes: int,
    n_gpus: int,
    n_racks: int = 1,
    gpu_type: str = "gpu",
    cpus: float = 96.0,
    memory_bytes: int = 512 << 30,
    nic_bps: float = 10e9,
    uplink_bps: float = float("inf"),
    name: str = "the cluster",
) -> Cluster:
    """Returns a cluster of alike nodes in equal racks, filled one after the other."""
    per_rack = -(-n_nodes // n_racks)
    nodes = tuple(
        NodeSnapshot(f"n{i}", f"r{i // per_rack}", gpu_type, n_gpus, cpus, memory_bytes, nic_bps)
        for i in range(n_nodes)
    )
    return Cluster(nodes, tuple(RackSnapshot(f"r{i}", uplink_bps) for i in range(-(-n_nodes // per_rack))), name=name)


def read_nxgy(text: str, *, name: str) -> Cluster:
    """Returns the cluster of one row: switches, nodes per switch, and GPUs, CPUs and GB of memory per node.

    Raises BadInput.
    """
    rows = list(Rows(text, name=name, columns=NXGY_COLUMNS))
    if not rows:
        raise BadInput(name, 2, f"there is no row below the header {','.join(NXGY_COLUMNS)}")
    row: Row = rows[0]
    n_racks, per_rack = row.whole("num_switch", least=1), row.whole("num_node_p_switch", least=1)
    numbers = (n_racks * per_rack, row.whole("num_gpu_p_node", least=1), row.number("num_cpu_p_node"))
    if max(*numbers, row.number("mem_p_node")) > MOST:
        raise BadInput(
            name, row.number_in_file, f"a cluster of more than {MOST:,} nodes, GPUs, CPUs or GB is too large"
        )
    return uniform_cluster(
        n_nodes=n_racks * per_rack,
        n_racks=n_racks,
        n_gpus=row.whole("num_gpu_p_node", least=1),
        cpus=row.number("num_cpu_p_node", least=0),
        memory_bytes=int(row.number("mem_p_node", least=0) * 10**9),
        name=name,
    )


def cluster_from_mapping(value: Any, *, name: str) -> Cluster:
    """Returns the cluster of MLHub's cluster file, {racks: [{name, uplink, nodes: [{name, gpu_type, slots, cpus,
    memory, nic}]}]}.

    count: n on a node makes n of them, numbered. Tenants with their quota may stand under tenants. Raises BadInput that
    names the rack, node or tenant and what is wrong.
    """
    racks_value = value.get("racks") if isinstance(value, Mapping) else None
    if not isinstance(racks_value, list) or not racks_value:
        raise BadInput(name, None, "expected a list under racks:, each with name, uplink and nodes")
    racks, nodes = [], []
    for rack in racks_value:
        rack_name = str(_field(rack, "name", name, "a rack"))
        racks.append(RackSnapshot(rack_name, _bps(_field(rack, "uplink", name, f"rack {rack_name}"), name, rack_name)))
        below = _field(rack, "nodes", name, f"rack {rack_name}")
        if not isinstance(below, list):
            raise BadInput(name, None, f"rack {rack_name} has {below!r} under nodes:; list its nodes there")
        for node in below:
            nodes += _nodes_of(node, rack_name, name)
    for kind, names in (("rack", [r.name for r in racks]), ("node", [n.name for n in nodes])):
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise BadInput(name, None, f"{kind} {twice!r} is there twice; give each its own name")
    if not any(node.n_gpus for node in nodes):
        raise BadInput(name, None, "no node has a GPU; set slots: to 1 or more on some")
    return Cluster(
        tuple(nodes),
        tuple(racks),
        tenants_from_list(value.get("tenants") or [], name=name, n_gpus=sum(node.n_gpus for node in nodes)),
        name,
    )


def cluster_to_mapping(cluster: Cluster) -> dict[str, Any]:
    """Returns what cluster_from_mapping() reads, without the tenants; alike nodes of a rack are listed one by one."""
    return {
        "racks": [
            {
                "name": rack.name,
                "uplink": f"{rack.uplink_bps / 1e9:g}Gbit",
                "nodes": [_node_to_mapping(node) for node in cluster.nodes if node.rack == rack.name],
            }
            for rack in cluster.racks
        ]
    }


def _node_to_mapping(node: NodeSnapshot) -> dict[str, Any]:
    return {
        "name": node.name,
        "gpu_type": node.gpu_type,
        "slots": node.n_gpus,
        "cpus": int(node.cpus),
        "memory": f"{node.memory_bytes // (1 << 30)}GiB",
        "nic": f"{node.nic_bps / 1e9:g}Gbit",
    }


def _nodes_of(node: Any, rack_name: str, name: str) -> list[NodeSnapshot]:
    node_name = str(_field(node, "name", name, f"a node of rack {rack_name}"))
    where = f"node {node_name}"
    known = {"name", "gpu_type", "slots", "cpus", "memory", "nic", "count", "rack"}
    unknown = sorted(str(key) for key in set(node) - known)
    if unknown:
        raise BadInput(name, None, f"{where} has the unknown field {unknown[0]!r}; known: {', '.join(sorted(known))}")
    if node.get("rack", rack_name) != rack_name:
        raise BadInput(name, None, f"{where} links to rack {node['rack']!r} but is in {rack_name!r}")
    count = _count(node.get("count", 1), "count", name, where)
    one = NodeSnapshot(
        name=node_name,
        rack=rack_name,
        gpu_type=str(node.get("gpu_type", "gpu")),
        n_gpus=_count(_field(node, "slots", name, where), "slots", name, where),
        cpus=float(_count(node.get("cpus", 64), "cpus", name, where)),
        memory_bytes=int(_quantity(node.get("memory", "256GiB"), _BYTES, name, where, "memory such as 64GiB")),
        nic_bps=_bps(node.get("nic", "10Gbit"), name, node_name),
    )
    if count == 1:
        return [one]
    return [NodeSnapshot(**{**vars(one), "name": f"{node_name}-{i}"}) for i in range(count)]


def _field(value: Any, key: str, name: str, where: str) -> Any:
    if not isinstance(value, Mapping) or key not in value:
        raise BadInput(name, None, f"{where} has no {key!r}; add it")
    return value[key]


def _count(value: Any, key: str, name: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise BadInput(name, None, f"{where} has {key} {value!r}; it must be a whole number from 0 to {MOST:,}")
    return value


def _bps(value: Any, name: str, where: str) -> float:
    text = re.sub(r"(bit/s|bits|bit|bps)$", "", str(value).strip(), flags=re.IGNORECASE)
    bps = _quantity(text, _UNITS, name, where, "a bandwidth such as 10Gbit")
    if bps <= 0:
        raise BadInput(name, None, f"{where} has the bandwidth {value!r}; it must be above 0")
    return bps


def _quantity(value: Any, units: Mapping[str, float], name: str, where: str, what: str) -> float:
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(value).lower())
    try:
        found = float(match[1]) * units[match[2]] if match else -1.0
    except (ValueError, KeyError):
        found = -1.0
    return found if 0 <= found < _MOST_QUANTITY else _bad(name, where, value, what)


def _bad(name: str, where: str, value: Any, what: str) -> float:
    raise BadInput(name, None, f"{where} has {value!r} where {what} is expected")
