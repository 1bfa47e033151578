# SPDX-License-Identifier: Apache-2.0
"""The virtual cluster's file: racks, nodes, slots, bandwidths; errors name the place and the remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mlhub.backends.local.gpu_driver import GpuReading
from mlhub.backends.protocol import NodeStatus
from mlhub.wire.words import counted

WORKSTATION = "workstation"  # the name of the node when no cluster file was given
_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}
_BYTES = {"mib": 2**20, "gib": 2**30, "tib": 2**40}
_NODE_FIELDS = {"name", "gpu_type", "slots", "cpus", "memory", "nic", "labels", "address", "interface", "enter"}
_NODE_FIELDS |= {"gpus", "jobs_per_gpu"}


class ClusterFileError(ValueError):
    """The cluster file cannot be used; the message names file, place and remedy."""


@dataclass(frozen=True)
class LocalPlace:
    """Where a node's pods really run. address, interface: how the gang's other pods reach them.

    enter: words put before the pod's program, to take it into a network namespace or a control group.
    is_shared_network: the gang's other pods are on other machines, whatever the interface is called.
    """

    address: str = "127.0.0.1"
    interface: str = "lo"
    enter: tuple[str, ...] = ()
    is_shared_network: bool = False


@dataclass(frozen=True)
class LocalCluster:
    """places: of the nodes that are not plainly this machine. gpus: by node, the UUIDs of its GPUs by slot."""

    nodes: tuple[NodeStatus, ...]
    places: Mapping[str, LocalPlace] = field(default_factory=dict)
    gpus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def place(self, name: str) -> LocalPlace:
        return self.places.get(name, LocalPlace())

    def node(self, name: str) -> NodeStatus | None:
        return next((n for n in self.nodes if n.name == name), None)


def read_cluster(path: Path, readings: Sequence[GpuReading] = ()) -> LocalCluster:
    """Reads a cluster file. readings: the GPUs of this machine. Raises ClusterFileError."""
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
    found = [node for index, rack in enumerate(racks) for node in _rack(path, f"racks[{index}]", rack, readings)]
    nodes = [node for node, _, _ in found]
    names = [n.name for n in nodes]
    for name in names:
        if names.count(name) > 1:
            raise ClusterFileError(f"{path}: two nodes are called {name!r}; every node needs a name of its own.")
    gpus = {node.name: uuids for node, _, uuids in found if uuids}
    _check_gpus(path, gpus)
    return LocalCluster(tuple(nodes), {node.name: place for node, place, _ in found if place != LocalPlace()}, gpus)


def _rack(
    path: Path, place: str, raw: Any, readings: Sequence[GpuReading]
) -> list[tuple[NodeStatus, LocalPlace, tuple[str, ...]]]:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise ClusterFileError(f"{path}: {place}.name is missing; a rack needs name, uplink and nodes.")
    uplink_bps = _quantity(path, f"{place}.uplink", raw.get("uplink"), _BITS, "10Gbit")
    nodes = raw.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise ClusterFileError(f"{path}: {place}.nodes must be a list with at least one node.")
    found = []
    for index, node in enumerate(nodes):
        where = f"{place}.nodes[{index}]"
        _check_node(path, where, node)
        gpus = _gpus(path, where, node, readings)
        found.append((_node(path, where, node, raw["name"], uplink_bps, gpus), _place(path, where, node), gpus))
    return found


def _check_node(path: Path, place: str, raw: Any) -> None:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not re.fullmatch(r"[\w.-]+", raw["name"]):
        raise ClusterFileError(f"{path}: {place}.name must be a word of letters, digits, '.', '_' and '-'.")
    unknown = set(raw) - _NODE_FIELDS
    if unknown:
        raise ClusterFileError(f"{path}: {place} has unknown fields {sorted(unknown)}; known: {sorted(_NODE_FIELDS)}.")


def _gpus(path: Path, place: str, raw: dict[str, Any], readings: Sequence[GpuReading]) -> tuple[str, ...]:
    """The UUIDs of the node's GPUs: "all" of this machine, or a list of UUIDs or numbers."""
    asked = raw.get("gpus", [])
    there = [reading.uuid for reading in readings]
    if asked == "all":
        asked = there or ["all"]
    if not isinstance(asked, list):
        raise ClusterFileError(f"{path}: {place}.gpus is {asked!r}; write all, or a list of UUIDs or numbers.")
    found = [there[gpu] if type(gpu) is int and 0 <= gpu < len(there) else gpu for gpu in asked]
    for gpu in found:
        if gpu not in there:
            raise ClusterFileError(
                f"{path}: {place}.gpus names {gpu}, and the driver of this machine shows "
                f"{', '.join(there) or 'no GPU'}. Correct the list, or leave gpus out and give slots."
            )
    return tuple(found)


def _check_gpus(path: Path, gpus: Mapping[str, tuple[str, ...]]) -> None:
    uuids = [uuid for own in gpus.values() for uuid in own]
    for uuid in uuids:
        if uuids.count(uuid) > 1:
            raise ClusterFileError(f"{path}: the GPU {uuid} is listed twice; each belongs to one node.")


def _node(
    path: Path, place: str, raw: dict[str, Any], rack: str, uplink_bps: float, gpus: tuple[str, ...]
) -> NodeStatus:
    slots = raw.get("slots", len(gpus) or None)
    if gpus and slots != len(gpus):
        has = counted(len(gpus), "GPU")
        raise ClusterFileError(f"{path}: {place}.slots is {slots!r}, and it has {has}; leave slots out.")
    jobs_per_gpu = raw.get("jobs_per_gpu", 1)
    if type(jobs_per_gpu) is not int or jobs_per_gpu < 1:
        raise ClusterFileError(
            f"{path}: {place}.jobs_per_gpu is {jobs_per_gpu!r}; it must be a whole number of at least 1."
        )
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
        max_jobs_per_gpu=jobs_per_gpu,
        sharing=_words_on_sharing(jobs_per_gpu),
    )


def workstation(readings: Sequence[GpuReading], *, jobs_per_gpu: int = 1) -> LocalCluster:
    """This machine as a cluster of one node with all its GPUs. They count as one type, that of the first."""
    node = NodeStatus(
        name=WORKSTATION,
        rack="rack-1",
        gpu_type=re.sub(r"[^a-z0-9]+", "-", readings[0].name.lower()).strip("-") or "gpu",
        n_slots=len(readings),
        cpus=float(os.cpu_count() or 1),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        nic_bps=10e9,
        rack_uplink_bps=10e9,
        gpu_memory_bytes=min(reading.memory_bytes for reading in readings),
        max_jobs_per_gpu=jobs_per_gpu,
        sharing=_words_on_sharing(jobs_per_gpu),
    )
    return LocalCluster((node,), gpus={WORKSTATION: tuple(reading.uuid for reading in readings)})


def _words_on_sharing(jobs_per_gpu: int) -> str:
    return f"Up to {jobs_per_gpu} jobs may share a GPU." if jobs_per_gpu > 1 else ""


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
