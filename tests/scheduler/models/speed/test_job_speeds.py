# SPDX-License-Identifier: Apache-2.0
"""Tables of step times: what the model gives one by one, for measured and other shapes, fixed and free batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import JobSnapshot, Mode, NodeSnapshot, RackSnapshot, SpeedObservation
from scheduler.models.goodput import batches_of, gain_B
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.models.speed.step_time_cache import speed_model

NODES = tuple(NodeSnapshot(f"n{i}", f"r{i // 4}", "v100", 4, 64.0, 1 << 38, 10e9) for i in range(8))
RACKS = (RackSnapshot("r0", 20e9), RackSnapshot("r1", 20e9))
JOB = JobSnapshot("a", "alice", 0.0, 10_000, 256, parameters_bytes=200_000_000, example_s=0.004, step_overhead_s=0.02)


def seen(n_workers: int, n_nodes: int, step_s: float, *, n_servers: int = 0) -> SpeedObservation:
    mode = Mode.PARAMETER_SERVER if n_servers else Mode.ALL_REDUCE
    return SpeedObservation(
        mode, n_workers, n_servers, n_nodes, 1, "v100", 256, step_s, step_s * 0.7, step_s * 0.3, n_steps=100
    )


MEASURED = (seen(1, 1, 1.2), seen(4, 1, 0.4), seen(8, 2, 0.3), seen(8, 2, 0.5, n_servers=4))


def one_by_one_s(job: JobSnapshot, n_workers: int, n_nodes: int) -> float:
    topology = ClusterTopology(NODES, RACKS)
    model = speed_model(job, nic_bps=topology.nic_bps)
    layout = topology.typical("v100", n_workers, n_nodes=n_nodes)
    batches = batches_of(job, n_workers)
    batch, passes = round(float(batches.size_B[0])), round(float(batches.passes_B[0]))
    mode, n_servers = model.best_mode(layout, pinned=job.mode, batch_size=batch, passes=passes)
    if n_servers:
        layout = layout.with_servers(n_servers)
    if job.max_batch_size is None:
        return model.step_s(layout, mode, batch_size=batch, passes=passes)
    step_s_B = model.step_s_B(layout, mode, batch_B=batches.size_B, passes_B=batches.passes_B)
    gains_B = gain_B(batches.size_B, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
    return 1.0 / float((gains_B / step_s_B).max())


@pytest.mark.parametrize("observations", [(), MEASURED])
@pytest.mark.parametrize("mode", [None, Mode.ALL_REDUCE, Mode.PARAMETER_SERVER])
@pytest.mark.parametrize("free", [{}, {"max_batch_size": 2048, "noise_scale": 900.0, "max_local_batch": 64}])
def test_the_table_says_what_the_model_says_one_by_one(observations, mode, free) -> None:
    job = replace(JOB, observations=observations, mode=mode, **free)
    speeds = JobSpeeds(NODES, RACKS)
    speeds.classes([job], [(1, 2, 3, 4, 6, 8, 16)], types=[""])
    for n_workers in (1, 2, 3, 4, 6, 8, 12, 16):
        for n_nodes in (0, *speeds.topology.spreads("v100", n_workers)):
            found = speeds.plain_step_s(job, n_workers, gpu_type="v100", n_nodes=n_nodes)
            assert found == pytest.approx(one_by_one_s(job, n_workers, n_nodes), rel=1e-9)


def test_a_spread_that_no_policy_proposes_can_be_asked_for_too() -> None:
    speeds = JobSpeeds(NODES, RACKS)
    assert 5 not in speeds.topology.spreads("v100", 8)
    assert speeds.plain_step_s(JOB, 8, gpu_type="v100", n_nodes=5) == pytest.approx(one_by_one_s(JOB, 8, 5), rel=1e-9)


def test_jobs_with_other_limits_or_measurements_do_not_share_a_table() -> None:
    speeds = JobSpeeds(NODES, RACKS)
    jobs = [JOB, replace(JOB, id="b", batch_size=64), replace(JOB, id="c", observations=MEASURED)]
    assert len({speeds.best_step_s(job, 8) for job in jobs}) == 3
    assert speeds.best_step_s(replace(JOB, id="d"), 8) == speeds.best_step_s(JOB, 8)


def test_two_workers_get_the_benefit_of_the_doubt_only_until_several_were_measured() -> None:
    heavy = replace(JOB, parameters_bytes=20_000_000_000)
    speeds = JobSpeeds(NODES, RACKS)
    assert speeds.step_s(heavy, 2) == pytest.approx(0.9 * speeds.step_s(heavy, 1))
    assert speeds.plain_step_s(heavy, 2, gpu_type="v100") > speeds.step_s(heavy, 2)
    tried = replace(heavy, id="b", observations=(seen(4, 1, 5.0),))
    assert speeds.step_s(tried, 2) == speeds.plain_step_s(tried, 2, gpu_type="v100")


def test_many_jobs_priced_at_once_on_several_types_have_the_speeds_that_each_has_alone() -> None:
    """The types differ in GPUs a node and in nodes, the jobs in the sizes and types that are asked for."""
    slow = tuple(NodeSnapshot(f"s{i}", f"r{i}", "k80", 8, 64.0, 1 << 38, 10e9) for i in range(2))
    free_batch = {"max_batch_size": 4096, "max_local_batch": 256, "noise_scale": 900.0}
    jobs = [
        replace(JOB, id=f"{name}-{mode}-{n_free}", family=name, observations=seen_so_far, mode=mode, **choice)
        for name, seen_so_far in (("measured", MEASURED), ("new", ()), ("alone", MEASURED[:1]))
        for mode in (None, *Mode)
        for n_free, choice in enumerate(({}, free_batch))
    ]
    pairs = [(job, t) for job in jobs for t in ("k80", "v100") if (job.family, t) != ("alone", "k80")]
    sizes = [(1, 2, 3, 4, 8) if job.family == "new" else (4, 8, 16) for job, _ in pairs]
    together = JobSpeeds((*NODES, *slow), RACKS, jobs=jobs)
    classes = together.classes([job for job, _ in pairs], sizes, types=[t for _, t in pairs])
    for (job, gpu_type), own_sizes, job_class in zip(pairs, sizes, classes, strict=True):
        alone = JobSpeeds((*NODES, *slow), RACKS, jobs=jobs)
        assert job_class.curve(own_sizes) == alone.curve(job, own_sizes, gpu_type=gpu_type)
        assert job_class.packed_curve(own_sizes) == alone.packed_curve(job, own_sizes, gpu_type=gpu_type)
        for n in (1, 2, 4, 8, 16, 32):
            assert together.step_s(job, n, gpu_type=gpu_type) == alone.step_s(job, n, gpu_type=gpu_type)
            assert together.best_step_s(job, n, gpu_type=gpu_type) == alone.best_step_s(job, n, gpu_type=gpu_type)
            assert together.best_spread(job, n, gpu_type=gpu_type) == alone.best_spread(job, n, gpu_type=gpu_type)
