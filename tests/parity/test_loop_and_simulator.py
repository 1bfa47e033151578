# SPDX-License-Identifier: Apache-2.0
"""One trace through the live loop and through the simulator: the same jobs start and leave, then and there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import NodeStatus
from mlhub.control.loop import Loop
from mlhub.control.models import Round, SchedulerSettings
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from scheduler import Launch, Plan, Preempt, Resize, policy_named
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.cast import Cast, make_cast
from tests.jobs.builders import PROFILE, job

PERIOD_S = 10
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = uniform_cluster(n_nodes=2, n_gpus=2, n_racks=2, uplink_bps=4e10)
Story = list[tuple[int, str, str, tuple[str, ...]]]


def events_of(now_s: float, plan: Plan, names: dict[str, str]) -> Story:
    """Who starts and leaves, and where: (second, what, job, nodes)."""
    story: Story = []
    for decision in plan.decisions:
        if isinstance(decision, Launch):
            places = tuple(f"{s.node}:{g}" for s in decision.allocation.shares for g in s.gpus)
            story.append((int(now_s), "starts", names[decision.job], places))
        elif isinstance(decision, Preempt | Resize):
            story.append((int(now_s), "leaves", names[decision.job], ()))
    return story


def simulated(trace: Trace, policy: str) -> Story:
    """An order to leave is carried out by the next round, as the loop observes it then."""
    story: Story = []
    names = {j.id: j.id for j in trace.jobs}
    simulate(
        CountingEnvironment(trace, CLUSTER, stop_s=PERIOD_S),
        policy=policy_named(policy, {}),
        period_s=PERIOD_S,
        on_round=lambda snapshot, plan: story.extend(events_of(snapshot.now_s, plan, names)),
    )
    return story


def lived(trace: Trace, policy: str, cast: Cast) -> Story:
    """The same in rows: real loop, fake gangs that train for as long as the trace declares."""
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": policy, "parameters": {}})
    nodes = [
        NodeStatus(n.name, n.rack, n.gpu_type, n.n_gpus, n.cpus, n.memory_bytes, n.nic_bps, 4e10) for n in CLUSTER.nodes
    ]
    backend = FakeBackend(nodes, now=BEGAN)
    clock = [BEGAN]
    loop = Loop(backend, now=lambda: clock[0])
    story: Story = []
    names: dict[str, str] = {}
    todo = sorted(trace.jobs, key=lambda j: (j.submitted_at_s, j.id))
    trained_until: dict[str, float] = {}
    for tick in range(0, 4000, PERIOD_S):
        clock[0] = backend.now = BEGAN + timedelta(seconds=tick)
        while todo and todo[0].submitted_at_s <= tick:
            of = _submitted(todo.pop(0), cast)
            names[str(of.id)] = of.name
        _train(backend, tick, trained_until)
        record = loop.round()
        assert record is not None
        assert not record.error
        assert loop.plan is not None
        story += events_of(tick, loop.plan, names)
        if not todo and not Job.objects.exclude(state=JobState.SUCCEEDED).exists():
            return story
    raise AssertionError("the jobs never ended")


def _submitted(wanted: TraceJob, cast: Cast) -> Job:
    profile = PROFILE | {"example_s": 0.0, "step_overhead_s": 1.0, "steps_total": int(wanted.duration_s)}
    found = job(
        cast.project_a, cast.bob, name=wanted.id, batch_size=1000, profile=profile, mode="all_reduce",
        steps_total=int(wanted.duration_s), min_workers=wanted.n_gpus, max_workers=wanted.n_gpus,
    )  # fmt: skip
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


traces = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([1, 2, 4]), st.integers(1, 12)), min_size=1, max_size=6
).map(
    lambda rows: Trace(
        "made up",
        "mlhub",
        tuple(
            TraceJob(f"j{i}", float(at * PERIOD_S), n, float(n_ticks * PERIOD_S))
            for i, (at, n, n_ticks) in enumerate(sorted(rows))
        ),
    )
)


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["fifo", "srtf", "las", "mlhub"])
def test_the_simulator_predicts_what_the_live_loop_does(policy: str) -> None:
    cast = make_cast()

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(trace=traces)
    def compare(trace: Trace) -> None:
        Round.objects.all().delete()
        Job.objects.all().delete()
        expected: Any = simulated(trace, policy)
        assert lived(trace, policy, cast) == expected

    compare()
