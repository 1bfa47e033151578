# SPDX-License-Identifier: Apache-2.0
"""One trace through the live loop and through the simulator: the same jobs start and leave, then and there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mlhub.control.models import Round
from mlhub.jobs.models import Job
from mlhub.tenants.actions.limits.user_quotas import limit_user
from scheduler.api.snapshot import TenantSnapshot
from scheduler.api.user_limits import UserLimit
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.parity.live_loop import PERIOD_S, declared_profile, environment_of, lived, simulated

pytestmark = pytest.mark.slow

CLUSTER = uniform_cluster(n_nodes=2, n_gpus=2, n_racks=2, uplink_bps=4e10)


def submitted(wanted: TraceJob, cast: Cast) -> Job:
    return job(
        cast.project_a, cast.bob, name=wanted.id, batch_size=1000, profile=declared_profile(wanted), mode="all_reduce",
        steps_total=int(wanted.duration_s), min_workers=wanted.n_gpus, max_workers=wanted.n_gpus,
    )  # fmt: skip


def trace_of(rows: list[tuple[int, int, int]]) -> Trace:
    """Returns the trace of jobs as (period of submission, GPUs, periods of training)."""
    return Trace(
        "made up",
        "mlhub",
        tuple(
            TraceJob(f"j{i}", float(at * PERIOD_S), n, float(n_ticks * PERIOD_S))
            for i, (at, n, n_ticks) in enumerate(sorted(rows))
        ),
    )


traces = st.lists(
    st.tuples(st.integers(0, 15), st.sampled_from([1, 2, 4]), st.integers(1, 12)), min_size=1, max_size=6
).map(trace_of)
# the last two train equally long: what their parameters' exchange costs across racks decides who is first
TIED = trace_of([(3, 2, 4), (4, 1, 4), (7, 1, 5), (11, 4, 2), (12, 2, 2)])


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["fifo", "srtf", "las", "mlhub"])
def test_the_simulator_predicts_what_the_live_loop_does(policy: str) -> None:
    cast = make_cast()

    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(trace=traces)
    @example(trace=TIED)
    def compare(trace: Trace) -> None:
        Round.objects.all().delete()
        Job.objects.all().delete()
        expected = simulated(environment_of(trace, CLUSTER), policy)
        assert lived(trace, CLUSTER, policy, lambda wanted: submitted(wanted, cast)) == expected

    compare()


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["fifo", "mlhub"])
def test_limits_of_users_hold_alike_live_and_simulated(policy: str) -> None:
    """Of five jobs that fit together on the four GPUs, those of one user wait for each other."""
    cast = make_cast()
    limit_user(cast.a, cast.bob, max_gpus=2, max_running_jobs=1, actor=cast.alice)
    rows = trace_of([(0, 2, 6), (1, 1, 4), (2, 2, 5), (3, 1, 3), (3, 1, 8)])
    trace = replace(
        rows, jobs=tuple(replace(one, user="bob" if i % 2 == 0 else "alice") for i, one in enumerate(rows.jobs))
    )
    limits = (UserLimit("bob", max_gpus=2, max_running_jobs=1),)
    environment = environment_of(trace, CLUSTER, tenants=(TenantSnapshot("default", user_limits=limits),))

    def submit(wanted: TraceJob) -> Job:
        found = submitted(wanted, cast)
        Job.objects.filter(pk=found.pk).update(created_by=cast.bob if wanted.user == "bob" else cast.alice)
        return found

    expected = simulated(environment, policy)
    assert lived(trace, CLUSTER, policy, submit) == expected
    unlimited = simulated(environment_of(trace, CLUSTER), policy)
    assert unlimited != expected
