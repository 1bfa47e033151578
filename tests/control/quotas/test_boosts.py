# SPDX-License-Identifier: Apache-2.0
"""Boosts of quotas: who may make them, what the next rounds do with them, and how they end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.control.quotas.quota_tree import tree_of
from mlhub.control.tasks import watch_boosts
from mlhub.events.models import Event
from mlhub.tenants.actions import set_quota, type_limits_above
from mlhub.tenants.models import Project, QuotaBoost
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def boost(world: World, by: Any, *, of: str = "", status: int = 201, **body: Any) -> dict[str, Any]:
    """of: the address of the owner; by default the organisation A."""
    address = f"/api/v1/{of or f'organisations/{world.cast.a.id}'}/quota/boosts"
    body = {"ends_at": (timezone.now() + timedelta(hours=2)).isoformat(), **body}
    answer = world.cast.client(by).post(address, body, format="json")
    assert answer.status_code == status, answer.json()
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.slow
def test_a_waiting_job_starts_under_a_boost_and_gives_way_with_a_checkpoint_when_it_ends(world: World) -> None:
    set_quota(world.cast.a, max_gpus=1, actor=world.cast.root)
    first = world.job(name="first", max_workers=1)
    world.rounds(2)
    second = world.job(name="second", max_workers=1)
    world.round()
    assert (state(first), state(second)) == ("running", "queued")
    made = boost(world, world.cast.root, extra_max_gpus=1, reason="a deadline")
    world.rounds(2)
    assert (state(first), state(second)) == ("running", "running")
    QuotaBoost.objects.filter(pk=made["id"]).update(ends_at=world.now + timedelta(seconds=1))
    world.round()
    assert sorted([state(first), state(second)]) == ["running", "stopping"]


@pytest.mark.slow
def test_the_submission_of_a_larger_job_counts_the_boost(world: World) -> None:
    set_quota(world.cast.a, max_gpus=1, actor=world.cast.root)
    world.round()
    project = world.cast.project_a
    body = {"project": str(project.id), "dataset": str(ready_dataset(project, world.cast.bob).dataset_id)}
    body |= {"model": str(builtin().model_id), "min_workers": 3, "max_workers": 3}  # type: ignore[dict-item]
    bob = world.cast.client(world.cast.bob)
    refused = bob.post("/api/v1/jobs", body, format="json")
    assert "may use 1 GPU" in refused.json()["detail"]
    boost(world, world.cast.root, extra_max_gpus=2)
    assert bob.post("/api/v1/jobs", body, format="json").status_code == 201
    row = bob.get(f"/api/v1/organisations/{world.cast.a.id}/quota-tree").json()["owners"][0]
    assert row["max_gpus"] == 1
    assert [one["extra_max_gpus"] for one in row["boosts"]] == [2]
    quota = bob.get(f"/api/v1/organisations/{world.cast.a.id}/quota").json()
    assert (quota["max_gpus"], quota["boosted_gpus"]) == (1, 2)


def test_a_boost_of_a_gpu_type_raises_that_limit_for_submissions_and_rounds(world: World) -> None:
    set_quota(world.cast.a, gpus_by_type={"A100": 1, "T4": 2}, actor=world.cast.root)
    refused = boost(world, world.cast.root, extra_gpus_by_type={"H100": 1}, status=422)
    assert refused["errors"][0]["field"] == "extra_gpus_by_type"
    made = boost(world, world.cast.root, extra_gpus_by_type={"A100": 2})
    boost(world, world.cast.root, extra_gpus_by_type={"A100": 1}, extra_guarantee=1)
    assert made["extra_gpus_by_type"] == {"A100": 2}
    now = timezone.now()
    assert type_limits_above(Project.objects.get(pk=world.cast.project_a.pk)) == [(world.cast.a, {"A100": 4, "T4": 2})]
    tenant = next(one for one in tree_of({world.cast.a.id}, now=now).tenants if one.id == str(world.cast.a.id))
    assert (tenant.gpus_by_type, tenant.guarantee) == ((("A100", 4), ("T4", 2)), 1)
    world.cast.client(world.cast.root).post(f"/api/v1/quota-boosts/{made['id']}/end")
    assert type_limits_above(Project.objects.get(pk=world.cast.project_a.pk)) == [(world.cast.a, {"A100": 2, "T4": 2})]
    set_quota(world.cast.a, gpus_by_type={"T4": 2}, actor=world.cast.root)  # a limit that is lifted stays lifted
    assert type_limits_above(Project.objects.get(pk=world.cast.project_a.pk)) == [(world.cast.a, {"T4": 2})]


def test_a_project_may_be_guaranteed_what_its_organisation_has_for_as_long(world: World) -> None:
    project = f"projects/{world.cast.project_a.id}"
    set_quota(world.cast.a, guarantee=2, actor=world.cast.root)
    set_quota(world.cast.project_a, guarantee=1, actor=world.cast.alice)
    refused = boost(world, world.cast.alice, of=project, extra_guarantee=3, status=422)
    assert "extra_guarantee" in str(refused)
    above = boost(world, world.cast.root, extra_guarantee=2, ends_at=(timezone.now() + timedelta(hours=4)).isoformat())
    boost(world, world.cast.alice, of=project, extra_guarantee=3)
    later = (timezone.now() + timedelta(hours=9)).isoformat()
    refused = boost(world, world.cast.alice, of=project, extra_guarantee=1, ends_at=later, status=422)
    assert "would be guaranteed 5 GPUs" in refused["detail"]
    end = f"/api/v1/quota-boosts/{above['id']}/end"
    answer = world.cast.client(world.cast.root).post(end)
    assert (answer.status_code, answer.json()["code"]) == (409, "boost_needed")
    owners = (
        world.cast.client(world.cast.bob).get(f"/api/v1/organisations/{world.cast.a.id}/quota-tree").json()["owners"]
    )
    assert [row["guaranteed"] for row in owners] == [4, 4]
    answer = world.cast.client(world.cast.root).patch(
        f"/api/v1/organisations/{world.cast.a.id}/quota", {"guarantee": 1}, format="json"
    )
    assert answer.status_code == 422


def test_a_boost_is_ended_by_hand_or_by_itself_and_the_audit_says_which(world: World) -> None:
    set_quota(world.cast.a, guarantee=1, actor=world.cast.root)
    by_hand, by_itself = (boost(world, world.cast.root, extra_guarantee=1) for _ in range(2))
    end = f"/api/v1/quota-boosts/{by_hand['id']}/end"
    assert world.cast.client(world.cast.alice).post(end).status_code == 403
    assert world.cast.client(world.cast.charlie).post(end).status_code == 404
    assert world.cast.client(world.cast.root).post(end).status_code == 204
    assert world.cast.client(world.cast.root).post(end).json()["code"] == "boost_ended"
    assert watch_boosts() == 0
    QuotaBoost.objects.filter(pk=by_itself["id"]).update(ends_at=timezone.now())
    assert [watch_boosts(), watch_boosts()] == [1, 0]
    ends = Event.objects.filter(kind="quota.boost_ended").order_by("id")
    assert [(event.facts["boost"], event.actor) for event in ends] == [
        (by_hand["id"], world.cast.root),
        (by_itself["id"], None),
    ]
    assert Event.objects.filter(kind="quota.boosted").count() == 2


def test_what_makes_no_sense_is_refused_by_its_field(world: World) -> None:
    root = world.cast.root
    set_quota(world.cast.a, guarantee=1, actor=root)
    for body in (
        {},
        {"extra_guarantee": -1},
        {"extra_guarantee": 10**9},
        {"extra_guarantee": "many"},
        {"extra_max_gpus": 1},
        {"extra_guarantee": 1, "ends_at": "2020-01-01T00:00:00Z"},
        {"extra_guarantee": 1, "ends_at": "2999-01-01T00:00:00Z"},
        {"extra_guarantee": 1, "reason": "x" * 201},
        {"extra_guarantee": 1, "extra_gaurantee": 1},
    ):
        boost(world, root, status=422, **body)
    for _ in range(8):
        boost(world, root, extra_guarantee=1)
    assert boost(world, root, extra_guarantee=1, status=409)["code"] == "too_many_boosts"


def test_only_who_may_change_a_quota_may_boost_it(world: World) -> None:
    project = f"projects/{world.cast.project_a.id}"
    for person, status in ((world.cast.bob, 403), (world.cast.victor, 403), (world.cast.charlie, 404)):
        boost(world, person, of=project, extra_guarantee=1, status=status)
    boost(world, world.cast.alice, extra_guarantee=1, status=403)


@pytest.mark.slow
def test_the_preview_of_a_changed_rule_counts_the_boosts(world: World) -> None:
    set_quota(world.cast.a, max_gpus=1, actor=world.cast.root)
    boost(world, world.cast.root, extra_max_gpus=1)
    world.round()
    waiting = world.job(min_workers=3, max_workers=3)
    wish = {"organisation": str(world.cast.a.id), "max_gpus": 2}
    answer = world.cast.client(world.cast.root).post("/api/v1/what-if", {"quotas": [wish]}, format="json").json()
    effect = next(one for one in answer["effects"] if one["id"] == str(waiting.id))
    assert effect["after"]["decision"] == "launch"


def test_boosts_of_an_other_time_are_not_in_effect(world: World) -> None:
    assert datetime.now(UTC) > world.now
    assert world.cast.client(world.cast.alice).get(f"/api/v1/organisations/{world.cast.a.id}/quota/boosts").json() == []


def test_a_boosted_project_moves_only_where_its_guarantee_fits_so_that_other_boosts_go_on(world: World) -> None:
    alice, project = world.cast.client(world.cast.alice), world.cast.project_a
    set_quota(world.cast.a, guarantee=2, max_gpus=4, actor=world.cast.root)
    made = boost(world, world.cast.alice, of=f"projects/{project.id}", extra_guarantee=2)
    team = alice.post("/api/v1/teams", {"organisation": str(world.cast.a.id), "name": "new"}, format="json").json()
    refused = alice.patch(f"/api/v1/projects/{project.id}", {"team": team["id"]}, format="json")
    assert refused.status_code == 422, refused.json()
    assert refused.json()["errors"][0]["field"] == "team"
    assert "End" in refused.json()["remedy"]
    assert alice.get(f"/api/v1/projects/{project.id}").json()["team"] is None
    other = boost(world, world.cast.root, extra_max_gpus=1)
    assert world.cast.client(world.cast.root).post(f"/api/v1/quota-boosts/{other['id']}/end").status_code == 204
    assert alice.post(f"/api/v1/quota-boosts/{made['id']}/end").status_code == 204
    moved = alice.patch(f"/api/v1/projects/{project.id}", {"team": team["id"]}, format="json")
    assert moved.json()["team"]["id"] == team["id"]
