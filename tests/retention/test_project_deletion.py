# SPDX-License-Identifier: Apache-2.0
"""A project is deleted with all its data on request, also when a process is killed meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.events.models import Event
from mlhub.jobs.models import DeletedJob, Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention import erasure, tasks
from mlhub.retention.models import ProjectDeletion, TenantDeletion
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Project
from mlhub.tracking import actions as runs
from mlhub.tracking import artifacts
from mlhub.tracking.access import Caller
from mlhub.tracking.models import LoggedModel, Run
from tests.cast import Cast, make_cast
from tests.datasets import files
from tests.datasets.test_uploads import upload
from tests.jobs.builders import job
from tests.jobs.retention.test_deletion import ended


@pytest.fixture
def cast(db: None, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """Bytes count as stored long ago."""
    made = make_cast()
    monkeypatch.setattr(type(blob_store()), "age_s", lambda *_: 1e6)
    return made


def address(cast: Cast) -> str:
    return f"/api/v1/projects/{cast.project_a.id}/deletion"


def filled(cast: Cast) -> tuple[Project, str, str]:
    """Data of every kind in a project of A, some of which another project of A holds, too.

    Returns (the other project, the hash of the project's own file, of the shared one).
    """
    bob = cast.client(cast.bob)
    other = Project.objects.create(organisation=cast.a, name="other")
    own = upload(bob, cast.project_a, name="own", content=files.csv(9)).json()["latest_version"]
    shared = upload(bob, cast.project_a, name="shared", content=files.csv(8)).json()["latest_version"]
    assert upload(bob, other, name="same", content=files.csv(8)).status_code == 201
    ended(cast, name="ended")
    Holding.objects.filter(owner_kind="artifact").update(project=cast.project_a)  # as storing results does
    code = Model.objects.create(project=cast.project_a, name="net", created_by=cast.bob)
    first = ModelVersion.objects.create(model=code, number=1, source="upload", kind="package", size_bytes=1)
    ModelVersion.objects.create(
        model=code, number=2, source="training", kind="package", size_bytes=1, code_version=first
    )
    hidden = runs.create_run(Caller(cast.bob), cast.project_a, name="hidden", started_ms=1)
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"artifact")
        artifacts.store(Caller(cast.bob), hidden, path="a.txt", staging=staging)
    runs.set_deleted(Caller(cast.bob), hidden, is_deleted=True)
    LoggedModel.objects.create(project=cast.project_a, name="logged", created_by=cast.bob)
    return other, own["files"][0]["sha256"], shared["files"][0]["sha256"]


def begin(cast: Cast, *, name: str = "vision", client: APIClient | None = None) -> Any:
    return (client or cast.client(cast.alice)).post(address(cast), {"name": name})


def only_the_other_is_left(cast: Cast, other: Project, shared: str) -> None:
    assert set(Project.objects.all()) == {other, cast.project_b}
    assert list(Dataset.objects.filter(project__organisation=cast.a).values_list("name", flat=True)) == ["same"]
    for table in (Job, Run, LoggedModel, DeletedJob):
        assert not table._default_manager.exists(), table
    assert not Model.objects.filter(project__organisation=cast.a).exists()
    assert [held.project for held in Holding.objects.filter(blob=shared)] == [other]
    assert storage.used_bytes(cast.a) == Holding.objects.filter(project=other).size_bytes() > 0
    assert {held.blob_id for held in Holding.objects.all()} == set(Blob.objects.values_list("sha256", flat=True))


def test_all_of_a_project_goes_and_what_another_project_holds_stays(cast: Cast, settings: Any) -> None:
    other, own, shared = filled(cast)
    folder = settings.CHECKPOINT_ROOT / str(Job.objects.get(name="ended").pk)
    folder.mkdir(parents=True)
    (folder / "weights").write_bytes(b"w")
    alice, used = cast.client(cast.alice), storage.used_bytes(cast.a)
    shown = alice.get(address(cast)).json()
    assert (shown["refusals"], shown["deletion"]) == ([], None)
    counts = {kind: n for kind, n in shown["counts"].items() if n}
    assert counts == {"jobs": 1, "runs": 1, "logged_models": 1, "models": 1, "datasets": 3}
    assert shown["n_bytes"] > shown["shared_bytes"] >= len(files.csv(8))
    begun = begin(cast)
    assert (begun.status_code, begun.json()["counts"]) == (202, shown["counts"])
    opened = alice.patch(f"/api/v1/projects/{cast.project_a.id}", {"is_archived": False})
    assert (opened.status_code, opened.json()["code"]) == (409, "deletion_under_way")
    assert begin(cast).json()["code"] == "deletion_under_way"
    assert alice.get(address(cast)).json()["deletion"]["id"] == begun.json()["id"]
    refused = upload(cast.client(cast.bob), cast.project_a, name="late", content=files.csv(3))
    assert refused.json()["code"] == "project_archived"

    assert tasks.erase_organisations() == 1
    done = alice.get(f"/api/v1/project-deletions/{begun.json()['id']}").json()
    assert done["ended_at"] is not None
    assert (done["problem"], done["n_removed"]) == ("", done["n_total"])
    assert done["bytes_removed"] == used - storage.used_bytes(cast.a)
    only_the_other_is_left(cast, other, shared)
    assert (blob_store().exists(own), blob_store().exists(shared)) == (False, True)
    assert not folder.exists()
    events = Event.objects.filter(organisation=cast.a, kind__startswith="project.").order_by("id")
    assert [(e.kind, e.actor.username) for e in events] == [
        ("project.archived", "alice"), ("project.deletion_began", "alice"), ("project.erased", "alice")
    ]  # fmt: skip
    assert (events[2].facts["name"], events[2].facts["counts"]["jobs"]) == ("vision", 1)


@pytest.mark.parametrize("after", range(1, 12, 2))
def test_a_process_that_is_killed_anywhere_leaves_the_rest_of_the_project_to_the_next_one(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    other, _, shared = filled(cast)
    assert begin(cast).status_code == 202
    n_done = 0

    def killed(step: Any) -> Any:
        def act(deletion: TenantDeletion) -> int:
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
    assert ProjectDeletion.objects.running().exists()
    assert tasks.erase_organisations() == 1
    only_the_other_is_left(cast, other, shared)


def test_what_forbids_the_deletion_of_a_project_is_said_and_leaves_it_open(cast: Cast) -> None:
    live = job(cast.project_a, cast.bob)
    assert [one["code"] for one in cast.client(cast.alice).get(address(cast)).json()["refusals"]] == ["jobs_live"]
    assert begin(cast).json()["detail"] == "A job of vision has not ended."
    other = Project.objects.create(organisation=cast.a, name="other")
    Job.objects.filter(pk=live.pk).update(project=other)  # it uses the dataset of vision
    refused = begin(cast)
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert refused.json()["detail"] == "A job or model of another project uses data or models of vision."
    cast.project_a.refresh_from_db()
    assert cast.project_a.archived_at is None
    assert not ProjectDeletion.objects.exists()


def test_only_admins_of_the_project_who_type_its_name_begin_it(cast: Cast) -> None:
    wrong = begin(cast, name="Vision")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "name")
    for user in (cast.bob, cast.victor):
        assert begin(cast, client=cast.client(user)).status_code == 403
        assert cast.client(user).get(address(cast)).status_code == 403
    assert begin(cast, client=cast.client(cast.charlie)).status_code == 404
    assert cast.client(cast.charlie).get(address(cast)).status_code == 404

    def by_token(**body: Any) -> APIClient:
        made = cast.client(cast.alice).post("/api/v1/tokens", {"name": "t", **body}, format="json").json()
        return APIClient(HTTP_AUTHORIZATION=f"Bearer {made['token']}")

    other = Project.objects.create(organisation=cast.a, name="other")
    assert begin(cast, client=by_token(scopes=["read"])).status_code == 403
    assert begin(cast, client=by_token(scopes=["read", "write"], project=str(other.pk))).status_code == 403
    assert not ProjectDeletion.objects.exists()
    begun = begin(cast, client=by_token(scopes=["read", "write"], project=str(cast.project_a.pk)))
    assert begun.status_code == 202
    one = f"/api/v1/project-deletions/{begun.json()['id']}"
    answers = [cast.client(user).get(one).status_code for user in (cast.alice, cast.root, cast.bob, cast.charlie)]
    assert answers == [200, 200, 404, 404]
    assert by_token(scopes=["read"], project=str(other.pk)).get(one).status_code in (403, 404)
    cast.client(cast.alice).delete(f"/api/v1/projects/{other.pk}")
    assert tasks.erase_organisations() == 1
    assert cast.client(cast.alice).get(one).json()["ended_at"] is not None
