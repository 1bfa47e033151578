# SPDX-License-Identifier: Apache-2.0
"""Projects and teams are renamed, archived, opened again and deleted when empty; an archived project takes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.models import Membership, Organisation, Project, QuotaBoost, QuotaRequest, Team, User, UserQuota
from tests.cast import Cast
from tests.jobs.builders import builtin, job, ready_dataset


def address(owner: Organisation | Project | Team) -> str:
    return f"/api/v1/{type(owner).__name__.lower()}s/{owner.pk}"


def change(cast: Cast, user: Any, owner: Project | Team, **body: Any) -> Any:
    return cast.client(user).patch(address(owner), body)


def archive(cast: Cast) -> None:
    assert change(cast, cast.alice, cast.project_a, is_archived=True).status_code == 200


def test_admins_rename_projects_and_teams_and_members_do_not(cast: Cast) -> None:
    team = Team.objects.create(organisation=cast.a, name="core")
    for owner in (cast.project_a, team):
        kind, before = type(owner).__name__.lower(), owner.name
        assert change(cast, cast.bob, owner, name="new").status_code == 403
        assert change(cast, cast.alice, owner, name="new").json()["name"] == "new"
        event = Event.objects.get(kind=f"{kind}.renamed")
        assert (event.actor, event.facts["before"], event.facts["after"]) == (
            cast.alice,
            {"name": before},
            {"name": "new"},
        )


def test_a_name_that_is_taken_is_refused(cast: Cast) -> None:
    Project.objects.create(organisation=cast.a, name="speech")
    refused = change(cast, cast.alice, cast.project_a, name="speech")
    assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")


def test_an_archived_project_takes_no_job_no_clone_and_no_upload(cast: Cast) -> None:
    dataset, ended = ready_dataset(cast.project_a, cast.bob), job(cast.project_a, cast.bob, state="succeeded")
    archive(cast)
    bob = cast.client(cast.bob)
    body = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    upload = {"name": "n", "project": str(cast.project_a.id)}
    answers = [
        bob.post("/api/v1/jobs", body),
        bob.post(f"/api/v1/jobs/{ended.id}/clone", {}),
        bob.post("/api/v1/datasets", upload | {"file": SimpleUploadedFile("a.csv", b"x,y\n1,2\n")}, format="multipart"),
        bob.post("/api/v1/models", upload | {"file": SimpleUploadedFile("model.py", b"x = 1")}, format="multipart"),
        bob.post(
            f"/api/v1/datasets/{dataset.dataset_id}/versions",
            {"file": SimpleUploadedFile("a.csv", b"x,y\n1,2\n")},
            format="multipart",
        ),
    ]
    assert [(a.status_code, a.json()["code"]) for a in answers] == [(409, "project_archived")] * len(answers)
    assert answers[0].json()["detail"] == "vision is archived: it takes no uploads and no jobs."
    assert answers[0].json()["remedy"] == "Use another project, or ask an admin of A to open it again."
    assert Job.objects.count() == 1


def test_a_paused_job_of_an_archived_project_is_resumed_once_it_is_open_again(cast: Cast) -> None:
    paused = job(cast.project_a, cast.bob, state="paused", intent="pause")
    waiting = job(cast.project_a, cast.bob)
    archive(cast)
    resume = f"/api/v1/jobs/{paused.id}/resume"
    assert cast.client(cast.bob).post(resume).json()["code"] == "project_archived"
    waiting.refresh_from_db()
    assert waiting.state == "queued"  # what waits or runs goes on
    assert change(cast, cast.alice, cast.project_a, is_archived=False).json()["archived_at"] is None
    assert cast.client(cast.bob).post(resume).json()["state"] == "queued"
    kinds = Event.objects.filter(subject_kind="project").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["project.archived", "project.opened"]


def test_archiving_twice_is_one_event(cast: Cast) -> None:
    archive(cast)
    archive(cast)
    assert Event.objects.filter(kind="project.archived").count() == 1
    assert change(cast, cast.bob, cast.project_a, is_archived=False).status_code == 403


def test_only_an_empty_project_is_deleted(cast: Cast) -> None:
    job(cast.project_a, cast.bob)
    refused = cast.client(cast.alice).delete(address(cast.project_a))
    assert (refused.status_code, refused.json()["code"]) == (409, "not_empty")
    assert refused.json()["contents"] == {"dataset": 1, "job": 1}
    assert refused.json()["remedy"] == "Delete those first, or archive the project."
    empty = Project.objects.create(organisation=cast.a, name="empty")
    assert cast.client(cast.bob).delete(address(empty)).status_code == 403
    assert cast.client(cast.alice).delete(address(empty)).status_code == 204
    assert Event.objects.get(kind="project.deleted").facts["name"] == "empty"
    assert list(Project.objects.filter(organisation=cast.a)) == [cast.project_a]


def test_who_made_a_project_renames_it_and_deletes_it_while_it_is_empty(cast: Cast) -> None:
    bob, other = cast.client(cast.bob), User.objects.create_user("ben")
    Membership.objects.create(organisation=cast.a, user=other, role="member")
    ben = cast.client(other)
    made = bob.post("/api/v1/projects", {"organisation": str(cast.a.pk), "name": "trial"}).json()
    project = Project.objects.get(pk=made["id"])
    assert made["is_own"]
    assert not ben.get(address(project)).json()["is_own"]
    assert ben.delete(address(project)).status_code == 403
    assert bob.patch(address(project), {"name": "tried"}).json()["name"] == "tried"
    for change in ({"is_archived": True}, {"team": str(Team.objects.create(organisation=cast.a, name="core").pk)}):
        assert bob.patch(address(project), change).status_code == 403
    why = {one["action"]: one for one in bob.get(f"{address(project)}/permissions").json()["permissions"]}
    assert (why["change_own_project"]["is_allowed"], why["change_settings"]["is_allowed"]) == (True, False)
    dataset = ready_dataset(project, cast.alice)
    assert bob.delete(address(project)).json()["contents"] == {"dataset": 1}
    dataset.dataset.delete()
    assert bob.delete(address(project)).status_code == 204
    assert Event.objects.get(kind="project.deleted").actor == cast.bob


def test_who_made_a_project_and_only_looks_now_does_not_change_it(cast: Cast) -> None:
    bob = cast.client(cast.bob)
    made = bob.post("/api/v1/projects", {"organisation": str(cast.a.pk), "name": "trial"}).json()
    Membership.objects.filter(user=cast.bob).update(role="viewer")
    refused = bob.delete(f"/api/v1/projects/{made['id']}")
    assert (refused.status_code, refused.json()["code"]) == (403, "role_too_low")
    Membership.objects.filter(user=cast.bob).delete()
    cast.bob.refresh_from_db()
    assert bob.delete(f"/api/v1/projects/{made['id']}").status_code == 404
    User.objects.filter(pk=cast.bob.pk).delete()
    assert Project.objects.get(pk=made["id"]).created_by is None


@pytest.mark.parametrize("kind", ["organisation", "team", "project"])
def test_boosts_requests_and_limits_of_users_go_with_what_they_are_of(cast: Cast, kind: str) -> None:
    if kind == "organisation":
        cast.project_a.delete()
        owner: Organisation | Team | Project = cast.a
    else:
        owner = (Team if kind == "team" else Project).objects.create(organisation=cast.a, name="short")
    of_owner = {"organisation": cast.a, **({} if kind == "organisation" else {kind: owner})}
    QuotaBoost.objects.create(**of_owner, extra_guarantee=1, ends_at=timezone.now(), ended_at=timezone.now())
    QuotaRequest.objects.create(**of_owner, extra_guarantee=1, reason="a paper", requested_by=cast.bob)
    UserQuota.objects.create(**of_owner, max_gpus=1)
    assert cast.client(cast.root).delete(address(owner)).status_code == 204
    assert [kind.objects.count() for kind in (QuotaBoost, QuotaRequest, UserQuota)] == [0, 0, 0]


def test_only_a_team_without_projects_is_deleted(cast: Cast) -> None:
    team = Team.objects.create(organisation=cast.a, name="core")
    Project.objects.filter(pk=cast.project_a.pk).update(team=team)
    assert cast.client(cast.alice).delete(address(team)).json()["contents"] == {"project": 1}
    Project.objects.filter(pk=cast.project_a.pk).update(team=None)
    assert cast.client(cast.alice).delete(address(team)).status_code == 204


@pytest.mark.parametrize("body", [{"is_archived": "perhaps"}, {"name": ""}, {"archived_at": None}])
def test_what_makes_no_sense_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    assert change(cast, cast.alice, cast.project_a, **body).status_code == 422
