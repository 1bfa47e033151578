# SPDX-License-Identifier: Apache-2.0
"""An archived organisation is deleted with all its data, also when a process is killed meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.environments.models import EnvironmentState, PythonEnvironment
from mlhub.events.models import Event
from mlhub.jobs.models import DeletedJob, Job
from mlhub.metrics.models import DetachedRows
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention import erasure, tasks
from mlhub.retention.deletion_contents import n_things
from mlhub.retention.models import OrganisationDeletion
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Membership, Organisation, Project, RoleBinding, Team, User
from mlhub.tenants.roles import Role
from mlhub.tracking import actions as runs
from mlhub.tracking import artifacts
from mlhub.tracking.access import Caller
from mlhub.tracking.models import LoggedModel, Run
from tests.cast import Cast, make_cast
from tests.datasets import files
from tests.datasets.test_uploads import upload
from tests.jobs.builders import job
from tests.jobs.retention.test_deletion import ended

PASSWORD = "correct horse battery"


@pytest.fixture
def cast(db: None, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """Alice owns A; bytes count as stored long ago."""
    made = make_cast()
    Membership.objects.filter(user=made.alice).update(role=Role.OWNER)
    made.alice.set_password(PASSWORD)
    made.alice.save()
    monkeypatch.setattr(type(blob_store()), "age_s", lambda *_: 1e6)
    return made


def address(cast: Cast) -> str:
    return f"/api/v1/organisations/{cast.a.id}/deletion"


def filled(cast: Cast) -> tuple[str, str]:
    """Data of every kind in A, some of which B holds, too. Returns (the hash of A's own file, of the shared one)."""
    bob, charlie = cast.client(cast.bob), cast.client(cast.charlie)
    own = upload(bob, cast.project_a, name="own", content=files.csv(9)).json()["latest_version"]
    shared = upload(bob, cast.project_a, name="shared", content=files.csv(8)).json()["latest_version"]
    assert upload(charlie, cast.project_b, name="same", content=files.csv(8)).status_code == 201
    ended(cast, name="ended")
    below = Team.objects.create(
        organisation=cast.a, name="b", parent=Team.objects.create(organisation=cast.a, name="a")
    )
    RoleBinding.objects.create(membership=cast.a.memberships.get(user=cast.bob), team=below, role=Role.ADMIN)
    hidden = runs.create_run(Caller(cast.bob), cast.project_a, name="hidden", started_ms=1)
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"artifact")
        artifacts.store(Caller(cast.bob), hidden, path="a.txt", staging=staging)
    runs.set_deleted(Caller(cast.bob), hidden, is_deleted=True)
    LoggedModel.objects.create(project=cast.project_a, name="logged", created_by=cast.bob)
    PythonEnvironment.objects.create(organisation=cast.a, key="k" * 64, requirements=[], state=EnvironmentState.READY)
    return own["files"][0]["sha256"], shared["files"][0]["sha256"]


def archived(cast: Cast) -> None:
    cast.client(cast.alice).patch(f"/api/v1/organisations/{cast.a.id}", {"is_archived": True})


def begin(cast: Cast, *, name: str = "A", password: str = PASSWORD, who: User | None = None) -> Any:
    return cast.client(who or cast.alice).post(address(cast), {"name": name, "password": password})


