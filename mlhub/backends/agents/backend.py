# SPDX-License-Identifier: Apache-2.0
"""AgentsBackend: the five verbs over machines with an agent each. What should run is stored; agents fetch it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from mlhub.backends.agents.messages import silent_after_s
from mlhub.backends.agents.status import LostNode, gang_status
from mlhub.backends.agents.store import AgentStore, KnownAgent, KnownGang, KnownStop
from mlhub.backends.gang_rules import StopReason
from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    ItemKind,
    LaunchError,
    NodeStatus,
    QuarantinedItem,
    refusal_of_image,
    stop_each,
)
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodPlacement, PodRole
from mlhub.wire.words import counted

RESERVED_WITHIN_S = 6.0  # agents answer at once; a round does not wait for one that hangs
LOOK_EVERY_S = 0.05
INTERRUPTED_AFTER_S = 30.0  # longer than any launch takes


class AgentsBackend:
    """lost_after_s: an agent that has been silent for so long is lost, with its pods."""

    reads_platform_disk = False

    def __init__(
        self,
        store: AgentStore,
        *,
        lost_after_s: float,
        reserved_within_s: float = RESERVED_WITHIN_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.lost_after_s = lost_after_s
        self.reserved_within_s = reserved_within_s
        self._now = now
        # while the platform was down no agent could report: silence counts from here at the earliest
        self._began_at = now()
        self._problem_since: dict[str, datetime] = {}  # of GPUs

    def launch(self, spec: LaunchSpec) -> None:
        for error in self.launch_all([spec]).values():
            raise error

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        failed: dict[AttemptId, LaunchError | BackendUnavailableError] = {}
        agents = {agent.name: agent for agent in self.store.agents()}
        known = {gang.spec.attempt_id: gang for gang in self.store.gangs([spec.attempt_id for spec in specs])}
        waiting: set[AttemptId] = set()
        new: list[LaunchSpec] = []
        for spec in specs:
            gang = known.get(spec.attempt_id)
            if gang is not None and gang.released_at is not None:
                continue
            if (refusal := self._refusal(spec, agents)) is not None:
                failed[spec.attempt_id] = refusal
                if gang is not None:
                    self.store.remove(spec.attempt_id)
                continue
            waiting.add(spec.attempt_id)
            if gang is None:
                new.append(spec)
        self.store.add(new)
        until = time.monotonic() + self.reserved_within_s
        while waiting:
            is_late = time.monotonic() > until
            for gang in self.store.gangs(waiting):
                error = _unreserved(gang)
                if error is None and not is_late and any(not share.ports for share in gang.shares):
                    continue
                waiting.discard(gang.spec.attempt_id)
                error = error or _late(gang, self.reserved_within_s)
                if error is None:
                    self.store.release(gang.spec.attempt_id, addresses_of(gang, agents))
                else:
                    self.store.remove(gang.spec.attempt_id)
                    failed[gang.spec.attempt_id] = error
            if is_late:
                break
            if waiting:
                time.sleep(LOOK_EVERY_S)
        return failed

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        gang = next(iter(self.store.gangs([attempt_id])), None)
        if gang is None:
            return
        if gang.released_at is None or self._status(gang, self._lost()).phase.is_ended:
            self.store.remove(attempt_id)
            return
        why = StopReason.ASKED if gang.stop is None else gang.stop.why
        deadline = self._now() + timedelta(seconds=grace_s)
        cause, message = (None, "") if gang.stop is None else (gang.stop.cause, gang.stop.message)
        self.store.ask_to_stop(attempt_id, KnownStop(why, cause, message, deadline))

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        return stop_each(lambda attempt_id, grace_s: self.stop(attempt_id, grace_s=grace_s), stops)

    def observe(self) -> Sequence[AttemptStatus]:
        lost = self._lost()
        return [self._status(gang, lost) for gang in self.store.gangs()]

    def inventory(self) -> Sequence[NodeStatus]:
        return [self._node(agent) for agent in self.store.agents()]

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int) -> Iterator[str]:
        """The end of the output of a pod that has ended, as its agent reported it."""
        for gang in self.store.gangs([attempt_id]):
            for share in gang.shares:
                for pod in share.pods:
                    if (pod.role, pod.index) == (role, index) and pod.end is not None:
                        yield from pod.end.output.splitlines()

    def sweep_checkpoints(self, labels: Mapping[str, str], *, ended: Collection[str], older_than_s: float) -> None:
        """Does nothing: checkpoints are in a folder that the platform's machine shares, where it deletes them."""

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        """GPUs that their agent offers to no job."""
        problems = {
            f"{agent.name}/{gpu.index}": gpu.problem[:500]
            for agent in self.store.agents()
            for gpu in agent.node.gpus
            if gpu.problem
        }
        now = self._now()
        self._problem_since = {name: self._problem_since.get(name, now) for name in problems}
        return tuple(
            QuarantinedItem(ItemKind.GPU, name, problem, self._problem_since[name])
            for name, problem in sorted(problems.items())
        )

    def _node(self, agent: KnownAgent) -> NodeStatus:
        node = replace(agent.node, name=agent.name, has_own_cache=True)
        problem = self._lost_because(agent) or agent.problem
        if problem:
            return replace(node, is_ready=False, message=problem)
        if self._silent_s(agent) > silent_after_s(self.lost_after_s):
            message = f"Its agent has not reported since {agent.seen_at:%Y-%m-%d %H:%M:%S} UTC, and gets no new jobs."
            return replace(node, is_ready=False, message=message)
        return node

    def _silent_s(self, agent: KnownAgent) -> float:
        return (self._now() - max(agent.seen_at, self._began_at)).total_seconds()

    def _lost_because(self, agent: KnownAgent) -> str:
        if self._silent_s(agent) <= self.lost_after_s:
            return ""
        return (
            f"The agent of {agent.name} has not reported since {agent.seen_at:%Y-%m-%d %H:%M:%S} UTC. See there "
            "whether `mlhub agent run` runs, and what it says."
        )

    def _lost(self) -> dict[str, LostNode]:
        found = {}
        for agent in self.store.agents():
            if why := self._lost_because(agent):
                found[agent.name] = LostNode(why, agent.seen_at + timedelta(seconds=self.lost_after_s))
        return found

    def _refusal(
        self, spec: LaunchSpec, agents: Mapping[str, KnownAgent]
    ) -> LaunchError | BackendUnavailableError | None:
        """Why the gang is not even to be tried."""
        if (refusal := refusal_of_image(spec)) is not None:
            return refusal
        for pod in spec.pods:
            agent = agents.get(pod.node)
            if agent is None or (lost := self._lost_because(agent)):
                message = lost if agent is not None else f"There is no agent {pod.node}."
                return LaunchError(message, cause=Cause.NODE_LOST)
            if any(not 0 <= slot < agent.node.n_slots for slot in pod.slots):
                return LaunchError(f"Node {pod.node} has no slots {pod.slots}.", cause=Cause.LAUNCH_FAILED)
            if not (node := self._node(agent)).is_ready:
                return BackendUnavailableError(f"{pod.node}: {node.message}")
        return None

    def _status(self, gang: KnownGang, lost: Mapping[str, LostNode]) -> AttemptStatus:
        """The gang's status; asks its pods to leave where that is due."""
        attempt_id = gang.spec.attempt_id
        if gang.released_at is None:
            if (self._now() - gang.added_at).total_seconds() < INTERRUPTED_AFTER_S:
                return AttemptStatus(attempt_id, GangPhase.STARTING, ())
            message = "The launch was interrupted half way."
            return AttemptStatus(attempt_id, GangPhase.FAILED, (), Cause.LAUNCH_FAILED, message)
        status, stop = gang_status(gang, lost=lost, now=self._now())
        if stop is not None:
            self.store.ask_to_stop(attempt_id, stop)
        return status


