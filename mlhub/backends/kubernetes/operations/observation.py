# SPDX-License-Identifier: Apache-2.0
"""Looks at one gang: shows it as it is, and pushes it on where something broke off."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mlhub.backends.gang_rules import FAILURE_GRACE_S, StopReason
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.operations.launching import GangLauncher
from mlhub.backends.kubernetes.operations.removal import Remover
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.status.catalogue import FoundGang
from mlhub.backends.kubernetes.status.gangs import (
    GangState,
    KubePodState,
    Record,
    Stop,
    by_member,
    gang_state,
    vanished,
)
from mlhub.backends.kubernetes.status.nodes import lost
from mlhub.backends.kubernetes.status.problems import ending, is_running, needs_events, obstacle
from mlhub.backends.protocol import AttemptStatus, GangPhase
from mlhub.wire.exits import Cause

logger = logging.getLogger(__name__)
EventsByPod = Mapping[str, Sequence[Object]]  # by their pod's uid


class GangObserver:
    def __init__(
        self,
        options: KubernetesOptions,
        *,
        launcher: GangLauncher,
        remover: Remover,
        now: Callable[[], datetime],
        on_refusal: Callable[[str, str], None],
    ) -> None:
        """on_refusal: receives an attempt and the words of the API server, when it refuses what pushes a gang on."""
        self._options, self._launcher, self._remover = options, launcher, remover
        self._now, self._on_refusal = now, on_refusal

    def look_at(self, gang: FoundGang, nodes: Mapping[str, Object], events: EventsByPod) -> AttemptStatus | None:
        """None: it was half made, and is removed. Raises BackendUnavailableError, and DAMAGES for what is malformed."""
        if gang.record is None:
            message = "The gang's record is lost; its pods belong to no gang."
            return AttemptStatus(gang.attempt_id, GangPhase.FAILED, (), Cause.LAUNCH_FAILED, message)
        record = Record.of(gang.record)
        if gang.record["metadata"].get("deletionTimestamp"):
            return None
        if record.launched_at is None:
            return self._half_made(gang, record, nodes)
        refused = self._release(gang, record) if record.stop is None else ""
        state = self.state(record, gang.pods, nodes, events)
        wanted = state.wanted
        if refused and wanted is None:
            wanted = Stop(StopReason.START, self._now(), FAILURE_GRACE_S, Cause.LAUNCH_FAILED, refused)
        live = [p.pod for p in state.pods if p.pod is not None and p.ending is None]
        if wanted is not None:
            self._attempt(gang, lambda: self._remover.ask_to_stop(gang.record or {}, live, wanted))
        elif record.stop is not None:
            # asked, but the caller did not reach all pods
            rest, grace_s = [p for p in live if not p["metadata"].get("deletionTimestamp")], record.stop.grace_s
            self._attempt(gang, lambda: self._remover.terminate(rest, grace_s=grace_s))
        return state.status

    def state(
        self,
        record: Record,
        pods: Sequence[Object],
        nodes: Mapping[str, Object],
        events: EventsByPod,
        *,
        is_complete: bool = True,
    ) -> GangState:
        now = self._now()
        found = by_member(pods)
        states: list[KubePodState] = []
        for member in record.members:
            pod = found.get((member.role, member.index))
            node_lost = lost(nodes.get(member.node), member.node, now=now, after_s=self._options.node_lost_after_s)
            if pod is None:
                end = vanished(member, lost_node=node_lost, now=now) if is_complete else None
                states.append(KubePodState(member, None, end))
                continue
            end = ending(pod, lost_node=node_lost, now=now)
            if end is not None and end.cause is Cause.PREEMPTED and record.stop is None:
                end = replace(end, cause=Cause.KILLED, message="It was asked to leave, and not by MLHub.")
            hindered = None
            if end is None and record.stop is None and not is_running(pod):
                hindered = obstacle(
                    pod,
                    events.get(pod["metadata"]["uid"], ()) if needs_events(pod) else (),
                    now=now,
                    unschedulable_after_s=self._options.unschedulable_after_s,
                    released_at=record.launched_at,
                )
            states.append(KubePodState(member, pod, end, hindered))
        return gang_state(record, states, now=now)

    def _half_made(self, gang: FoundGang, record: Record, nodes: Mapping[str, Object]) -> AttemptStatus | None:
        if self._now() - record.created_at <= timedelta(seconds=self._options.half_made_after_s):
            return self.state(record, gang.pods, nodes, {}, is_complete=False).status
        logger.warning("kubernetes.half_made_gang_removed", extra={"attempt": record.attempt_id})
        self._attempt(gang, lambda: self._remover.remove(record.namespace, record.name, gang.record, gang.pods))
        return None

    def _release(self, gang: FoundGang, record: Record) -> str:
        """Of pods that a launch did not reach any more. Returns why the cluster refuses it, "" = it does not."""
        for pod in gang.pods:
            try:
                self._launcher.release(pod)
            except ApiError as error:
                self._on_refusal(record.attempt_id, str(error))
                if not (error.is_right or error.is_passing):  # which is no gang's fault, and may be mended
                    return f"The cluster does not let its pods start: {error}"
        return ""

    def _attempt(self, gang: FoundGang, do: Callable[[], None]) -> None:
        """What is refused is tried again in the next round, and costs the others nothing."""
        try:
            do()
        except (KubeNotFoundError, KubeConflictError) as error:
            logger.info("kubernetes.changed_meanwhile", extra={"attempt": gang.attempt_id, "error": error})
        except ApiError as error:
            self._on_refusal(gang.attempt_id, str(error))
