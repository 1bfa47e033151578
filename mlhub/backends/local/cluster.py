# SPDX-License-Identifier: Apache-2.0
"""The virtual cluster's file: racks, nodes, slots, bandwidths; errors name the place and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mlhub.backends.protocol import NodeStatus

_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}
_BYTES = {"mib": 2**20, "gib": 2**30, "tib": 2**40}
_NODE_FIELDS = {"name", "gpu_type", "slots", "cpus", "memory", "nic", "labels", "address", "interface", "enter"}


class ClusterFileError(ValueError):
    """The cluster file cannot be used; the message names file, place and remedy."""


@dataclass(frozen=True)
class LocalPlace:
    """Where a node's pods really run. address, interface: how the gang's other pods reach them.

    enter: words put before the pod's program, to take it into a network namespace or a control group.
    """

    address: str = "127.0.0.1"
    interface: str = "lo"
    enter: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocalCluster:
    """places: of the nodes that are not plainly this machine."""

    nodes: tuple[NodeStatus, ...]
    places: Mapping[str, LocalPlace] = field(default_factory=dict)

    def place(self, name: str) -> LocalPlace:
        return self.places.get(name, LocalPlace())

    def node(self, name: str) -> NodeStatus | None:
        return next((n for n in self.nodes if n.name == name), None)


def read_cluster(path: Path) -> LocalCluster:
    """Raises ClusterFileError."""
    try:
        raw = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ClusterFileError(
            f"{path}: cannot be read ({error.strerror}). Name another with MLHUB_CLUSTER_FILE."
        ) from error
    except yaml.YAMLError as error:
        raise ClusterFileError(f"{path}: not YAML: {error}") from error
    racks = raw.get("racks") if isinstance(raw, dict) else None
    if not isinstance(racks, list) or not racks:
        raise ClusterFileError(f"{path}: `racks` must be a list with at least one rack.")
    found = [node for index, rack in enumerate(racks) for node in _rack(path, f"racks[{index}]", rack)]
    nodes = [node for node, _ in found]
    names = [n.name for n in nodes]
    for name in names:
        if names.count(name) > 1:
            raise ClusterFileError(f"{path}: two nodes are called {name!r}; every node needs a name of its own.")
    return LocalCluster(tuple(nodes), {node.name: place for node, place in found if place != LocalPlace()})


def _rack(path: Path, place: str, raw: Any) -> list[tuple[NodeStatus, LocalPlace]]:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise ClusterFileError(f"{path}: {place}.name is missing; a rack needs name, uplink and nodes.")
    uplink_bps = _quantity(path, f"{place}.uplink", raw.get("uplink"), _BITS, "10Gbit")
    nodes = raw.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise ClusterFileError(f"{path}: {place}.nodes must be a list with at least one node.")
    return [
        (_node(path, f"{place}.nodes[{i}]", n, raw["name"], uplink_bps), _place(path, f"{place}.nodes[{i}]", n))
        for i, n in enumerate(nodes)
    ]


def _node(path: Path, place: str, raw: Any, rack: str, uplink_bps: float) -> NodeStatus:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not re.fullmatch(r"[\w.-]+", raw["name"]):
        raise ClusterFileError(f"{path}: {place}.name must be a word of letters, digits, '.', '_' and '-'.")
    unknown = set(raw) - _NODE_FIELDS
    if unknown:
        raise ClusterFileError(f"{path}: {place} has unknown fields {sorted(unknown)}; known: {sorted(_NODE_FIELDS)}.")
    slots = raw.get("slots")
    if not isinstance(slots, int) or isinstance(slots, bool) or slots < 1:
        raise ClusterFileError(f"{path}: {place}.slots is {slots!r}; it must be a whole number of at least 1.")
    cpus = raw.get("cpus", slots)
    if not isinstance(cpus, int | float) or cpus <= 0:
        raise ClusterFileError(f"{path}: {place}.cpus is {cpus!r}; it must be a number above 0.")
    return NodeStatus(
        name=raw["name"],
        rack=rack,
        gpu_type=str(raw.get("gpu_type", "cpu-slot")),
        n_slots=slots,
        cpus=float(cpus),
        memory_bytes=int(_quantity(path, f"{place}.memory", raw.get("memory"), _BYTES, "8GiB")),
        nic_bps=_quantity(path, f"{place}.nic", raw.get("nic"), _BITS, "10Gbit"),
        rack_uplink_bps=uplink_bps,
        labels={str(k): str(v) for k, v in (raw.get("labels") or {}).items()},
    )


def _place(path: Path, place: str, raw: dict[str, Any]) -> LocalPlace:
    usual = LocalPlace()
    address, interface = str(raw.get("address", usual.address)), str(raw.get("interface", usual.interface))
    enter = raw.get("enter", [])
    if not isinstance(enter, list) or not all(isinstance(word, str) for word in enter):
        raise ClusterFileError(f"{path}: {place}.enter must be a list of words, such as [nsenter, --net=/run/netns/a].")
    return LocalPlace(address, interface, tuple(enter))


def _quantity(path: Path, place: str, raw: Any, units: dict[str, float] | dict[str, int], example: str) -> float:
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)\s*", str(raw))
    value = float(match[1]) * units.get(match[2].lower(), 0) if match and match[1].count(".") <= 1 else 0.0
    if value <= 0:
        raise ClusterFileError(f"{path}: {place} is {raw!r}; write it like {example} (units: {', '.join(units)}).")
    return value
