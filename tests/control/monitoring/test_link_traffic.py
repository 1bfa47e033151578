# SPDX-License-Identifier: Apache-2.0
"""What the cluster's map shows of now: what gangs send over links, and how much jobs slow each other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import SpeedSample
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.measurements.test_pairs import Pod, end, opened

pytestmark = pytest.mark.django_db
MB = 1e6


@pytest.fixture
def cast() -> Cast:
    for rack in ("r0", "r1"):
        Rack.objects.create(name=rack, uplink_bps=4e10)
    for name, rack in (("n0", "r0"), ("n1", "r0"), ("n2", "r1"), ("n3", "r1")):
        Node.objects.create(
            name=name, rack_id=rack, gpu_type="V100", n_slots=4, cpus=8, memory_bytes=2**36, nic_bps=1e10,
            is_ready=True, is_schedulable=True, observed_at=timezone.now(),
        )  # fmt: skip
    return make_cast()


def with_servers(of: Job, *held: attempts.Held) -> Attempt:
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="parameter_server", n_workers=sum(len(one.slots) for one in held),
        n_servers=sum(one.n_servers for one in held), held=list(held), predicted_step_s=0.1, reason="fits",
        now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    return found


def cluster(cast: Cast, user: Any) -> dict[str, Any]:
    found: dict[str, Any] = cast.client(user).get("/api/v1/cluster").json()
    return found


def flows(traffic: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float]]:
    return {(one["kind"], one["name"]): (one["bytes_per_step"], one["bps"]) for one in traffic["links"]}


def sized(of: Job, parameters_bytes: float) -> Job:
    Job.objects.filter(pk=of.pk).update(profile={"parameters_bytes": parameters_bytes})
    return of


def test_a_ring_loads_every_nic_and_uplink_with_what_its_pods_counted(cast: Cast) -> None:
    gang = opened(job(cast.project_a, cast.bob, name="ring"), ("n0", (0,)), ("n1", (0,)), ("n2", (0,)))
    Pod(gang).trains(3, step_s=0.2, bytes_sent=50 * MB, bytes_received=40 * MB)
    found = cluster(cast, cast.bob)
    (traffic,) = found["traffic"]
    assert (traffic["job"], traffic["mode"], traffic["is_counted"]) == (str(gang.job_id), "all_reduce", True)
    assert (traffic["nodes"], traffic["server_nodes"]) == (["n0", "n1", "n2"], [])
    each = (pytest.approx(50 * MB), pytest.approx(50 * MB * 8 / 0.2))
    links = [("nic", "n0"), ("nic", "n1"), ("nic", "n2"), ("uplink", "r0"), ("uplink", "r1")]
    assert flows(traffic) == dict.fromkeys(links, each)
    loads = {(one["kind"], one["name"]): one for one in found["link_loads"]}
    assert set(loads) == set(links)  # n3 carries no gang
    assert loads["nic", "n0"]["bps"] == pytest.approx(2e9)
    assert (loads["nic", "n0"]["capacity_bps"], loads["nic", "n0"]["n_gangs"]) == (1e10, 1)


def test_servers_are_reached_over_their_nodes_nic_and_the_model_counts_where_pods_do_not(cast: Cast) -> None:
    of = sized(job(cast.project_a, cast.bob, name="ps"), 10 * MB)
    gang = with_servers(of, attempts.Held("n0", (), 1), attempts.Held("n1", (0, 1), 0))
    Pod(gang).trains(3, step_s=0.1)
    (traffic,) = cluster(cast, cast.bob)["traffic"]
    assert (traffic["is_counted"], traffic["server_nodes"]) == (False, ["n0"])
    each = (pytest.approx(20 * MB), pytest.approx(20 * MB * 8 / traffic["step_s"]))  # two workers push 10 MB each
    assert flows(traffic) == {("nic", "n0"): each, ("nic", "n1"): each}


def test_a_gang_that_was_not_measured_lately_has_no_rate_and_its_links_say_so(cast: Cast) -> None:
    gang = opened(job(cast.project_a, cast.bob, name="ring"), ("n0", (0,)), ("n1", (0,)))
    opened(job(cast.project_a, cast.bob, name="single"), ("n2", (0, 1)))
    for _ in range(2):
        found = cluster(cast, cast.bob)
        assert found["traffic"] == []
        unknown = [(one["name"], one["bps"], one["n_gangs"], one["n_unknown"]) for one in found["link_loads"]]
        assert unknown == [("n0", None, 0, 1), ("n1", None, 0, 1)]
        Pod(gang).trains(3, step_s=0.2, bytes_sent=MB)
        SpeedSample.objects.update(updated_at=timezone.now() - timedelta(hours=1))


def test_links_are_loaded_by_all_and_only_own_jobs_have_their_traffic_shown(cast: Cast) -> None:
    for project, user in ((cast.project_a, cast.bob), (cast.project_b, cast.charlie)):
        gang = opened(job(project, user, name="ring"), ("n0", (0,)), ("n1", (0,)))
        Pod(gang).trains(1, step_s=0.1, bytes_sent=MB)
    for user, organisation in ((cast.bob, cast.a), (cast.charlie, cast.b)):
        found = cluster(cast, user)
        assert {one["n_gangs"] for one in found["link_loads"]} == {2}
        (traffic,) = found["traffic"]
        assert Job.objects.get(pk=traffic["job"]).project.organisation == organisation
    assert len(cluster(cast, cast.root)["traffic"]) == 2


def slowdowns(cast: Cast, user: Any) -> dict[str | None, Any]:
    nodes = [node for rack in cluster(cast, user)["racks"] for node in rack["nodes"]]
    held = [one for node in nodes for slot in node["slots"] for one in (slot["job"], *slot["colocated"]) if one]
    return {one["name"]: one["slowdown"] for one in held}


def test_a_slot_shows_how_much_its_job_is_slowed_as_measured_predicted_or_alone(cast: Cast) -> None:
    one = Pod(opened(job(cast.project_a, cast.bob, name="one"), ("n0", (0,))))
    one.trains(5, step_s=0.1)
    assert slowdowns(cast, cast.bob) == {"one": {"ratio": 1.0, "basis": "alone", "resource": ""}}
    other = Pod(opened(job(cast.project_a, cast.bob, name="other", hyperparameters={"width": 5}), ("n0", (0,))))
    assert slowdowns(cast, cast.bob) == {"one": None, "other": None}  # it has not made a step yet
    for _ in range(3):
        other.trains(2, step_s=0.3)
        one.trains(2, step_s=0.15)
    found = slowdowns(cast, cast.bob)
    assert found["one"] == {"ratio": pytest.approx(1.5), "basis": "measured", "resource": "gpu"}
    assert found["other"] is None  # it never trained without the other one
    assert slowdowns(cast, cast.charlie) == {None: None}
    end(one.attempt)
    again = Pod(opened(job(cast.project_a, cast.bob, name="again"), ("n0", (0,))))
    again.trains(1, step_s=0.15)
    assert slowdowns(cast, cast.bob)["again"] == {
        "ratio": pytest.approx(1.5), "basis": "predicted", "resource": "gpu",
    }  # fmt: skip


def test_with_two_others_at_once_no_slowdown_is_claimed(cast: Cast) -> None:
    for at in range(3):
        of = job(cast.project_a, cast.bob, name=f"j{at}", hyperparameters={"width": at + 1})
        Pod(opened(of, ("n0", (at,)))).trains(2, step_s=0.1)
    assert slowdowns(cast, cast.bob) == {"j0": None, "j1": None, "j2": None}


def test_a_busier_cluster_takes_no_more_queries(cast: Cast) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            cluster(cast, cast.bob)
        return len(found)

    for at in range(2):
        opened(job(cast.project_a, cast.bob, name=f"j{at}"), ("n0", (at,)), ("n1", (at,)))
    asked()  # the first request fills caches
    n_before = asked()
    for at in range(2, 4):
        opened(job(cast.project_a, cast.bob, name=f"j{at}"), ("n0", (at,)), ("n2", (at,)))
    assert asked() <= n_before