@pytest.mark.slow
def test_all_of_it_goes_and_what_others_hold_by_content_stays(cast: Cast, settings: Any) -> None:
    own, shared = filled(cast)
    folder = settings.CHECKPOINT_ROOT / str(Job.objects.get(name="ended").pk)
    folder.mkdir(parents=True)
    (folder / "weights").write_bytes(b"w")
    prepared = [settings.PROJECT_CACHE_ROOT / str(project.pk) for project in (cast.project_a, cast.project_b)]
    for cache in prepared:
        (cache / "unpacked").mkdir(parents=True)
    archived(cast)
    shown = cast.client(cast.alice).get(address(cast)).json()
    assert shown["refusals"] == []
    counts = {kind: n for kind, n in shown["counts"].items() if n}
    assert counts == {
        "projects": 1, "teams": 2, "jobs": 1, "runs": 1, "logged_models": 1, "datasets": 3, "environments": 1,
        "members": 3,
    }  # fmt: skip
    assert shown["n_bytes"] > shown["shared_bytes"] == len(files.csv(8))
    begun = begin(cast)
    assert (begun.status_code, begun.json()["step"]) == (202, "")
    reopened = cast.client(cast.alice).patch(f"/api/v1/organisations/{cast.a.id}", {"is_archived": False})
    assert reopened.json()["code"] == "deletion_under_way"
    assert begin(cast).json()["code"] == "deletion_under_way"

    assert tasks.erase_organisations() == 1
    shown = cast.client(cast.alice).get(f"/api/v1/organisation-deletions/{begun.json()['id']}").json()
    assert shown["ended_at"] is not None
    assert (shown["problem"], shown["n_removed"], shown["shared_blobs"]) == ("", shown["n_total"], 1)
    assert shown["bytes_removed"] > 500
    assert list(Organisation.objects.all()) == [cast.b]
    assert list(Project.objects.all()) == [cast.project_b]
    for table in (Job, Run, LoggedModel, PythonEnvironment, DeletedJob):
        assert not table._default_manager.exists(), table
    assert list(Dataset.objects.values_list("name", flat=True)) == ["same"]
    assert {held.organisation for held in Holding.objects.all()} == {cast.b}
    assert list(Blob.objects.values_list("sha256", flat=True)) == [shared]
    assert (blob_store().exists(own), blob_store().exists(shared)) == (False, True)
    assert not folder.exists()
    assert [cache.exists() for cache in prepared] == [False, True]
    assert User.objects.filter(username="bob").exists()
    events = Event.objects.filter(organisation=None, kind__startswith="organisation.").order_by("id")
    assert list(events.values_list("kind", "actor__username")) == [
        ("organisation.deletion_began", "alice"), ("organisation.erased", "alice")
    ]  # fmt: skip
    assert events[1].facts["counts"]["jobs"] == 1
    assert tasks.remove_detached() == 1  # the line of the job's log
    assert not DetachedRows.objects.exists()


@pytest.mark.parametrize("after", range(1, 12, 2))
def test_a_process_that_is_killed_anywhere_leaves_the_rest_to_the_next_one(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    _, shared = filled(cast)
    archived(cast)
    assert begin(cast).status_code == 202
    n_done = 0

    def killed(step: Any) -> Any:
        def act(deletion: OrganisationDeletion) -> int:
            nonlocal n_done
            n_done += 1
            if n_done == after:
                raise KeyboardInterrupt
            return int(step(deletion))

        return act

    with monkeypatch.context() as patch:
        patch.setattr(erasure, "STEPS", {name: killed(step) for name, step in erasure.STEPS.items()})
        with pytest.raises(KeyboardInterrupt):
            tasks.erase_organisations()
    assert OrganisationDeletion.objects.running().exists()
    assert tasks.erase_organisations() == 1
    assert not Organisation.objects.filter(name="A").exists()
    assert list(Blob.objects.values_list("sha256", flat=True)) == [shared]


def test_what_a_killed_process_removed_and_did_not_count_is_counted_by_the_next_one(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(cast)
    archived(cast)
    begun = begin(cast).json()
    done: list[str] = []

    def killed_after(name: str) -> Any:
        def act(deletion: OrganisationDeletion) -> int:
            n = erasure_steps[name](deletion)
            if n and name == "jobs":
                raise KeyboardInterrupt
            done.append(name)
            return int(n)

        return act

    erasure_steps = dict(erasure.STEPS)
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "STEPS", {name: killed_after(name) for name in erasure_steps})
        with pytest.raises(KeyboardInterrupt):
            tasks.erase_organisations()
    assert "marks" in done
    before = cast.client(cast.root).get(f"/api/v1/organisation-deletions/{begun['id']}").json()["n_removed"]
    n_left = n_things(OrganisationDeletion.objects.get(organisation_id=cast.a.pk))
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "STEPS", {})
        patch.setattr(erasure, "_end", lambda _: None)  # looked at before anything more is removed
        tasks.erase_organisations()
    after = cast.client(cast.root).get(f"/api/v1/organisation-deletions/{begun['id']}").json()
    assert before < after["n_removed"] == after["n_total"] - n_left


