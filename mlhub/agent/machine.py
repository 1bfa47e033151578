# SPDX-License-Identifier: Apache-2.0
"""What this machine offers as a node: processors, memory, GPUs, its network."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from mlhub.backends.local.cluster import workstation
from mlhub.backends.local.gpu_driver import GpuReading
from mlhub.backends.protocol import NodeStatus

CPU_SLOT = "cpu-slot"  # the type of a slot without a GPU
USUAL_NIC_BPS = 1e9
LOOPBACK = "127.0.0.1"
SIOCGIFADDR = 0x8915
ELSEWHERE = ("192.0.2.1", 9)  # an address for documentation: nothing is sent there


class MachineError(Exception):
    """The machine is not as the options say; the message names the option and the remedy."""


def node_of_machine(
    name: str,
    readings: Sequence[GpuReading],
    *,
    interface: str,
    rack: str,
    slots: int | None,
    cpus: float | None,
    memory_bytes: int | None,
    jobs_per_gpu: int,
    gpu_type: str = "",
) -> NodeStatus:
    """slots: of a machine whose GPUs are not used, or that has none; by default one for every second processor."""
    processors = float(os.cpu_count() or 1)
    if readings:
        if slots is not None:
            raise MachineError(
                f"--slots {slots}: this machine offers its {len(readings)} GPUs. Leave --slots out, or give --no-gpus."
            )
        node = replace(workstation(readings, jobs_per_gpu=jobs_per_gpu).nodes[0], name=name)
    else:
        all_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        node = NodeStatus(
            name=name,
            rack="",
            gpu_type=CPU_SLOT,
            n_slots=slots or max(1, int(processors) // 2),
            cpus=processors,
            memory_bytes=all_bytes,
            nic_bps=0,
            rack_uplink_bps=0,
        )
    nic_bps = nic_bps_of(interface)
    return replace(
        node,
        rack=rack,
        cpus=cpus or node.cpus,
        memory_bytes=memory_bytes or node.memory_bytes,
        nic_bps=nic_bps,
        rack_uplink_bps=10 * nic_bps,
        gpu_type=gpu_type or node.gpu_type,
    )


def nic_bps_of(interface: str) -> float:
    """As its driver says; 1 Gbit/s where it does not. Between pods of one machine nothing is slow."""
    if interface == "lo":
        return 10e9
    with contextlib.suppress(OSError, ValueError):
        megabits = int(Path(f"/sys/class/net/{interface}/speed").read_text())
        if megabits > 0:
            return megabits * 1e6
    return USUAL_NIC_BPS


def own_address(server: str) -> str:
    """The address from which this machine reaches the platform; where that is on this machine or has no IPv4 address,
    the one from which it reaches others.

    Raises MachineError where there is no IPv4 address by which others reach this machine, and there are others.
    """
    address = urlsplit(server)
    host = address.hostname or LOOPBACK
    found = _source(host, address.port or (443 if address.scheme == "https" else 80))
    if found and not found.startswith("127."):
        return found
    is_here = bool(found) or host in ("localhost", "::1")
    if elsewhere := _source(*ELSEWHERE):
        return elsewhere
    if is_here:
        return LOOPBACK
    raise MachineError(
        f"This machine has no IPv4 address from which it reaches {host}. Pods on several machines connect to each "
        "other by IPv4: give the machine such an address, and name it with --address."
    )


def _source(host: str, port: int) -> str:
    """ "": there is no way there by IPv4."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))  # sends nothing
        return str(probe.getsockname()[0])
    return ""


def address_and_interface(given: str) -> tuple[str, str]:
    """An address of this machine, and the interface that has it. given: an address or a name. Raises MachineError."""
    try:
        address = socket.gethostbyname(given)
    except OSError as error:
        raise MachineError(f"--address {given}: it cannot be resolved ({error}). Give an IPv4 address.") from error
    known = _addresses()
    if address.startswith("127."):
        return address, "lo"
    for interface, own in known.items():
        if own == address:
            return address, interface
    here = ", ".join(sorted(known.values()))
    raise MachineError(f"--address {given}: no interface of this machine has it. There are {here}.")


def _addresses() -> dict[str, str]:
    """The first IPv4 address of each interface."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, interface in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = struct.pack("256s", interface.encode()[:15])
                found[interface] = socket.inet_ntoa(fcntl.ioctl(probe.fileno(), SIOCGIFADDR, asked)[20:24])
    return found
