# SPDX-License-Identifier: Apache-2.0
"""Limits of the CPUs and memory that pods of one user request: what is refused, what waits, what is shown to whom."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.quotas.test_user_limits import address, limit, reason_of, submit
from tests.control.quotas.test_user_limits import world as world
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
GIB = 2**30
SMALL = {"min_workers": 1, "max_workers": 1, "resources": {"memory_gib": 0.25}}


def test_a_second_job_of_a_user_waits_for_cpus_and_another_user_s_starts_and_use_is_shown(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, max_cpus=1, max_memory_bytes=GIB)
    first = world.job(**SMALL)
    world.rounds(2)
    second = world.job(**SMALL)
    hers = job(cast.project_a, cast.alice, **SMALL)
    world.rounds(2)
    assert (state(first), state(second), state(hers)) == ("running", "queued", "running")
    why = reason_of(world, second)
    assert why["reason"] == "user_quota_cpus"
    assert why["sentence"].startswith(
        "Limit of a user: pods of bob request 1 of the 1 CPU that one person may have in A;"
    )
    (own,) = cast.client(cast.bob).get("/api/v1/user-quotas/mine").json()
    assert (own["max_cpus"], own["max_memory_bytes"]) == (1, GIB)
    assert (own["used"]["cpus"], own["used"]["memory_bytes"], own["used"]["gpus"]) == (1.0, GIB // 4, 1)
    advice = cast.client(cast.bob).get(f"/api/v1/jobs/{second.id}/why").json()["analysis"]
    lacking = [one["sentence"] for one in advice["blockers"] if one["kind"] == "user_cpus"]
    assert lacking == ["CPUs that bob may have in A, as one person, are enough for 0 more of its workers; it needs 1."]
    limit(cast, cast.alice, username="bob", max_cpus=2)
    world.rounds(2)
    assert state(second) == "running"


@pytest.mark.parametrize(
    ("limits", "body", "field", "asked"),
    [
        ({"max_cpus": 3}, {"resources": {"cpus": 2}, "min_workers": 2}, "resources.cpus", 4.0),
        ({"max_memory_bytes": GIB}, {"resources": {"memory_gib": 2}}, "resources.memory_gib", 2.0),
    ],
    ids=["cpus", "memory"],
)
def test_a_job_whose_pods_its_user_may_never_have_is_refused_with_who_raises_it(
    world: World, limits: dict[str, int], body: dict[str, Any], field: str, asked: float
) -> None:
    cast = world.cast
    project = f"projects/{cast.project_a.id}"
    limit(cast, cast.alice, of=project, username="bob", **limits)
    refused = submit(cast, cast.bob, **body)
    assert refused.status_code == 422, refused.content
    found, name = refused.json(), cast.project_a.name
    assert (found["limit"], found["owner"], found["asked_amount"]) == (f"user_{next(iter(limits))}", name, asked)
    assert "and you may request" in found["detail"]
    assert found["errors"][0]["field"] == field
    assert f"ask an admin of {name} or of A to raise" in found["remedy"]
    assert submit(cast, cast.alice, **body).status_code == 201
    limit(cast, cast.alice, of=project, username="bob", **dict.fromkeys(limits))
    assert submit(cast, cast.bob, **body).status_code == 201


def test_a_paused_job_is_not_resumed_above_the_limit_and_the_admin_reads_whose_it_is(world: World) -> None:
    cast = world.cast
    made = submit(cast, cast.bob, min_workers=2).json()["id"]
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{made}/pause").status_code == 200
    limit(cast, cast.alice, max_cpus=1)
    for by, whose in ((cast.bob, "you"), (cast.alice, "bob")):
        refused = cast.client(by).post(f"/api/v1/jobs/{made}/resume")
        assert (refused.status_code, refused.json()["limit"]) == (422, "user_max_cpus")
        assert f"and {whose} may request 1 CPU in A" in refused.json()["detail"]


def test_a_refusal_says_amounts_as_people_read_them(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, username="bob", max_memory_bytes=1000, max_cpus=0)
    said = submit(cast, cast.bob, resources={"cpus": 1}).json()["detail"]
    assert said == "It requests 1 CPU for 1 worker, and you may request 0 CPUs in A."
    limit(cast, cast.alice, username="bob", max_cpus=None)
    said = submit(cast, cast.bob, resources={"memory_gib": 1.5}).json()["detail"]
    assert said == "It requests 1.5 GiB of memory for 1 worker, and you may request 1,000 bytes of memory in A."
    limit(cast, cast.alice, username="bob", max_memory_bytes=None, max_running_jobs=0)
    refused = submit(cast, cast.bob).json()
    assert (refused["limit"], refused["detail"]) == (
        "user_max_running_jobs",
        "In A you may run no jobs: the limit of jobs at a time is 0.",
    )
    assert refused["remedy"] == "Ask an admin of A to raise the limit of users."


@pytest.mark.parametrize("field", ["max_cpus", "max_memory_bytes"])
def test_numbers_that_make_no_sense_are_refused_and_strangers_see_nothing(world: World, field: str) -> None:
    cast = world.cast
    for value in (-1, 1.5, "many", 10**20):
        refused = limit(cast, cast.alice, status=422, **{field: value})
        assert refused["errors"][0]["field"] == field
    limit(cast, cast.bob, status=403, **{field: 1})
    assert cast.client(cast.charlie).patch(address(cast), {field: 1}, format="json").status_code == 404
