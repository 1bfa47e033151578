# SPDX-License-Identifier: Apache-2.0
"""A trace as the live loop decides it, over a fake backend, and what such a platform declares of its jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import NodeStatus
from mlhub.control.models import SchedulerSettings
from mlhub.control.rounds.loop import Loop
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from scheduler import Launch, Plan, Preempt, Resize, policy_named
from scheduler.api.snapshot import JobSnapshot, Mode, TenantSnapshot
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.jobs.builders import PROFILE

PERIOD_S = 10
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
START_S, CHECKPOINT_S = 15.0, 2.0  # what the platform says as long as no start was measured
Story = list[tuple[int, str, str, tuple[str, ...]]]


class DeclaredEnvironment(CountingEnvironment):
    """Simulates jobs of which the scheduler knows what the live platform would declare.

    A worker's exchange of parameters costs microseconds, but it orders two jobs that would be equal without it.
    """

    def _snapshot(self, job: TraceJob) -> JobSnapshot:
        return replace(
            super()._snapshot(job),
            mode=Mode.ALL_REDUCE,
            parameters_bytes=int(PROFILE["parameters_bytes"]),
            start_s=START_S,
            checkpoint_s=CHECKPOINT_S,
        )


def declared_profile(wanted: TraceJob) -> dict[str, object]:
    """Returns a job's measured profile: a step a second, whatever its size."""
    return PROFILE | {"example_s": 0.0, "step_overhead_s": 1.0, "steps_total": int(wanted.duration_s)}


def events_of(now_s: float, plan: Plan, names: dict[str, str]) -> Story:
    """Returns who starts and leaves, and where: (second, what, job, nodes)."""
    story: Story = []
    for decision in plan.decisions:
        if isinstance(decision, Launch):
            places = tuple(f"{s.node}:{g}" for s in decision.allocation.shares for g in s.gpus)
            story.append((int(now_s), "starts", names[decision.job], places))
        elif isinstance(decision, Preempt | Resize):
            story.append((int(now_s), "leaves", names[decision.job], ()))
    return story


def simulated(environment: DeclaredEnvironment, policy: str) -> Story:
    """Returns what the simulator does. An order to leave is carried out by the next round, as the loop observes it."""
    story: Story = []
    names = {arrival.job.id: arrival.job.id for arrival in environment.arrivals}
    simulate(
        environment,
        policy=policy_named(policy, {}),
        period_s=PERIOD_S,
        on_round=lambda snapshot, plan: story.extend(events_of(snapshot.now_s, plan, names)),
    )
    return story


def environment_of(
    trace: Trace,
    cluster: Cluster,
    *,
    kind: type[DeclaredEnvironment] = DeclaredEnvironment,
    tenants: tuple[TenantSnapshot, ...] = (),
) -> DeclaredEnvironment:
    return kind(trace, cluster, stop_s=PERIOD_S, tenants=tenants)


def lived(trace: Trace, cluster: Cluster, policy: str, submit: Callable[[TraceJob], Job]) -> Story:
    """Returns what the real loop does with the same jobs as rows, on fake gangs that train as long as declared."""
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": policy, "parameters": {}})
    backend, clock = FakeBackend(_nodes(cluster), now=BEGAN), [BEGAN]
    loop = Loop(backend, now=lambda: clock[0])
    story: Story = []
    names: dict[str, str] = {}
    todo = sorted(trace.jobs, key=lambda j: (j.submitted_at_s, j.id))
    trained_until: dict[str, float] = {}
    for tick in range(0, 4000, PERIOD_S):
        clock[0] = backend.now = BEGAN + timedelta(seconds=tick)
        while todo and todo[0].submitted_at_s <= tick:
            of = _submitted(todo.pop(0), submit)
            names[str(of.id)] = of.name
        _train(backend, tick, trained_until)
        record = loop.round()
        assert record is not None
        assert not record.error
        assert loop.plan is not None
        story += events_of(tick, loop.plan, names)
        Attempt.objects.filter(created_at__gt=clock[0]).update(created_at=clock[0])
        if not todo and not Job.objects.exclude(state=JobState.SUCCEEDED).exists():
            return story
    raise AssertionError("the jobs never ended")


def _nodes(cluster: Cluster) -> list[NodeStatus]:
    uplinks = {rack.name: rack.uplink_bps for rack in cluster.racks}
    return [
        NodeStatus(n.name, n.rack, n.gpu_type, n.n_gpus, n.cpus, n.memory_bytes, n.nic_bps, uplinks[n.rack])
        for n in cluster.nodes
    ]


def _submitted(wanted: TraceJob, submit: Callable[[TraceJob], Job]) -> Job:
    found = submit(wanted)
    Job.objects.filter(pk=found.pk).update(submitted_at=BEGAN + timedelta(seconds=wanted.submitted_at_s))
    return found


def _train(backend: FakeBackend, tick: int, trained_until: dict[str, float]) -> None:
    """A step a second for every gang that runs; those that are done end."""
    for status in backend.observe():
        if status.phase.is_ended:
            continue
        of = Job.objects.get(attempts__id=status.attempt_id)
        since = trained_until.get(status.attempt_id)
        if since is None:
            assert status.started_at is not None
            since = (status.started_at - BEGAN).total_seconds()
        trained_until[status.attempt_id] = tick
        done = of.steps_done + tick - since
        Job.objects.filter(pk=of.pk).update(steps_done=min(done, of.steps_total))
        if done >= of.steps_total:
            backend.finish(status.attempt_id)
