# SPDX-License-Identifier: Apache-2.0
"""A link that gives less than was declared is found by what gangs get through it, named, and priced as it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.backends.protocol import NodeStatus
from mlhub.clusters.models import LinkEstimate, Node, Rack
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.events.models import Event
from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.links import LEAST_REPORTS
from scheduler.api.snapshot import ClusterSnapshot
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.measurements.test_pairs import opened
from tests.metrics.test_ingest import post, progress

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GBIT = 1e9
NODES = {"n0": "r0", "n1": "r0", "n2": "r0", "n3": "r1"}


@pytest.fixture
def cast() -> Cast:
    for rack in ("r0", "r1"):
        Rack.objects.create(name=rack, uplink_bps=40 * GBIT)
    for name, rack in NODES.items():
        Node.objects.create(
            name=name, rack_id=rack, gpu_type="V100", n_slots=4, cpus=8, memory_bytes=2**36, nic_bps=10 * GBIT,
            is_ready=True, is_schedulable=True, observed_at=timezone.now(),
        )  # fmt: skip
    return make_cast()


def trains(attempt: Attempt, *, gbps: float, n: int = LEAST_REPORTS + 3, **changes: Any) -> None:
    """Reports whose bytes took as long as they do at that rate; half of the synchronisation was waiting."""
    sync_s = 0.05
    n_bytes = gbps * GBIT * sync_s / 2 / 8
    times = {"step_s": 0.1, "compute_s": 0.05, "sync_s": sync_s, "wait_s": sync_s / 2}
    for i in range(n):
        measured = {"bytes_sent": n_bytes, "bytes_received": n_bytes / 2}
        report = progress(20 * (i + 1)) | times | {"measured": measured} | changes
        assert post(attempt, i, report).status_code == 200


def gang(cast: Cast, name: str, *nodes: str) -> Attempt:
    return opened(job(cast.project_a, cast.bob, name=name), *((node, (0,)) for node in nodes))


def snapshot() -> ClusterSnapshot:
    nodes = [
        NodeStatus(name, rack, "V100", 4, 8.0, 2**36, 10 * GBIT, 40 * GBIT) for name, rack in NODES.items()
    ]  # fmt: skip
    return take_snapshot(nodes, now=timezone.now(), round_number=1)


def shown(cast: Cast) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in cast.client(cast.bob).get("/api/v1/cluster").json()["links"]}


def test_a_slow_nic_is_named_once_other_nodes_have_shown_more(cast: Cast) -> None:
    trains(gang(cast, "a", "n0", "n1"), gbps=8)
    trains(gang(cast, "b", "n1", "n2"), gbps=2)
    found = shown(cast)
    assert {name for name, row in found.items() if row["slow_since"]} == {"n2"}
    assert (found["n2"]["measured_bps"], found["n2"]["declared_bps"]) == (pytest.approx(2 * GBIT), 10 * GBIT)
    (event,) = Event.objects.filter(kind="link.slow").order_by("id")
    assert (event.facts["link"], event.facts["name"]) == ("nic", "n2")
    assert {node.name: node.nic_bps for node in snapshot().nodes}["n2"] == pytest.approx(2 * GBIT)
    trains(gang(cast, "c", "n2", "n0"), gbps=9)
    assert shown(cast)["n2"]["slow_since"] is None
    assert Event.objects.filter(kind="link.recovered").count() == 1
    assert {node.nic_bps for node in snapshot().nodes} == {10 * GBIT}


def test_a_slow_uplink_is_no_fault_of_the_nics(cast: Cast) -> None:
    trains(gang(cast, "a", "n0", "n1"), gbps=8)
    trains(gang(cast, "b", "n0", "n3"), gbps=1)
    found = shown(cast)
    assert {name for name, row in found.items() if row["slow_since"]} == {"r0", "r1"}
    assert {rack.name: rack.uplink_bps for rack in snapshot().racks} == {
        "r0": pytest.approx(GBIT), "r1": pytest.approx(GBIT)
    }  # fmt: skip


def test_a_few_reports_or_little_traffic_tell_nothing(cast: Cast) -> None:
    trains(gang(cast, "a", "n0", "n1"), gbps=1, n=5)
    assert not LinkEstimate.objects.exclude(slow_since=None).exists()
    trains(gang(cast, "b", "n2", "n1"), gbps=0.01)
    assert not LinkEstimate.objects.filter(name="n2").exists()
