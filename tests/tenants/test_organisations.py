# SPDX-License-Identifier: Apache-2.0
"""Organisations, teams, projects and their quota: names unique in their place, edits that are not lost."""

from __future__ import annotations

import pytest
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.models import Event
from mlhub.storage.models import Blob, Holding
from mlhub.tenants.actions import require_open, set_quota
from mlhub.tenants.models import Organisation, Project, Quota, Team
from mlhub.tracking.models import Run
from tests.jobs.builders import job


def test_administrators_of_the_platform_make_organisations_and_no_one_else(cast):
    made = cast.client(cast.root).post("/api/v1/organisations", {"name": "C"})
    assert made.status_code == 201
    assert made.json()["role"] == "owner"
    assert Quota.objects.get(organisation__name="C").max_gpus is None
    assert cast.client(cast.charlie).post("/api/v1/organisations", {"name": "D"}).status_code == 403
    taken = cast.client(cast.root).post("/api/v1/organisations", {"name": "A"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")


def test_each_sees_their_own_organisations_with_their_role(cast):
    listed = cast.client(cast.bob).get("/api/v1/organisations").json()["results"]
    assert [(o["name"], o["role"]) for o in listed] == [("A", "member")]
    everything = cast.client(cast.root).get("/api/v1/organisations").json()["results"]
    assert {o["name"] for o in everything} == {"A", "B"}
    quota = cast.client(cast.victor).get(f"/api/v1/organisations/{cast.a.id}").json()["quota"]
    assert quota == {"max_gpus": None, "max_running_jobs": None, "max_storage_bytes": None, "version": 1}


def test_a_member_makes_a_project_whose_name_is_unique_in_the_organisation(cast):
    bob = cast.client(cast.bob)
    body = {"organisation": str(cast.a.id), "name": "speech"}
    made = bob.post("/api/v1/projects", body)
    assert made.status_code == 201
    assert made.json()["organisation"] == {"id": str(cast.a.id), "name": "A"}
    again = bob.post("/api/v1/projects", body)
    assert (again.status_code, again.json()["errors"][0]["field"]) == (409, "name")
    assert (
        cast.client(cast.charlie).post("/api/v1/projects", {**body, "organisation": str(cast.b.id)}).status_code == 201
    )


def test_a_project_of_a_team_needs_a_team_of_the_same_organisation(cast):
    other = Team.objects.create(organisation=cast.b, name="b")
    cast.b.memberships.create(user=cast.alice, role="admin")
    alice = cast.client(cast.alice)
    team = alice.post("/api/v1/teams", {"organisation": str(cast.a.id), "name": "core"})
    assert team.status_code == 201
    body = {"organisation": str(cast.a.id), "name": "speech"}
    wrong = alice.post("/api/v1/projects", {**body, "team": str(other.id)})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "team")
    made = alice.post("/api/v1/projects", {**body, "team": team.json()["id"]})
    assert made.json()["team"] == {"id": team.json()["id"], "name": "core"}


def test_projects_are_filtered_by_organisation_and_paged(cast):
    for i in range(4):
        Project.objects.create(organisation=cast.a, name=f"p{i}")
    client = cast.client(cast.root)
    page = client.get(f"/api/v1/projects?organisation={cast.a.id}&limit=2").json()
    names = [p["name"] for p in page["results"]]
    while page["next"]:
        page = client.get(page["next"]).json()
        names += [p["name"] for p in page["results"]]
    assert names == ["p3", "p2", "p1", "p0", "vision"]


def test_a_filter_does_not_reveal_which_organisations_exist(cast):
    charlie = cast.client(cast.charlie)
    answers = [charlie.get(f"/api/v1/projects?organisation={id}") for id in (cast.a.id, cast.alice.id)]
    assert [(a.status_code, a.json()["results"]) for a in answers] == [(200, []), (200, [])]
    hidden, unknown = (charlie.get(f"/api/v1/projects?organisation={name}") for name in ("A", "Z"))
    assert (hidden.status_code, unknown.status_code) == (404, 404)
    assert hidden.json()["detail"].replace("A", "Z") == unknown.json()["detail"].replace("A", "Z")


def test_a_quota_changes_only_what_is_named_and_is_written_down(cast):
    set_quota(cast.a, max_gpus=4, max_storage_bytes=100, actor=cast.root)
    quota = set_quota(cast.a, max_gpus=None, actor=cast.root)
    assert (quota.max_gpus, quota.max_storage_bytes, quota.version) == (None, 100, 3)
    last = Event.objects.filter(kind="quota.changed").latest("id")
    assert (last.facts["before"], last.facts["after"]) == ({"max_gpus": 4}, {"max_gpus": None})


def test_a_quota_that_somebody_changed_since_is_not_overwritten(cast):
    set_quota(cast.a, max_gpus=4, version=1, actor=cast.root)
    with pytest.raises(ConflictError) as refused:
        set_quota(cast.a, max_gpus=8, version=1, actor=cast.root)
    facts = refused.value.facts
    assert (facts["version"], facts["present"], facts["yours"]) == (2, {"max_gpus": 4}, {"max_gpus": 8})
    assert Quota.objects.get(organisation=cast.a).max_gpus == 4


def test_setting_the_same_quota_again_changes_nothing(cast):
    set_quota(cast.a, max_gpus=4, actor=cast.root)
    assert set_quota(cast.a, max_gpus=4, actor=cast.root).version == 2
    assert Event.objects.filter(kind="quota.changed").count() == 1


def test_a_negative_limit_is_refused(cast):
    with pytest.raises(InvalidInputError) as refused:
        set_quota(cast.a, max_running_jobs=-1, actor=cast.root)
    assert refused.value.field == "max_running_jobs"


def test_an_organisation_without_a_quota_row_gets_one_when_it_is_set(db):
    organisation = Organisation.objects.create(name="C")
    assert set_quota(organisation, max_gpus=2, actor=None).max_gpus == 2


def organisation_address(cast) -> str:
    return f"/api/v1/organisations/{cast.a.id}"


def test_an_owner_renames_archives_and_opens_an_organisation(cast):
    owner, member = cast.client(cast.root), cast.client(cast.bob)
    address, new = organisation_address(cast), {"organisation": str(cast.a.id), "name": "speech"}
    assert owner.patch(address, {"name": "B"}).json()["code"] == "name_taken"
    assert owner.patch(address, {"name": "Acme", "is_archived": True}).json()["archived_at"] is not None
    refused = member.post("/api/v1/projects", new)
    assert (refused.status_code, refused.json()["code"]) == (409, "organisation_archived")
    with pytest.raises(ConflictError, match="it takes no projects, no uploads and no jobs"):
        require_open(cast.project_a)  # what uploads and submissions ask
    assert owner.patch(address, {"is_archived": False}).json()["archived_at"] is None
    assert member.post("/api/v1/projects", new).status_code == 201
    kinds = ["organisation.renamed", "organisation.archived", "organisation.opened"]
    assert list(Event.objects.filter(kind__in=kinds).order_by("id").values_list("kind", flat=True)) == kinds


def test_an_admin_who_is_no_owner_changes_no_organisation(cast):
    admin, address = cast.client(cast.alice), organisation_address(cast)
    for answer in (
        admin.patch(address, {"name": "x"}),
        admin.patch(address, {"is_archived": True}),
        admin.delete(address),
    ):
        assert (answer.status_code, answer.json()["needed_role"]) == (403, "owner")
    cast.a.refresh_from_db()
    assert (cast.a.name, cast.a.archived_at) == ("A", None)


def test_only_an_empty_organisation_is_deleted_with_its_memberships(cast):
    owner, address = cast.client(cast.root), organisation_address(cast)
    refused = owner.delete(address)
    assert (refused.status_code, refused.json()["contents"]) == (409, {"project": 1})
    assert "delete it with all its data on the page Members" in refused.json()["remedy"]
    cast.project_a.delete()
    assert owner.delete(address).status_code == 204
    assert not Organisation.objects.filter(name="A").exists()
    assert cast.client(cast.alice).get("/api/v1/auth/me").json()["memberships"] == []
    (event,) = owner.get("/api/v1/events", {"kind": "organisation.deleted"}).json()["results"]
    assert (event["facts"]["name"], event["actor"]["username"]) == ("A", "root")


def test_an_admin_moves_a_project_between_teams(cast):
    admin, address = cast.client(cast.alice), f"/api/v1/projects/{cast.project_a.id}"
    core = Team.objects.create(organisation=cast.a, name="core")
    foreign = Team.objects.create(organisation=cast.b, name="theirs")
    assert admin.patch(address, {"team": str(core.id)}).json()["team"]["name"] == "core"
    assert admin.patch(address, {"team": str(foreign.id)}).status_code == 404
    assert cast.client(cast.bob).patch(address, {"team": None}).status_code == 403
    assert admin.patch(address, {"team": None}).json()["team"] is None
    moved = Event.objects.filter(kind="project.moved").order_by("id").values_list("facts", flat=True)
    assert [(f["before"], f["after"]) for f in moved] == [
        ({"team": None}, {"team": "core"}),
        ({"team": "core"}, {"team": None}),
    ]


def test_a_refused_deletion_counts_what_the_projects_hold_and_not_the_bytes_of_it(cast):
    version = job(cast.project_b, cast.charlie).dataset_version
    blob = Blob.objects.create(sha256="0" * 64, size_bytes=1)
    Holding.objects.create(organisation=cast.b, blob=blob, owner_kind="dataset_version", owner_id=version.pk)
    Run.objects.create(project=cast.project_b, name="shown", created_by=cast.charlie, started_ms=1)
    Run.objects.create(
        project=cast.project_b, name="hidden", created_by=cast.charlie, started_ms=1, deleted_at=timezone.now()
    )
    refused = cast.client(cast.charlie).delete(f"/api/v1/organisations/{cast.b.id}").json()
    assert refused["contents"] == {"project": 1, "dataset": 1, "job": 1, "run": 1}
    assert refused["detail"] == "B holds 1 project, 1 dataset, 1 job, 1 run."