def test_what_forbids_it_is_said_with_the_remedy(cast: Cast) -> None:
    live = job(cast.project_a, cast.bob)
    shown = cast.client(cast.alice).get(address(cast)).json()
    assert [one["code"] for one in shown["refusals"]] == ["organisation_open", "jobs_live"]
    archived(cast)
    refused = begin(cast)
    assert (refused.status_code, refused.json()["code"]) == (409, "jobs_live")
    assert refused.json()["remedy"] == "Cancel it on the page Jobs, and come back when it has ended."
    second = job(cast.project_a, cast.bob)
    assert "Cancel them" in begin(cast).json()["remedy"]
    Job.objects.filter(pk=second.pk).update(state="cancelled", finished_at=timezone.now())
    Job.objects.filter(pk=live.pk).update(state="cancelled", finished_at=timezone.now())
    foreign = job(cast.project_b, cast.charlie)
    Job.objects.filter(pk=foreign.pk).update(dataset_version=live.dataset_version)
    assert begin(cast).json()["code"] == "in_use"
    assert begin(cast).json()["detail"] == "A job or model of another organisation uses data or models of A."
    foreign.delete()
    cast.client(cast.alice).patch(
        f"/api/v1/organisations/{cast.a.id}/retention", {"logs": {"least_days": 7}}, format="json"
    )
    ended(cast)
    assert begin(cast).json()["code"] == "retention_bound"
    assert not OrganisationDeletion.objects.exists()


def test_only_an_owner_who_proves_it_and_types_the_name_begins_it(cast: Cast) -> None:
    archived(cast)
    assert begin(cast, password="wrong").json()["errors"][0]["field"] == "password"
    assert begin(cast, name="a").json()["errors"][0]["field"] == "name"
    for user in (cast.bob, cast.victor):
        assert begin(cast, who=user).status_code == 403
        assert cast.client(user).get(address(cast)).status_code == 403
    assert cast.client(cast.charlie).get(address(cast)).status_code == 404
    assert begin(cast, who=cast.charlie).status_code == 404
    made = cast.client(cast.alice).post("/api/v1/tokens", {"name": "t", "scopes": ["read", "write"]}).json()
    by_token = APIClient(HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    assert by_token.post(address(cast), {"name": "A", "password": PASSWORD}).json()["code"] == "session_needed"
    assert not OrganisationDeletion.objects.exists()
    assert begin(cast).status_code == 202
    listed = "/api/v1/organisation-deletions"
    assert [len(cast.client(u).get(listed).json()["results"]) for u in (cast.alice, cast.root, cast.charlie)] == [
        1,
        1,
        0,
    ]


def test_a_trained_model_goes_with_its_code_and_bytes_wait_for_a_backup(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = Model.objects.create(project=cast.project_a, name="net", created_by=cast.bob)
    first = ModelVersion.objects.create(model=code, number=1, source="upload", kind="package", size_bytes=1)
    ModelVersion.objects.create(
        model=code, number=2, source="training", kind="package", size_bytes=1, code_version=first
    )
    upload(cast.client(cast.bob), cast.project_a)
    archived(cast)
    assert begin(cast).status_code == 202
    monkeypatch.setattr(erasure, "work_lock", lambda _: _Taken())
    assert tasks.erase_organisations() == 0
    waiting = OrganisationDeletion.objects.get()
    assert "A backup or a collection is under way" in waiting.problem
    assert not ModelVersion.objects.filter(model__project=cast.project_a.pk).exists()
    assert Holding.objects.exists()
    monkeypatch.undo()
    monkeypatch.setattr(type(blob_store()), "age_s", lambda *_: 60.0)
    assert tasks.erase_organisations() == 1
    waiting.refresh_from_db()
    assert (waiting.problem, waiting.later_blobs) == ("", 1)  # stored a minute ago: the next collections take it
    assert (Holding.objects.count(), Blob.objects.count()) == (0, 1)
    monkeypatch.undo()
    assert storage.used_bytes(cast.b) == 0


class _Taken:
    """A lock that somebody else has."""

    def __enter__(self) -> bool:
        return False

    def __exit__(self, *_: object) -> None:
        return None


def test_what_no_list_shows_keeps_no_project_and_no_organisation(cast: Cast) -> None:
    hidden = runs.create_run(Caller(cast.bob), cast.project_a, name="hidden", started_ms=1)
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"artifact")
        artifacts.store(Caller(cast.bob), hidden, path="a.txt", staging=staging)
    LoggedModel.objects.create(project=cast.project_a, name="logged", created_by=cast.bob, run=hidden)
    PythonEnvironment.objects.create(organisation=cast.a, key="k" * 64, requirements=[], state=EnvironmentState.READY)
    alice, project = cast.client(cast.alice), f"/api/v1/projects/{cast.project_a.id}"
    assert alice.delete(project).json()["contents"] == {"run": 1, "logged model": 1}
    runs.set_deleted(Caller(cast.bob), hidden, is_deleted=True)
    assert alice.delete(project).status_code == 204
    assert [table._default_manager.count() for table in (Run, LoggedModel, Holding)] == [0, 0, 0]
    assert alice.delete(f"/api/v1/organisations/{cast.a.id}").status_code == 204
    assert not PythonEnvironment.objects.exists()
