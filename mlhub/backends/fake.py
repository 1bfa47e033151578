# SPDX-License-Identifier: Apache-2.0
"""FakeBackend: gangs in memory that run until a test ends them. For tests of everything above the backend."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    LaunchError,
    NodeStatus,
    PodStatus,
    QuarantinedItem,
    launch_each,
    stop_each,
)
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole


@dataclass
class _Gang:
    spec: LaunchSpec
    phase: GangPhase = GangPhase.RUNNING
    cause: Cause | None = None
    message: str = ""
    exit_code: int | None = None
    failed_on: str = ""  # the node on which a pod failed; others lost their peer
    started_at: datetime | None = None
    ended_at: datetime | None = None
    kill_at: datetime | None = None


class FakeBackend:
    """Nodes as given; a clock that only `now` moves. is_stubborn: gangs ignore the request to leave until killed."""

    reads_platform_disk = True

    def __init__(self, nodes: Sequence[NodeStatus], *, now: datetime | None = None) -> None:
        self.nodes = list(nodes)
        self.now = now or datetime.now(UTC)
        self.launches: list[LaunchSpec] = []
        self.sweeps: list[tuple[str, list[str], float]] = []  # project, ended jobs, age
        self.damaged: list[QuarantinedItem] = []
        self.is_away = False
        self.is_stubborn = False
        self.starts_slowly = False
        self._gangs: dict[AttemptId, _Gang] = {}
        self._output: dict[tuple[AttemptId, PodRole, int], list[str]] = {}

    def launch(self, spec: LaunchSpec) -> None:
        self._reach()
        if spec.attempt_id in self._gangs:
            return
        for pod in spec.pods:
            node = next((n for n in self.nodes if n.name == pod.node and n.is_ready), None)
            if node is None:
                raise LaunchError(f"Node {pod.node} is not there.", cause=Cause.NODE_LOST)
            if any(not 0 <= slot < node.n_slots for slot in pod.slots):
                raise LaunchError(f"Node {pod.node} has no slots {pod.slots}.", cause=Cause.LAUNCH_FAILED)
        self.launches.append(spec)
        phase = GangPhase.STARTING if self.starts_slowly else GangPhase.RUNNING
        self._gangs[spec.attempt_id] = _Gang(spec, phase=phase, started_at=self.now)

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        return launch_each(self.launch, specs)

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        return stop_each(lambda attempt_id, grace_s: self.stop(attempt_id, grace_s=grace_s), stops)

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        self._reach()
        gang = self._gangs.get(attempt_id)
        if gang is None:
            return
        if gang.phase.is_ended:
            del self._gangs[attempt_id]
        elif not self.is_stubborn:
            self._end(gang, GangPhase.STOPPED, ExitCode.PREEMPTED)
        else:
            gang.phase = GangPhase.STOPPING
            deadline = datetime.fromtimestamp(self.now.timestamp() + grace_s, UTC)
            gang.kill_at = min(gang.kill_at or deadline, deadline)

    def observe(self) -> Sequence[AttemptStatus]:
        self._reach()
        for gang in self._gangs.values():
            if gang.kill_at is not None and self.now >= gang.kill_at and not gang.phase.is_ended:
                gang.cause, gang.message = Cause.KILLED, "It did not leave in time and was killed."
                self._end(gang, GangPhase.STOPPED, -9)
        return [self._status(attempt_id, gang) for attempt_id, gang in sorted(self._gangs.items())]

    def inventory(self) -> Sequence[NodeStatus]:
        self._reach()
        return list(self.nodes)

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int) -> Iterator[str]:
        yield from self._output.get((attempt_id, role, index), [])

    def sweep_checkpoints(self, labels: Mapping[str, str], *, ended: Collection[str], older_than_s: float) -> None:
        self._reach()
        self.sweeps.append((labels["project_id"], sorted(ended), older_than_s))

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        return tuple(self.damaged)

    # What a test does to it

    def start(self, attempt_id: str) -> None:
        """With starts_slowly: every pod of the gang now runs."""
        self._gangs[AttemptId(attempt_id)].phase = GangPhase.RUNNING

    def finish(self, attempt_id: str) -> None:
        self._end(self._gangs[AttemptId(attempt_id)], GangPhase.SUCCEEDED, ExitCode.DONE)

    def fail(self, attempt_id: str, cause: Cause, message: str = "It failed.", *, on: str = "") -> None:
        """on: the node whose pods failed, while those of others lost their peers; "" = all failed."""
        gang = self._gangs[AttemptId(attempt_id)]
        gang.cause, gang.message, gang.failed_on = cause, message, on
        self._end(gang, GangPhase.FAILED, 1)

    def lose_worker(self, attempt_id: str, message: str = "1 worker was lost.") -> None:
        """Of a gang that survives it; any other fails."""
        gang = self._gangs[AttemptId(attempt_id)]
        if gang.spec.survives_lost_workers:
            gang.message = message
        else:
            self.fail(attempt_id, Cause.KILLED, message)

    def lose_node(self, name: str) -> None:
        """The node is gone, with every gang that had a pod on it."""
        self.nodes = [
            replace(n, is_ready=False, message="The node is down.") if n.name == name else n for n in self.nodes
        ]
        for attempt_id, gang in self._gangs.items():
            if not gang.phase.is_ended and any(pod.node == name for pod in gang.spec.pods):
                self.fail(attempt_id, Cause.NODE_LOST, f"Node {name} went down.")

    def forget_everything(self) -> None:
        """Drops every gang without a report, as if the cluster had lost them."""
        self._gangs.clear()

    def print(self, attempt_id: str, line: str, *, role: PodRole = PodRole.WORKER, index: int = 0) -> None:
        self._output.setdefault((AttemptId(attempt_id), role, index), []).append(line)

    def _reach(self) -> None:
        if self.is_away:
            raise BackendUnavailableError("The backend cannot be reached.")

    def _end(self, gang: _Gang, phase: GangPhase, exit_code: int) -> None:
        gang.phase, gang.exit_code, gang.ended_at = phase, exit_code, self.now

    def _status(self, attempt_id: AttemptId, gang: _Gang) -> AttemptStatus:
        is_running = gang.phase in (GangPhase.RUNNING, GangPhase.STOPPING)

        def exit_code(node: str) -> int | None:
            return ExitCode.PEER_LOST if gang.failed_on not in ("", node) else gang.exit_code

        return AttemptStatus(
            attempt_id=attempt_id,
            phase=gang.phase,
            pods=tuple(PodStatus(p.role, p.index, p.node, is_running, exit_code(p.node)) for p in gang.spec.pods),
            cause=gang.cause,
            message=gang.message,
            started_at=gang.started_at,
            ended_at=gang.ended_at,
        )
