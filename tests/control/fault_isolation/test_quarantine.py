# SPDX-License-Identifier: Apache-2.0
"""What rounds leave out, as people read it: on the cluster's page, and on the job's own."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.backends.protocol import ItemKind
from mlhub.clusters.sandbox_reports import record_sandbox, sandbox_reports
from mlhub.control.fault_isolation.quarantine import REMEDIES
from mlhub.jobs.models import Job
from mlhub.runtime.sandbox.capabilities import CONSEQUENCES, report_of
from mlhub.runtime.sandbox.isolation import Isolation
from tests.cast import make_cast
from tests.control.worlds import World, node

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def cluster(world: World, user: Any) -> dict[str, Any]:
    found: dict[str, Any] = world.cast.client(user).get("/api/v1/cluster").json()
    return found


def test_administrators_see_what_is_left_out_and_others_only_their_own_jobs_without_the_reason(world: World) -> None:
    bad = world.job(name="bad")
    Job.objects.filter(pk=bad.pk).update(profile=[])
    world.backend.nodes.append(node("", "r9"))
    world.round()
    whole = cluster(world, world.cast.root)["quarantined"]
    assert {item["kind"] for item in whole} == {"job", "node"}
    assert all(item["reason"] and item["remedy"] and item["ended_at"] is None for item in whole)
    (own,) = cluster(world, world.cast.bob)["quarantined"]
    assert (own["kind"], own["job"], own["reason"]) == ("job", {"id": str(bad.id), "name": "bad"}, "")
    assert "administrator" in own["remedy"]
    assert cluster(world, world.cast.charlie)["quarantined"] == []


def test_the_job_s_own_page_says_that_it_is_left_out(world: World) -> None:
    bad = world.job(name="bad")
    Job.objects.filter(pk=bad.pk).update(profile=[])
    world.round()
    why = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{bad.id}/why").json()
    assert why["headline"].startswith("The scheduler cannot handle this job")
    assert why["explanations"][0]["reason"] == "quarantined"


def test_every_kind_has_a_remedy() -> None:
    assert set(REMEDIES) == set(ItemKind)


def test_administrators_see_what_each_machine_s_sandbox_lacks_and_what_that_allows(world: World) -> None:
    bare = Isolation(has_namespaces=False, has_own_user=False, has_landlock=False, has_filter=False)
    record_sandbox(report_of(bare, (), landlock_version=0), now=timezone.now(), host="weak")
    (report,) = cluster(world, world.cast.root)["sandbox"]
    assert (report["host"], report["separates_tenants"], report["error"]) == ("weak", False, "")
    missing = {each["name"]: each["consequence"] for each in report["protections"] if not each["is_present"]}
    assert missing == CONSEQUENCES
    assert cluster(world, world.cast.alice)["sandbox"] == []


def test_a_machine_without_any_sandbox_says_so_until_its_worker_reports_anew(world: World) -> None:
    record_sandbox(OSError("No sandbox works on this machine."), now=world.now, host="bare")
    assert [(r["separates_tenants"], r["error"]) for r in sandbox_reports()] == [
        (False, "No sandbox works on this machine.")
    ]
    whole = Isolation(has_namespaces=True, has_own_user=True, has_landlock=True, has_filter=True)
    record_sandbox(report_of(whole, ("memory", "pids", "cpu"), landlock_version=6), now=world.now, host="bare")
    (report,) = sandbox_reports()
    assert (report["separates_tenants"], report["error"]) == (True, "")
    assert {each["consequence"] for each in report["protections"]} == {""}
