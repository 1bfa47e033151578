# SPDX-License-Identifier: Apache-2.0
"""A snapshot that no round can work with is refused in one sentence that names the field."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from scheduler import RackSnapshot
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


def test_a_snapshot_without_a_time_is_refused() -> None:
    refused(cluster().at(NAN).waiting(job("a")), "the snapshot has now_s nan; it must be a finite number")


def test_links_of_unlimited_bandwidth_are_allowed() -> None:
    case = replace(cluster(nic_bps=INF), racks=(RackSnapshot("r0", INF),))
    assert case.waiting(job("a", gpus=1)).decide("mlhub").of("a").allocation is not None
