# SPDX-License-Identifier: Apache-2.0
"""Tests of how high members may set the priority of their jobs."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.models import Job
from mlhub.tenants.actions import bind_role
from mlhub.tenants.models import Team
from mlhub.tenants.roles import Role
from tests.cast import Cast, make_cast
from tests.jobs.test_api import submit

pytestmark = pytest.mark.django_db
QUOTAS = "/api/v1/{kind}/{id}/quota"


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def allow(cast: Cast, kind: str, owner: Any, most: int | None) -> Any:
    user = cast.root if kind == "organisations" else cast.alice
    return cast.client(user).patch(QUOTAS.format(kind=kind, id=owner.id), {"max_priority": most})


def test_a_member_gives_up_to_fifty_and_admins_any(cast: Cast) -> None:
    assert submit(cast, priority=50).status_code == 201
    refused = submit(cast, priority=51)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "priority")
    assert refused.json()["detail"] == "The priority 51 is above 50, the highest that members of A may give."
    assert "ask an admin of A" in refused.json()["remedy"]
    assert Job.objects.count() == 1
    assert submit(cast, user=cast.alice, priority=100).status_code == 201


def test_a_clone_is_no_way_round_the_ceiling(cast: Cast) -> None:
    high = submit(cast, user=cast.alice, priority=90).json()["id"]
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{high}/clone", {}).status_code == 422
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{high}/clone", {"priority": 10}).status_code == 201


def test_a_pause_is_no_way_round_a_ceiling_that_was_lowered(cast: Cast) -> None:
    found = submit(cast, priority=40).json()["id"]
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{found}/pause").json()["state"] == "paused"
    assert allow(cast, "projects", cast.project_a, 30).status_code == 200
    refused = cast.client(cast.bob).post(f"/api/v1/jobs/{found}/resume")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "priority")
    assert f"above 30, the highest that members of {cast.project_a.name} may give" in refused.json()["detail"]
    assert refused.json()["remedy"] == "Clone the job with at most 30, or ask an admin of A to resume the job."
    assert cast.client(cast.alice).post(f"/api/v1/jobs/{found}/resume").json()["state"] == "queued"


@pytest.mark.slow
def test_the_lowest_ceiling_on_the_way_up_counts(cast: Cast) -> None:
    cast.project_a.team = Team.objects.create(organisation=cast.a, name="core")
    cast.project_a.save()
    assert allow(cast, "organisations", cast.a, 80).json()["max_priority"] == 80
    assert submit(cast, priority=80).status_code == 201
    assert allow(cast, "teams", cast.project_a.team, 20).status_code == 200
    assert "20, the highest that members of core may give" in submit(cast, priority=21).json()["detail"]
    assert allow(cast, "projects", cast.project_a, 90).status_code == 200
    assert submit(cast, priority=21).status_code == 422
    assert allow(cast, "teams", cast.project_a.team, None).status_code == 200
    assert submit(cast, priority=80).status_code == 201


@pytest.mark.parametrize("most", [-1, 101, "high"])
def test_a_ceiling_that_makes_no_sense_is_refused(cast: Cast, most: Any) -> None:
    answer = allow(cast, "organisations", cast.a, most)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "max_priority")


def test_a_member_does_not_raise_the_own_ceiling(cast: Cast) -> None:
    path = QUOTAS.format(kind="projects", id=cast.project_a.id)
    assert cast.client(cast.bob).patch(path, {"max_priority": 100}).status_code == 403
    assert cast.client(cast.charlie).patch(path, {"max_priority": 100}).status_code == 404


def test_an_admin_of_a_project_stays_below_the_ceiling_of_its_organisation(cast: Cast) -> None:
    bind_role(cast.project_a, username="bob", role=Role.ADMIN, actor=cast.alice)
    assert allow(cast, "projects", cast.project_a, 30).status_code == 200
    assert submit(cast, priority=40).status_code == 201
    assert allow(cast, "organisations", cast.a, 35).status_code == 200
    assert "35, the highest that members of A may give" in submit(cast, priority=40).json()["detail"]
