# SPDX-License-Identifier: Apache-2.0
"""A snapshot that no round can work with is refused in one sentence that names the field."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from scheduler import POLICIES, RackSnapshot
from scheduler.api.snapshot import Mode, SpeedObservation
from tests.scheduler.cases import Case, cluster, job

NAN, INF = float("nan"), float("inf")


def refused(case: Case, message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        case.decide("mlhub")


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("submitted_at_s", NAN, "submitted_at_s nan; it must be a finite number"),
        ("steps_total", -1, "steps_total -1; it must be a finite number of at least 0"),
        ("steps_done", NAN, "steps_done nan; it must be a finite number of at least 0"),
        ("batch_size", 0, "batch_size 0; it must be a finite number of at least 1"),
        ("example_s", INF, "example_s inf; it must be a finite number of at least 0"),
        ("step_overhead_s", None, "step_overhead_s None; it must be a finite number of at least 0"),
        ("start_s", -1.0, "start_s -1.0; it must be a finite number of at least 0"),
        ("parameters_bytes", -5, "parameters_bytes -5; it must be a finite number of at least 0"),
        ("cpus_per_worker", NAN, "cpus_per_worker nan; it must be a finite number of at least 0"),
        ("noise_scale", -1.0, "noise_scale -1.0; it must be a finite number of at least 0"),
        ("max_batch_size", 0, "max_batch_size 0; it must be a finite number of at least 1"),
        ("start_error", NAN, "start_error nan; it must be a finite number of at least 0"),
        ("priority", NAN, "priority nan; it must be a finite number"),
        ("training_since_s", NAN, "training_since_s nan; it must be a finite number"),
        ("hold_until_s", INF, "hold_until_s inf; it must be a finite number"),
        ("start_error", 1e300, "start_error 1e+300; it must be at most 100"),
        ("max_local_batch", 1e300, "max_local_batch 1e+300; it must be at most 9e+15"),
        ("min_local_batch", 1e300, "min_local_batch 1e+300; it must be at most 9e+15"),
        ("steps_done", 1e300, "steps_done 1e+300; it must be at most 9e+15"),
        (
            "memory_per_worker_bytes",
            10**30,
            "memory_per_worker_bytes 1000000000000000000000000000000; it must be at most",
        ),
        ("cpus_per_worker", 1e300, "cpus_per_worker 1e+300; it must be at most 9e+15"),
        ("max_workers", 1e300, "max_workers 1e+300; it must be at most 1.04858e+06"),
        ("n_preemptions", -1, "n_preemptions -1; it must be a finite number of at least 0"),
        ("noise_ahead", ((0.0, NAN),), "noise_ahead ((0.0, nan),); all must be finite and at least 0"),
    ],
)
def test_a_number_of_a_job_is_refused_by_its_field(field: str, value: Any, what: str) -> None:
    refused(cluster().waiting(job("a", gpus=1), job("b", **{field: value})), f"job 'b' has {what}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rack": "r9"}, "node 'n0' is in rack 'r9', which the snapshot does not have; add it"),
        ({"nic_bps": 0.0}, "node 'n0' has nic_bps 0.0; it must be above 0"),
        ({"nic_bps": NAN}, "node 'n0' has nic_bps nan; it must be above 0"),
        ({"n_gpus": NAN}, "node 'n0' has n_gpus nan; it must be a finite number of at least 0"),
        ({"memory_bytes": INF}, "node 'n0' has memory_bytes inf; it must be a finite number of at least 0"),
        ({"gpu_memory_bytes": NAN}, "node 'n0' has gpu_memory_bytes nan; it must be a finite number of at least 0"),
        ({"n_gpus": 10**15}, "node 'n0' has n_gpus 1000000000000000; it must be at most 65536"),
        ({"cpus": 1e300}, "node 'n0' has cpus 1e+300; it must be at most 9e+15"),
        ({"memory_bytes": 10**30}, "node 'n0' has memory_bytes 1000000000000000000000000000000; it must be at most"),
        ({"n_gpus": -1}, "node 'n0' has n_gpus -1; it must be a finite number of at least 0"),
        ({"cpus": NAN}, "node 'n0' has cpus nan; it must be a finite number of at least 0"),
        ({"max_jobs_per_gpu": 0}, "node 'n0' has max_jobs_per_gpu 0; it must be a finite number of at least 1"),
    ],
)
def test_a_node_is_refused_by_its_field(changes: dict[str, Any], message: str) -> None:
    refused(cluster(nodes=2).with_node("n0", **changes).waiting(job("a")), message)


@pytest.mark.parametrize("uplink_bps", [0.0, -1.0, NAN])
def test_an_uplink_without_bandwidth_is_refused(uplink_bps: float) -> None:
    case = replace(cluster(), racks=(RackSnapshot("r0", uplink_bps),))
    refused(case.waiting(job("a")), f"rack 'r0' has uplink_bps {uplink_bps!r}; it must be above 0")


@pytest.mark.parametrize(
    ("field", "value", "least"),
    [
        ("step_s", NAN, "0"),
        ("compute_s", -1.0, "0"),
        ("compute_s", INF, "0"),
        ("batch_size", NAN, "1"),
        ("batch_size", 0, "1"),
        ("sync_s", INF, "0"),
        ("n_workers", 0, "1"),
        ("share", 0.0, "1e-06"),
    ],
)
def test_a_measurement_is_refused_by_its_field(field: str, value: Any, least: str) -> None:
    seen = SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "gpu", 64, 0.1, 0.1, 0.0, 50)
    bad = job("b", observations=(seen, replace(seen, **{field: value})))
    message = f"a measurement of job 'b' has {field} {value!r}; it must be a finite number of at least {least}"
    refused(cluster().waiting(job("a"), bad), message)


@pytest.mark.parametrize(
    ("field", "value"),
    [("weight", NAN), ("guarantee", -3), ("max_gpus", -1), ("borrow_limit", -1), ("half_life_s", -1.0)],
)
def test_a_tenant_is_refused_by_its_field(field: str, value: Any) -> None:
    case = cluster()
    alice, *others = case.tenants
    case = replace(case, tenants=(replace(alice, **{field: value}), *others))
    message = f"tenant 'alice' has {field} {value!r}; it must be a finite number of at least 0"
    refused(case.waiting(job("a")), message)


def test_racks_of_one_name_are_refused() -> None:
    case = cluster()
    case = replace(case, racks=(*case.racks, case.racks[0]))
    refused(case.waiting(job("a")), "rack 'r0' appears twice in the snapshot; names must be unique")


def test_a_snapshot_without_a_time_is_refused() -> None:
    refused(cluster().at(NAN).waiting(job("a")), "the snapshot has now_s nan; it must be a finite number")


def test_links_of_unlimited_bandwidth_are_allowed() -> None:
    case = replace(cluster(nic_bps=INF), racks=(RackSnapshot("r0", INF),))
    assert case.waiting(job("a", gpus=1)).decide("mlhub").of("a").allocation is not None


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("changes", [{"max_local_batch": 9e15}, {"steps_done": 9e15}, {"start_error": 100.0}])
def test_the_largest_numbers_are_worked_with(policy: str, changes: dict[str, Any]) -> None:
    """One whose length is not declared is looked at before the snapshot is checked."""
    seen = (SpeedObservation(Mode.ALL_REDUCE, 2, 0, 1, 1, "v100", 100, 0.1, 0.07, 0.03, 50),)
    noise = {"noise_scale": 100.0, "noise_ahead": ((0.0, 50.0), (500.0, 400.0)), "max_batch_size": 400}
    known = job("a", start_s=5.0, observations=seen, **noise, **changes)
    case = cluster().starting(known, n=1).waiting(replace(known, id="b", length_is_known=False, steps_total=0))
    assert len(case.decide(policy).decisions) == 2


@pytest.mark.parametrize("field", ["steps_done", "min_local_batch", "max_local_batch", "start_error"])
def test_a_job_of_no_declared_length_is_refused_by_its_field_too(field: str) -> None:
    case = cluster().waiting(job("b", length_is_known=False, steps_total=0, max_batch_size=400, **{field: 1e300}))
    refused(case, f"job 'b' has {field} 1e+300; it must be at most")
