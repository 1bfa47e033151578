# SPDX-License-Identifier: Apache-2.0
"""What an agent and the platform say to each other: reports of the one, orders of the other. JSON both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mlhub.backends.protocol import GpuStatus, NodeStatus
from mlhub.wire.exits import Cause
from mlhub.wire.launch import PodRole

PROTOCOL = 1  # rises when an older agent could misread an order
TOKEN_PREFIX = "mlg_"
MAX_TEXT, MAX_OUTPUT = 2000, 16_384  # characters of a message, and of the end of a pod's output
MAX_INSTANCE = 64
MOST_PROJECTS, MOST_HASHES = 10_000, 5000  # that a machine names in a request about its caches
# parts of the time after which a silent agent is lost: until when its pods may run on, and how long they may then save
LEASE_PART, GRACE_PART, REPORT_PART = 0.7, 0.15, 1 / 12
SILENT_REPORTS = 3.0  # an agent that missed so many gets no new pods


def silent_after_s(lost_after_s: float) -> float:
    """The seconds without a report after which an agent gets no new pods."""
    return SILENT_REPORTS * REPORT_PART * lost_after_s


@dataclass(frozen=True)
class PodEnd:
    """code: as shells write it. at: by the agent's clock. output: the end of what the pod printed.

    was_asked: to leave, by its machine: the platform was away for too long, or ends.
    """

    code: int
    cause: str
    message: str
    at: float
    output: str = ""
    was_asked: bool = False


@dataclass(frozen=True)
class PodReport:
    role: PodRole
    index: int
    has_started: bool
    end: PodEnd | None = None


@dataclass(frozen=True)
class GangReport:
    """An agent's share of a gang. ports: reserved for it; empty: not yet. problem, cause: why it cannot start here."""

    attempt_id: str
    ports: tuple[int, ...] = ()
    has_launched: bool = False
    problem: str = ""
    cause: str = ""
    is_final: bool = False
    pods: tuple[PodReport, ...] = ()


