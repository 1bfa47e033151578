# SPDX-License-Identifier: Apache-2.0
"""A day with types of GPU, quotas, narrow links, priorities and jobs that slow each other: live as simulated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.metrics.models import PairSample
from mlhub.tenants.models import Quota
from scheduler.api.sharing_measurements import PairObservation, PairResource
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.simulator.traces.clusters import Cluster, uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.parity.live_loop import (
    BEGAN,
    PERIOD_S,
    DeclaredEnvironment,
    declared_profile,
    environment_of,
    lived,
    simulated,
)

pytestmark = pytest.mark.slow

GIB = 2**30
UPLINK_BPS = 1e9  # narrow: a tenth of what the NICs give
ASKED = {"cpus": 1.0, "memory_gib": 1.0}
MAX_GPUS = {"a": 6, "b": 4}  # by tenant


def rich_cluster() -> Cluster:
    """Two racks with two nodes of two GPUs each; the second rack has another type."""
    found = uniform_cluster(n_nodes=4, n_gpus=2, n_racks=2, uplink_bps=UPLINK_BPS)
    racks = sorted({node.rack for node in found.nodes})
    nodes = tuple(replace(n, gpu_type="T4" if n.rack == racks[1] else "V100", cpus=64.0) for n in found.nodes)
    return replace(found, nodes=nodes)


def day() -> Trace:
    """Two tenants; "light" and "heavy" slow each other on one node; some jobs want one type of GPU."""

    def one(i: int, at: int, n: int, ticks: int, tenant: str, model: str, *types: str, priority: int = 0) -> TraceJob:
        extra = {"gpu_types": types}
        times = {"submitted_at_s": float(at * PERIOD_S), "duration_s": float(ticks * PERIOD_S)}
        return TraceJob(f"j{i}", n_gpus=n, tenant=tenant, model=model, priority=priority, extra=extra, **times)

    return Trace(
        "rich",
        "mlhub",
        (
            one(0, 0, 1, 40, "a", "light", "V100"),
            one(1, 1, 1, 40, "b", "heavy", "V100"),
            one(2, 2, 2, 12, "a", "plain", "T4"),
            one(3, 3, 4, 9, "b", "plain"),
            one(4, 4, 2, 6, "a", "light"),
            one(5, 5, 1, 15, "b", "heavy", "T4"),
            one(6, 6, 3, 5, "a", "plain", "T4", "V100"),
            one(7, 12, 4, 4, "a", "plain", priority=1),
            one(8, 14, 1, 3, "b", "light"),
        ),
    )


class RichEnvironment(DeclaredEnvironment):
    """Adds the resources that a job asks for and the pair that was measured."""

    pairs = (PairObservation("heavy", "light", 0.5, 0.4, PairResource.NODE),)

    def _snapshot(self, job: TraceJob) -> JobSnapshot:
        return replace(
            super()._snapshot(job),
            gpu_types=tuple(job.extra["gpu_types"]),
            cpus_per_worker=1.0,
            memory_per_worker_bytes=GIB,
        )


def submitted(wanted: TraceJob, cast: Cast) -> Job:
    project, user = (cast.project_a, cast.bob) if wanted.tenant == "a" else (cast.project_b, cast.charlie)
    return job(
        project, user, name=wanted.id, batch_size=1000, steps_total=int(wanted.duration_s), mode="all_reduce",
        min_workers=wanted.n_gpus, max_workers=wanted.n_gpus, priority=wanted.priority,
        hyperparameters={"kind": wanted.model},
        profile=declared_profile(wanted),
        resources={**ASKED, **({"gpu_types": list(wanted.extra["gpu_types"])} if wanted.extra["gpu_types"] else {})},
    )  # fmt: skip


def teach_pairs(cast: Cast) -> None:
    """The pair as attempts of both tenants measured it before, with jobs of their own and of each other."""
    done = {
        (user.username, kind): job(
            project, user, state=JobState.SUCCEEDED, hyperparameters={"kind": kind}, mode="all_reduce"
        )
        for project, user in ((cast.project_a, cast.bob), (cast.project_b, cast.charlie))
        for kind in ("light", "heavy")
    }
    for (_, kind), of in done.items():
        norm = {"heavy": 0.5, "light": 0.4}[kind]
        attempt = Attempt.objects.create(
            job=of, number=1, mode="all_reduce", n_workers=1, token_hash=kind, ended_at=BEGAN
        )
        for other in (family_of(one) for (_, name), one in done.items() if name != kind):
            PairSample.objects.create(
                attempt=attempt, family=family_of(of), other_family=other, resource="node", gpu_type="",
                step_s=1 / norm, alone_s=1.0, slowdown=1 / norm, n_steps=100, n_reports=20, at=BEGAN,
            )  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["fifo", "srtf", "mlhub"])
def test_a_rich_day_is_decided_alike_by_the_loop_and_by_the_simulator(policy: str) -> None:
    cast, cluster = make_cast(), rich_cluster()
    tenants = tuple(TenantSnapshot(name, max_gpus=most) for name, most in MAX_GPUS.items())
    expected = simulated(environment_of(day(), cluster, kind=RichEnvironment, tenants=tenants), policy)
    assert {what for _, what, _, _ in expected} == ({"starts"} if policy == "fifo" else {"starts", "leaves"})
    for organisation, tenant in ((cast.a, "a"), (cast.b, "b")):
        Quota.objects.update_or_create(organisation=organisation, defaults={"max_gpus": MAX_GPUS[tenant]})
    teach_pairs(cast)
    assert lived(day(), cluster, policy, lambda wanted: submitted(wanted, cast)) == expected
