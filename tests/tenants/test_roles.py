# SPDX-License-Identifier: Apache-2.0
"""Roles in teams and projects: what they allow there and nowhere else, who gives them, and when they end."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.actions import bind_role, remove_member, set_quota
from mlhub.tenants.actions.administration.service_accounts import create_service_account
from mlhub.tenants.models import Membership, Project, RoleBinding, Team, User
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.jobs.builders import builtin, job, ready_dataset

API = "/api/v1"


@pytest.fixture
def core(cast: Cast) -> Team:
    """A team of A, with the project vision."""
    found = Team.objects.create(organisation=cast.a, name="core")
    Project.objects.filter(pk=cast.project_a.pk).update(team=found)
    cast.project_a.refresh_from_db()
    return found


@pytest.fixture
def other(cast: Cast) -> Project:
    return Project.objects.create(organisation=cast.a, name="other")


def submit(client: APIClient, project: Project, user: User) -> int:
    dataset = ready_dataset(project, user)
    body = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(project.pk)}
    return client.post(f"{API}/jobs", {**body, "epochs": 1, "batch_size": 4}).status_code


def granted(cast: Cast, by: User, place: Any, username: str, role: str) -> Any:
    kind = type(place).__name__.lower()
    return cast.client(by).post(f"{API}/{kind}s/{place.pk}/roles", {"username": username, "role": role})


def test_a_viewer_of_the_organisation_submits_in_the_project_where_they_are_a_member(cast, other):
    client = cast.client(cast.victor)
    assert submit(client, cast.project_a, cast.bob) == 403
    assert granted(cast, cast.alice, cast.project_a, "victor", "member").status_code == 201
    assert submit(client, cast.project_a, cast.bob) == 201
    refused = client.post(f"{API}/projects/{other.pk}/secrets", {"name": "A", "value": "b"})
    assert submit(client, other, cast.bob) == 403
    assert refused.status_code in (403, 404, 405)


def test_an_admin_of_a_project_deletes_others_jobs_and_renames_it_and_no_other(cast, other):
    granted(cast, cast.alice, cast.project_a, "victor", "admin")
    client = cast.client(cast.victor)
    mine, foreign = job(cast.project_a, cast.bob), job(other, cast.bob)
    assert client.post(f"{API}/jobs/{mine.pk}/cancel").status_code == 200
    assert client.post(f"{API}/jobs/{foreign.pk}/cancel").status_code == 403
    assert client.patch(f"{API}/projects/{cast.project_a.pk}", {"name": "new"}).status_code == 200
    assert client.patch(f"{API}/projects/{other.pk}", {"name": "new2"}).status_code == 403
    limits = {"username": "bob", "max_gpus": 1}
    assert client.patch(f"{API}/projects/{cast.project_a.pk}/quota/users", limits).status_code == 200
    assert client.patch(f"{API}/organisations/{cast.a.pk}/quota/users", limits).status_code == 403


def test_a_slice_is_cut_by_the_admins_of_what_is_above_it(cast, core, other):
    """Nobody raises the quota that they live in."""
    granted(cast, cast.alice, core, "victor", "admin")
    granted(cast, cast.alice, cast.project_a, "bob", "admin")
    set_quota(cast.a, guarantee=8, actor=cast.root)
    of_project, of_team = f"{API}/projects/{cast.project_a.pk}/quota", f"{API}/teams/{core.pk}/quota"
    set_quota(core, guarantee=4, actor=cast.alice)
    assert cast.client(cast.victor).patch(of_project, {"guarantee": 4}).status_code == 200
    assert cast.client(cast.victor).patch(of_project, {"guarantee": 5}).status_code == 422
    assert cast.client(cast.victor).patch(of_team, {"guarantee": 8}).status_code == 403
    assert cast.client(cast.bob).patch(of_project, {"max_gpus": 99}).status_code == 403
    assert cast.client(cast.victor).patch(f"{API}/projects/{other.pk}/quota", {"max_gpus": 1}).status_code == 403
    tree = cast.client(cast.victor).get(f"{API}/organisations/{cast.a.pk}/quota-tree").json()
    assert (tree["may_edit"], tree["editable"]) == (False, [str(cast.project_a.pk)])
    refused = cast.client(cast.alice).patch(f"{API}/organisations/{cast.a.pk}/quota", {"max_gpus": 1}).json()
    assert (refused["code"], "page Quotas" in refused["remedy"]) == ("administrator_needed", True)


def test_a_role_in_a_team_holds_in_all_teams_below_it(cast, core, other):
    below = Team.objects.create(organisation=cast.a, name="below", parent=core)
    Project.objects.filter(pk=other.pk).update(team=below)
    dora = User.objects.create(username="dora")
    Membership.objects.create(user=dora, organisation=cast.a, role=Role.OUTSIDER)
    assert granted(cast, cast.alice, core, "dora", "admin").status_code == 201
    client = cast.client(dora)

    def seen(kind: str) -> set[str]:
        return {row["name"] for row in client.get(f"{API}/{kind}").json()["results"]}

    assert (seen("projects"), seen("teams")) == ({cast.project_a.name, "other"}, {"core", "below"})
    assert submit(client, other, cast.bob) == 201
    assert client.patch(f"{API}/teams/{below.pk}/quota", {"max_gpus": 1}).status_code == 200
    assert client.patch(f"{API}/teams/{core.pk}/quota", {"max_gpus": 1}).status_code == 403
    moved = cast.client(cast.alice).patch(f"{API}/teams/{below.pk}", {"parent": None})
    assert moved.status_code == 200
    assert (seen("projects"), seen("teams")) == ({cast.project_a.name}, {"core"})
    assert client.get(f"{API}/projects/{other.pk}").status_code == 404
    assert submit(client, other, cast.bob) in (403, 404)


def test_a_team_does_not_move_out_of_the_quota_of_the_team_above_it(cast, core):
    below = Team.objects.create(organisation=cast.a, name="below", parent=core)
    elsewhere = Team.objects.create(organisation=cast.a, name="elsewhere")
    granted(cast, cast.alice, below, "victor", "admin")
    client = cast.client(cast.victor)
    for parent in (None, str(elsewhere.pk)):
        assert client.patch(f"{API}/teams/{below.pk}", {"parent": parent}).status_code == 403
    assert client.patch(f"{API}/teams/{below.pk}", {"name": "renamed"}).status_code == 200
    granted(cast, cast.alice, elsewhere, "victor", "admin")
    assert client.patch(f"{API}/teams/{below.pk}", {"parent": str(elsewhere.pk)}).status_code == 200


def test_a_role_of_a_team_far_above_is_named(cast, core):
    middle = Team.objects.create(organisation=cast.a, name="middle", parent=core)
    below = Team.objects.create(organisation=cast.a, name="below", parent=middle)
    granted(cast, cast.alice, core, "victor", "member")
    found = cast.client(cast.victor).get(f"{API}/teams/{below.pk}/permissions").json()["assignments"]
    assert [(one["role"], one["place"], one["place_name"]) for one in found] == [
        ("member", "team", "core"), ("viewer", "organisation", "A")
    ]  # fmt: skip


def test_a_project_moves_only_to_where_one_is_an_admin_too(cast, core, other):
    granted(cast, cast.alice, other, "victor", "admin")
    client, move = cast.client(cast.victor), {"team": str(core.pk)}
    assert client.patch(f"{API}/projects/{other.pk}", move).status_code == 403
    granted(cast, cast.alice, core, "victor", "admin")
    assert client.patch(f"{API}/projects/{other.pk}", move).status_code == 200
    assert client.patch(f"{API}/projects/{other.pk}", {"team": None}).status_code == 403


def test_a_team_admin_makes_projects_and_gives_roles_in_the_team_alone(cast, core, other):
    dora = User.objects.create(username="dora")
    Membership.objects.create(user=dora, organisation=cast.a, role=Role.OUTSIDER)
    assert granted(cast, cast.victor, core, "dora", "admin").status_code == 403
    granted(cast, cast.alice, core, "dora", "admin")
    client = cast.client(dora)
    new = {"organisation": str(cast.a.pk), "name": "new", "team": str(core.pk)}
    assert client.post(f"{API}/projects", new).status_code == 201
    assert client.post(f"{API}/projects", {**new, "team": None, "name": "x"}).status_code == 404
    assert granted(cast, dora, cast.project_a, "victor", "admin").status_code == 201
    assert granted(cast, dora, other, "victor", "member").status_code == 404
    assert granted(cast, dora, core, "victor", "owner").status_code == 422
    assert granted(cast, dora, core, "charlie", "viewer").json()["errors"][0]["field"] == "username"
    assert {row["name"] for row in client.get(f"{API}/projects").json()["results"]} == {"vision", "new"}
    assert [row["name"] for row in client.get(f"{API}/teams").json()["results"]] == ["core"]


def test_a_role_is_changed_and_withdrawn_and_each_is_audited(cast):
    made = granted(cast, cast.alice, cast.project_a, "victor", "member").json()
    address = f"{API}/role-bindings/{made['id']}"
    assert granted(cast, cast.alice, cast.project_a, "victor", "admin").json()["code"] == "already_bound"
    assert cast.client(cast.bob).patch(address, {"role": "admin"}).status_code == 403
    assert cast.client(cast.victor).patch(address, {"role": "admin"}).status_code == 403
    assert cast.client(cast.alice).patch(address, {"role": "viewer"}).json()["role"] == "viewer"
    assert cast.client(cast.victor).delete(address).status_code == 204  # one's own
    assert cast.client(cast.alice).delete(address).status_code == 404
    kinds = Event.objects.filter(kind__startswith="role_binding.").order_by("id").values_list("kind", "facts__role")
    assert list(kinds) == [
        ("role_binding.created", "member"),
        ("role_binding.changed", "viewer"),
        ("role_binding.removed", "viewer"),
    ]
    assert set(Event.objects.filter(kind__startswith="role_b").values_list("facts__username", flat=True)) == {"victor"}


def test_roles_go_with_the_membership(cast, core):
    for place in (core, cast.project_a):
        bind_role(place, username="victor", role=Role.ADMIN, actor=cast.alice)
    remove_member(Membership.objects.get(user=cast.victor), actor=cast.alice)
    assert not RoleBinding.objects.exists()
    assert Event.objects.filter(kind="role_binding.removed").count() == 2
    assert cast.client(cast.victor).get(f"{API}/projects/{cast.project_a.pk}").status_code == 404


def test_a_service_account_is_no_admin_of_a_project(cast):
    robot = create_service_account(cast.a, name="ci", role=Role.OUTSIDER, actor=cast.alice)
    assert granted(cast, cast.alice, cast.project_a, robot.username, "admin").json()["errors"][0]["field"] == "role"
    assert granted(cast, cast.alice, cast.project_a, robot.username, "member").status_code == 201


def test_who_has_which_role_and_from_where(cast, core):
    bind_role(core, username="bob", role=Role.ADMIN, actor=cast.alice)
    rows = cast.client(cast.victor).get(f"{API}/projects/{cast.project_a.pk}/roles").json()["results"]
    found = {row["user"]["username"]: row for row in rows}
    assert {name: row["role"] for name, row in found.items()} == {"alice": "admin", "bob": "admin", "victor": "viewer"}
    sources = [(one["role"], one["place"], one["place_name"]) for one in found["bob"]["assignments"]]
    assert sources == [("admin", "team", "core"), ("member", "organisation", "A")]


def test_it_is_said_why_one_can_or_cannot_do_a_thing(cast, core):
    bind_role(core, username="victor", role=Role.MEMBER, actor=cast.alice)
    found = cast.client(cast.victor).get(f"{API}/projects/{cast.project_a.pk}/permissions").json()
    assert (found["role"], found["assignments"][0]["place_name"]) == ("member", "core")
    answers = {one["action"]: one for one in found["permissions"]}
    assert answers["submit"]["is_allowed"]
    assert not answers["change_settings"]["is_allowed"]
    assert answers["change_quota"]["place"] == "the team core of A"
    assert answers["change_settings"]["remedy"] == (
        "Ask an admin of vision or of A (alice) for the role admin in the project vision of A."
    )
    asked = f"{API}/organisations/{cast.a.pk}/permissions?username=victor"
    assert cast.client(cast.bob).get(asked).status_code == 403
    of_organisation = {one["action"]: one for one in cast.client(cast.alice).get(asked).json()["permissions"]}
    assert "administrator of the platform" in of_organisation["create_organisations"]["remedy"]


def test_a_refusal_names_the_project_and_to_an_outsider_no_people_of_the_organisation(cast):
    refused = cast.client(cast.victor).patch(f"{API}/projects/{cast.project_a.pk}", {"name": "x"}).json()
    assert "in the project vision of A; yours is viewer" in refused["detail"]
    assert "(alice)" in refused["remedy"]
    Membership.objects.filter(user=cast.victor).update(role=Role.OUTSIDER)
    bind_role(cast.project_a, username="victor", role=Role.VIEWER, actor=cast.alice)
    refused = cast.client(cast.victor).patch(f"{API}/projects/{cast.project_a.pk}", {"name": "x"}).json()
    assert "alice" not in refused["remedy"]
    assert "an admin of vision" in refused["remedy"]


@pytest.mark.parametrize(
    ("verb", "route"), [("post", "organisations"), ("post", "cluster/nodes/n/drain"), ("get", "users")]
)
def test_what_administrators_of_the_platform_do_is_refused_with_a_remedy(cast, verb, route):
    answer = getattr(cast.client(cast.alice), verb)(f"{API}/{route}", {"name": "x"} if verb == "post" else None)
    assert (answer.status_code, answer.json()["code"]) == (403, "administrator_needed")
    assert "administrator of the platform" in answer.json()["remedy"]


def test_an_auditor_sees_from_where_things_were_done_and_changes_nothing(cast):
    Membership.objects.filter(user=cast.victor).update(role=Role.AUDITOR)
    made = cast.client(cast.alice).post(f"{API}/teams", {"organisation": str(cast.a.pk), "name": "t"})
    assert made.status_code == 201
    client = cast.client(cast.victor)
    event = client.get(f"{API}/events?kind=team.created").json()["results"][0]
    assert "address" in event["facts"]
    assert "address" not in cast.client(cast.bob).get(f"{API}/events?kind=team.created").json()["results"][0]["facts"]
    assert client.get(f"{API}/usage?by=user&since=2026-01-01T00:00:00Z").status_code in (200, 422)
    assert client.post(f"{API}/teams", {"organisation": str(cast.a.pk), "name": "u"}).status_code == 403
    assert submit(client, cast.project_a, cast.bob) == 403
