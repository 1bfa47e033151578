# SPDX-License-Identifier: Apache-2.0
"""Virtual nodes on one machine: network namespaces with limited NICs and rack uplinks, and a share of the CPUs each.

Needs root on Linux with `ip`, `tc` and `nsenter`. Links are limited in both directions by token buckets (tc-tbf). Where
others use the machine as well, the nodes' groups come first, so that each gets its share whatever runs beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
BURST_BYTES = 32_000
TICK_S = 0.001  # of the bucket: a fast link needs more at a time
LATENCY = "50ms"
SUBNET = "10.77.0"
PERIOD_US = 20_000  # of the quotas: short beside a step, so that all steps of a job are cut alike
SHARES = (
    20_480  # of the processors that nodes get before others, twenty times the usual 1,024; version 2: a weight of 2,000
)


@dataclass(frozen=True)
class NodeSpeed:
    """What nodes of one kind have. cpus: their share of this machine, which stands for the speed of their GPU."""

    gpu_type: str
    cpus: float


@dataclass(frozen=True)
class VirtualNode:
    """enter: words that put a program onto the node."""

    name: str
    rack: str
    address: str
    enter: tuple[str, ...]
    gpu_type: str = "cpu-slot"


@dataclass(frozen=True)
class VirtualCluster:
    """gateway: this machine's address as the nodes see it."""

    nodes: tuple[VirtualNode, ...]
    gateway: str
    nic_bps: float
    uplink_bps: float

    def as_yaml(self) -> str:
        """The cluster file that the local backend reads."""
        lines = ["racks:"]
        for rack in dict.fromkeys(node.rack for node in self.nodes):
            lines += [f"  - name: {rack}", f"    uplink: {self.uplink_bps / 1e6:g}Mbit", "    nodes:"]
            for node in self.nodes:
                if node.rack == rack:
                    place = f"address: {node.address}, interface: eth0, enter: {json.dumps(node.enter)}"
                    size = f"gpu_type: {node.gpu_type}, slots: 1, cpus: 2, memory: 2GiB"
                    size += f", nic: {self.nic_bps / 1e6:g}Mbit"
                    lines.append(f"      - {{name: {node.name}, {size}, {place}}}")
        return "\n".join(lines) + "\n"


def why_not() -> str | None:
    """Why virtual nodes cannot be made here, or None if they can."""
    missing = [tool for tool in ("ip", "tc", "nsenter") if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not found (Debian: iproute2, util-linux)"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"mlhub-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces are not permitted here: {made.stderr.strip()}"
    _run("ip", "netns", "del", probe)
    return None


@contextlib.contextmanager
def virtual_cluster(
    *, racks: Sequence[Sequence[NodeSpeed]], nic_bps: float, uplink_bps: float
) -> Iterator[VirtualCluster]:
    """A core switch, a switch a rack, nodes below; all is removed at the end. racks: by rack, the kinds of its nodes.

    Raises RuntimeError with the tool's words if something could not be made.
    """
    core = "mlhub-core"
    _clear()
    with contextlib.ExitStack() as made:
        _bridge(made, core)
        _run("ip", "addr", "add", f"{SUBNET}.1/24", "dev", core)
        nodes: list[VirtualNode] = []
        for r, kinds in enumerate(racks):
            switch = f"mlhub-rack{r}"
            _bridge(made, switch)
            up, down = f"mlh-up{r}", f"mlh-down{r}"
            _pair(made, up, down)
            for end, bridge in ((up, switch), (down, core)):
                _run("ip", "link", "set", end, "master", bridge, "up")
                _limit(end, uplink_bps)
            for kind in kinds:
                nodes.append(_node(made, number=len(nodes), rack=r, nic_bps=nic_bps, kind=kind))
        yield VirtualCluster(tuple(nodes), f"{SUBNET}.1", nic_bps, uplink_bps)


def _clear() -> None:
    """What a killed run left behind: the names are always the same, so that it can be found."""
    spaces = [path.name for path in Path("/run/netns").glob("mlhub-node-*")]
    for space in spaces:
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
        for groups in (GROUPS, GROUPS / "cpu"):
            _remove_group(groups / space)
    for link in Path("/sys/class/net").iterdir():
        if link.name.startswith(("mlhub-", "mlh-")):
            subprocess.run(["ip", "link", "del", link.name], capture_output=True, check=False)


def _node(made: contextlib.ExitStack, *, number: int, rack: int, nic_bps: float, kind: NodeSpeed) -> VirtualNode:
    name = f"node-{number}"
    space, outside, inside = f"mlhub-{name}", f"mlh-port{number}", f"mlh-nic{number}"
    address = f"{SUBNET}.{10 + number}"
    _run("ip", "netns", "add", space)
    made.callback(_run, "ip", "netns", "del", space)
    _pair(made, outside, inside)
    _run("ip", "link", "set", inside, "netns", space, "name", "eth0")
    _run("ip", "link", "set", outside, "master", f"mlhub-rack{rack}", "up")
    _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
    for link in ("lo", "eth0"):
        _run("ip", "-n", space, "link", "set", link, "up")
    _limit("eth0", nic_bps, space=space)
    _limit(outside, nic_bps)
    group = _cpu_group(made, space, kind.cpus)
    words = (f"--net=/run/netns/{space}", "--")
    enter = ("sh", "-c", f'echo 0 > {group}/cgroup.procs; exec "$@"', "sh") if group else ()
    return VirtualNode(name, f"rack-{rack}", address, (*enter, "nsenter", *words), kind.gpu_type)


def _bridge(made: contextlib.ExitStack, name: str) -> None:
    _run("ip", "link", "add", name, "type", "bridge")
    made.callback(_run, "ip", "link", "del", name)
    _run("ip", "link", "set", name, "up")


def _pair(made: contextlib.ExitStack, one: str, other: str) -> None:
    _run("ip", "link", "add", one, "type", "veth", "peer", "name", other)
    # one end goes with its namespace, and takes the other along
    made.callback(subprocess.run, ["ip", "link", "del", one], capture_output=True, check=False)


def _limit(device: str, bps: float, *, space: str = "") -> None:
    within = ("-n", space) if space else ()
    burst_bytes = max(BURST_BYTES, int(bps / 8 * TICK_S))
    rate = ("rate", f"{bps:.0f}bit", "burst", str(burst_bytes), "latency", LATENCY)
    _run("tc", *within, "qdisc", "add", "dev", device, "root", "tbf", *rate)


def _cpu_group(made: contextlib.ExitStack, name: str, cpus: float) -> Path | None:
    """A control group with a CPU quota, version 1 or 2; None where there is none to be had."""
    is_v1 = (GROUPS / "cpu").is_dir()
    group = (GROUPS / "cpu" if is_v1 else GROUPS) / name
    try:
        group.mkdir(exist_ok=True)
        if is_v1:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(int(cpus * PERIOD_US)))
            (group / "cpu.shares").write_text(str(SHARES))
        else:
            (group / "cpu.max").write_text(f"{int(cpus * PERIOD_US)} {PERIOD_US}")
            (group / "cpu.weight").write_text(str(SHARES * 100 // 1024))
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        return None
    made.callback(_remove_group, group)
    return group


def _remove_group(group: Path) -> None:
    with contextlib.suppress(OSError):  # a straggler still in it: it goes with the machine
        group.rmdir()


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