def ports_needed(spec: LaunchSpec, node: str) -> int:
    """How many ports the agent of a node reserves: one for each pod there, and the rendezvous of rank 0."""
    here = [pod for pod in spec.pods if pod.node == node]
    return len(here) + any(_is_first(pod) for pod in here)


def addresses_of(gang: KnownGang, agents: Mapping[str, KnownAgent]) -> dict[str, Any]:
    """Where the pods of a gang listen, on the ports that their agents have reserved.

    A gang on one machine stays on its loopback, so that its pods can have a network of their own.
    """
    is_alone = len({pod.node for pod in gang.spec.pods}) == 1
    ports = {share.node: list(share.ports) for share in gang.shares}

    def take(pod: PodPlacement) -> str:
        host = "127.0.0.1" if is_alone else agents[pod.node].address
        return f"{host}:{ports[pod.node].pop(0)}"

    return {
        "master": take(gang.spec.workers[0]),
        "servers": [take(pod) for pod in gang.spec.servers],
        "workers": [take(pod) for pod in gang.spec.workers],
    }


def _is_first(pod: PodPlacement) -> bool:
    return pod.role is PodRole.WORKER and pod.index == 0


def _unreserved(gang: KnownGang) -> LaunchError | BackendUnavailableError | None:
    for share in gang.shares:
        if share.problem and share.is_final:
            return LaunchError(f"{share.node}: {share.problem}", cause=share.cause or Cause.LAUNCH_FAILED)
        if share.problem:
            return BackendUnavailableError(f"{share.node}: {share.problem}")
    return None


def _late(gang: KnownGang, within_s: float) -> BackendUnavailableError | None:
    missing = [share.node for share in gang.shares if not share.ports]
    if not missing:
        return None
    of = counted(len(missing), "agent")
    return BackendUnavailableError(f"{of} did not answer within {within_s:.0f} s: {', '.join(missing)}.")