@dataclass(frozen=True)
class AgentReport:
    """now: by the agent's clock, in seconds. address: where its pods listen; "" = where its requests come from.

    node: the machine, under whatever name; its name is the agent's. problem: why no pod may start there. instance:
    differs between any two agents that run at a time, and stays the same when one starts again.
    """

    version: str
    python: str
    now: float
    address: str
    node: NodeStatus
    problem: str = ""
    gangs: tuple[GangReport, ...] = ()
    instance: str = ""
    protocol: int = PROTOCOL

    def to_json(self) -> dict[str, Any]:
        """What a pod printed may hold anything: characters that the platform refuses are replaced."""
        found: dict[str, Any] = _storable(asdict(self))
        return found

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> AgentReport:
        """Raises ValueError for what is no report."""
        try:
            return cls(
                version=_text(raw["version"]),
                python=_text(raw["python"]),
                now=float(raw["now"]),
                address=_text(raw["address"]),
                node=node_from_json(raw["node"]),
                problem=_text(raw["problem"]),
                gangs=tuple(_gang(gang) for gang in raw["gangs"]),
                instance=_text(raw.get("instance", ""), most=MAX_INSTANCE),
                protocol=int(raw["protocol"]),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a report of an agent: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class StopOrder:
    """remaining_s: until the pods are killed."""

    remaining_s: float
    why: str


@dataclass(frozen=True)
class GangOrder:
    """A gang that has pods on this agent's machine. spec: a LaunchSpec as JSON, without secrets; "" = it has launched.

    addresses: of the whole gang, once all its agents have reserved what it needs; None before. secrets: of the
    LaunchSpec, as long as the pods have not launched.
    """

    attempt_id: str
    spec: str = ""
    addresses: dict[str, Any] | None = None
    secrets: dict[str, Any] = field(default_factory=dict, repr=False)
    stop: StopOrder | None = None


@dataclass(frozen=True)
class CheckpointFolder:
    """The folder that all machines share. marker: a file in it that reads `content`."""

    path: str
    marker: str
    content: str


def proofs_in(folder: CheckpointFolder) -> Path:
    """A folder that the platform makes there as it makes those of jobs, in which agents try whether they may write."""
    return Path(folder.path) / f"{folder.marker}.d"


@dataclass(frozen=True)
class Orders:
    """All that is to be on the machine: what is not listed is ended. state: changes whenever the orders do."""

    name: str
    state: str
    lost_after_s: float
    public_url: str
    checkpoints: CheckpointFolder
    gangs: tuple[GangOrder, ...] = ()
    protocol: int = PROTOCOL

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Orders:
        """Raises ValueError for what are no orders of this protocol."""
        if raw.get("protocol") != PROTOCOL:
            raise ValueError(f"The platform speaks protocol {raw.get('protocol')!r}, this agent {PROTOCOL}.")
        try:
            gangs = tuple(
                GangOrder(**{**gang, "stop": StopOrder(**gang["stop"]) if gang["stop"] else None})
                for gang in raw["gangs"]
            )
            return cls(**{**raw, "checkpoints": CheckpointFolder(**raw["checkpoints"]), "gangs": gangs})
        except (KeyError, TypeError) as error:
            raise ValueError(f"not orders for an agent: {error}") from error


@dataclass(frozen=True)
class DeletedCaches:
    """What a machine's caches are to lose: whole projects, and inputs of others, by project."""

    projects: frozenset[str]
    inputs: dict[str, frozenset[str]]

    def to_json(self) -> dict[str, Any]:
        inputs = [{"project": project, "sha256s": sorted(found)} for project, found in sorted(self.inputs.items())]
        return {"projects": sorted(self.projects), "inputs": inputs}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> DeletedCaches:
        """Raises ValueError for what is no such answer."""
        try:
            inputs = {str(one["project"]): frozenset(map(str, one["sha256s"])) for one in raw["inputs"]}
            return cls(frozenset(map(str, raw["projects"])), inputs)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not what caches are to lose: {error}") from error


def node_from_json(raw: Mapping[str, Any]) -> NodeStatus:
    """Raises ValueError, KeyError or TypeError for what is no node."""
    known = {f.name for f in fields(NodeStatus)}
    gpus = tuple(GpuStatus(**gpu) for gpu in raw["gpus"])
    node = NodeStatus(**{**{name: value for name, value in raw.items() if name in known}, "gpus": gpus})
    numbers = (node.cpus, node.memory_bytes, node.nic_bps, node.rack_uplink_bps)
    if type(node.n_slots) is not int or not 0 < node.n_slots <= 1024 or not all(0 < float(n) < 1e18 for n in numbers):
        raise ValueError("its slots, CPUs, memory or bandwidth is no number above 0")
    return node


def _gang(raw: Mapping[str, Any]) -> GangReport:
    ports = tuple(int(port) for port in raw["ports"])
    if not all(0 < port < 65536 for port in ports):
        raise ValueError(f"{ports} are no ports")
    return GangReport(
        attempt_id=_text(raw["attempt_id"]),
        ports=ports,
        has_launched=bool(raw["has_launched"]),
        problem=_text(raw["problem"]),
        cause=str(Cause(raw["cause"])) if raw["cause"] else "",
        is_final=bool(raw["is_final"]),
        pods=tuple(pod_from_json(pod) for pod in raw["pods"]),
    )


def pod_from_json(raw: Mapping[str, Any]) -> PodReport:
    """Raises ValueError, KeyError or TypeError for what is no pod."""
    end = raw["end"]
    return PodReport(
        PodRole(raw["role"]),
        int(raw["index"]),
        bool(raw["has_started"]),
        None
        if end is None
        else PodEnd(
            code=int(end["code"]),
            cause=str(Cause(end["cause"])) if end["cause"] else "",
            message=_text(end["message"]),
            at=float(end["at"]),
            output=_text(end["output"], most=MAX_OUTPUT),
            was_asked=bool(end["was_asked"]),
        ),
    )


def _text(value: Any, *, most: int = MAX_TEXT) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value[:most]


def _storable(value: Any) -> Any:
    """The same without NUL and without halves of characters, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, Mapping):
        return {name: _storable(each) for name, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list | tuple) else value
