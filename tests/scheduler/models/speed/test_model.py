# SPDX-License-Identifier: Apache-2.0
"""The speed model: what the prior predicts, what measurements make of it, and the two curves that it has to explain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scheduler import Mode, NodeSnapshot, RackSnapshot, SpeedObservation
from scheduler.models.layout import ClusterTopology, Layout
from scheduler.models.speed.model import SpeedModel
from scheduler.models.speed.observation_means import ObservationMeans

NIC_BPS = 10e9
NODES = tuple(NodeSnapshot(f"n{i:02}", "r0", "v100", 4, 64.0, 1 << 38, NIC_BPS) for i in range(16))
TOPOLOGY = ClusterTopology(NODES, (RackSnapshot("r0", 1e12),))
BATCH = 512


def model(*observations: SpeedObservation, example_s: float | None = 0.002, parameters_bytes: int = 100 << 20):
    return SpeedModel(
        observations, example_s=example_s, overhead_s=0.01, parameters_bytes=parameters_bytes, nic_bps=NIC_BPS
    )


def ring(n_workers: int) -> Layout:
    return TOPOLOGY.typical("v100", n_workers)


def separate_servers(n_workers: int, n_servers: int) -> Layout:
    n = n_workers + n_servers
    workers, servers = (1,) * n_workers + (0,) * n_servers, (0,) * n_workers + (1,) * n_servers
    return Layout(workers, servers, (NIC_BPS,) * n, (0,) * n, (float("inf"),), "v100")


def seen(n_workers: int, *, compute_s: float, sync_s: float = 0.0, batch: int = BATCH) -> SpeedObservation:
    n_nodes = ring(n_workers).n_nodes
    return SpeedObservation(
        Mode.ALL_REDUCE, n_workers, 0, n_nodes, 1, "v100", batch, compute_s + sync_s, compute_s, sync_s, n_steps=100
    )


def test_speed_over_workers_rises_and_then_falls() -> None:
    speed_model = model(parameters_bytes=400 << 20)
    speeds = [BATCH / speed_model.step_s(ring(n), Mode.ALL_REDUCE, batch_size=BATCH) for n in (1, 2, 4, 16, 64)]
    assert speeds[0] < speeds[1] < speeds[2] == max(speeds) > speeds[-1]


def test_speed_over_servers_rises_and_then_levels() -> None:
    speed_model = model()
    speeds = [
        BATCH / speed_model.step_s(separate_servers(8, n), Mode.PARAMETER_SERVER, batch_size=BATCH)
        for n in (1, 2, 4, 8, 12)
    ]
    assert speeds[0] < speeds[1] < speeds[2] < speeds[3]
    assert speeds[4] == pytest.approx(speeds[3], rel=0.05)


def test_a_shape_that_was_measured_counts_for_itself_and_is_surer() -> None:
    speed_model = model(seen(4, compute_s=0.3, sync_s=0.04))
    assert speed_model.step_s(ring(4), Mode.ALL_REDUCE, batch_size=BATCH) == pytest.approx(0.34)
    assert speed_model.error(ring(4), Mode.ALL_REDUCE) < speed_model.error(ring(8), Mode.ALL_REDUCE)
    assert speed_model.error(ring(8), Mode.ALL_REDUCE) < model().error(ring(8), Mode.ALL_REDUCE)


@pytest.mark.parametrize("example_s", [None, 2e-6, 2e-1])
def test_a_pass_takes_what_was_measured_however_far_off_the_prior_was(example_s) -> None:
    """True: 8 ms, and 1 ms for 512 examples."""
    true_s = {n: 0.008 + 0.001 / n for n in (1, 2, 4, 8)}
    speed_model = model(*(seen(n, compute_s=true_s[n]) for n in (2, 4, 8)), example_s=example_s, parameters_bytes=0)
    assert speed_model.step_s(ring(1), Mode.ALL_REDUCE, batch_size=BATCH) == pytest.approx(true_s[1], rel=0.5)


def test_one_measurement_leaves_the_priors_part_that_is_fixed() -> None:
    """The prior: 10 ms, and 1,024 ms for 512 examples; it takes twice as long."""
    speed_model = model(seen(1, compute_s=2.068), parameters_bytes=0)
    assert speed_model.step_s(ring(2), Mode.ALL_REDUCE, batch_size=BATCH) == pytest.approx(0.02 + 1.024, rel=0.02)


@pytest.mark.parametrize("n_measured", [0, 1, 2, 3])
def test_a_pass_takes_as_long_alone_as_among_others(n_measured: int) -> None:
    batches, seconds = (512, 1024, 3072), (0.3, 0.41, 1.3)
    each = [seen(4, compute_s=s, batch=batch) for batch, s in zip(batches, seconds, strict=True)]
    speed_model = model(*each[:n_measured])
    examples = np.array([1.0, 100.0, 128.0, 200.0, 256.0, 300.5, 768.0, 5000.0])
    among = speed_model.compute_s(examples, ring(4), Mode.ALL_REDUCE).tolist()
    assert [speed_model.pass_s(one, ring(4), Mode.ALL_REDUCE) for one in examples.tolist()] == among


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("n_measured", [0, 1, 2, 4])
def test_a_step_takes_as_long_alone_as_among_others(mode: Mode, n_measured: int) -> None:
    """At the batches that were measured, between them and beyond; passes of two measurements are equally long."""
    layout = ring(8) if mode is Mode.ALL_REDUCE else separate_servers(4, 4)
    measured = SpeedObservation(mode, layout.n_workers, layout.n_servers, layout.n_nodes, 1, "v100", 0, 0, 0, 0, 100)
    batches, passes_s, exposed_s = (512, 1024, 1536, 3072), (0.3, 0.41, 0.41, 1.3), (0.2, 0.15, 0.3, 0.02)
    each = [
        replace(measured, batch_size=batch, step_s=pass_s + sync_s, compute_s=pass_s, sync_s=sync_s)
        for batch, pass_s, sync_s in zip(batches, passes_s, exposed_s, strict=True)
    ]
    speed_model = model(*each[:n_measured])
    for batch, passes in [
        (64, 1),
        (500, 1),
        (700, 1),
        (1200, 1),
        (2000, 1),
        (4000, 1),
        (9000, 1),
        (1024, 2),
        (4000, 3),
    ]:
        batch_B, passes_B = np.array([float(batch)]), np.array([float(passes)])
        among = speed_model.step_s_B(layout, mode, batch_B=batch_B, passes_B=passes_B).tolist()
        assert [speed_model.step_s(layout, mode, batch_size=batch, passes=passes)] == among


@pytest.mark.parametrize("parameters_bytes", [0, 1 << 20, 100 << 20, 4 << 30])
@pytest.mark.parametrize("n_workers", [2, 4, 8, 32])
def test_the_mode_is_the_faster_one_though_servers_are_not_always_priced(n_workers: int, parameters_bytes: int) -> None:
    served = SpeedObservation(Mode.PARAMETER_SERVER, 4, 4, 1, 1, "v100", BATCH, 0.02, 0.01, 0.01, n_steps=100)
    for speed_model in (model(parameters_bytes=parameters_bytes), model(served, parameters_bytes=parameters_bytes)):
        layout = ring(n_workers)
        ring_s = speed_model.step_s(layout, Mode.ALL_REDUCE, batch_size=BATCH)
        with_servers = [
            speed_model.step_s(each, Mode.PARAMETER_SERVER, batch_size=BATCH) for each in layout.server_layouts
        ]
        mode, _ = speed_model.best_mode(layout, pinned=None, batch_size=BATCH)
        assert (mode is Mode.PARAMETER_SERVER) == (min(with_servers) * 1.05 < ring_s)


def test_means_of_measurements_are_the_same_with_a_table_of_earlier_ones() -> None:
    means, reports = ObservationMeans(), []
    for i in range(6):
        reports.append(replace(seen(4, compute_s=0.3 + 0.01 * i), observed_at_s=float(i), n_steps=100 + i))
        assert means.newest(reports) == ObservationMeans().newest(reports)
    (mean,) = means.newest(reports)
    assert 0.33 < mean.compute_s < 0.35
    assert mean.n_steps == 103 + 104 + 105


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("n_workers", [1, 2, 3, 4, 8])
def test_no_step_is_shorter_than_the_least_of_its_size(mode: Mode, n_workers: int) -> None:
    fitted = model(
        seen(1, compute_s=0.5), seen(2, compute_s=0.2, sync_s=0.1), seen(4, compute_s=0.1, sync_s=0.3), example_s=None
    )
    layout = ring(n_workers) if mode is Mode.ALL_REDUCE else separate_servers(n_workers, 2)
    for batch in (BATCH, 3 * BATCH):
        least_s = fitted.least_step_s(n_workers, layout.gpu_type, batch_size=batch)
        assert 0 < least_s <= fitted.step_s(layout, mode, batch_size=batch)
