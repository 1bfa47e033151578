# SPDX-License-Identifier: Apache-2.0
"""Storage limits of teams and projects: what is refused and by whom it is raised; content counts once for each node."""

from __future__ import annotations

import base64
import threading
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from mlhub.core.errors import QuotaExceededError
from mlhub.datasets.models import DatasetVersion
from mlhub.storage import actions
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import create_team, set_quota
from mlhub.tenants.models import Organisation, Project, ProjectQuota
from tests.jobs.builders import builtin, job, ready_dataset


def keep(project, content=b"0123456789", within_quota=True) -> Blob:
    """As a request does, which reads the project and its rules anew."""
    place = type(project).objects.get(pk=project.pk)
    with blob_store().stage(limit_bytes=10**6) as staging:
        staging.write(content)
        return actions.keep(staging, place=place, owner_kind="test", owner_id=uuid4(), within_quota=within_quota)


def upload(client, project, content: bytes):
    body = {"file": SimpleUploadedFile("d.csv", content), "name": uuid4().hex, "project": str(project.id)}
    return client.post("/api/v1/datasets", body, format="multipart")


@pytest.fixture
def nodes(cast):
    """Two teams below each other with a project each, and one project of no team."""
    outer = create_team(cast.a, name="research", actor=cast.alice)
    inner = create_team(cast.a, name="perception", parent=outer, actor=cast.alice)
    Project.objects.filter(pk=cast.project_a.pk).update(team=inner)
    cast.project_a.refresh_from_db()
    near = Project.objects.create(organisation=cast.a, team=outer, name="near")
    apart = Project.objects.create(organisation=cast.a, name="apart")
    return {"outer": outer, "inner": inner, "project": cast.project_a, "near": near, "apart": apart}


@pytest.mark.parametrize(
    ("where", "raised_by"),
    [
        ("outer", "an admin of A"),
        ("inner", "an admin of research or of A"),
        ("project", "an admin of perception or of A"),
    ],
)
def test_an_upload_above_a_node_s_limit_is_refused_with_whose_it_is_and_who_raises_it(cast, nodes, where, raised_by):
    set_quota(nodes[where], max_storage_bytes=20, actor=cast.alice)
    assert upload(cast.client(cast.bob), nodes["project"], b"a,b\n1,2\n3,4\n").status_code == 201  # 12 bytes
    refused = upload(cast.client(cast.bob), nodes["project"], b"a,b\n5,6\n7,8\n")
    assert refused.status_code == 422
    name, found = nodes[where].name, refused.json()
    assert (found["code"], found["limit"], found["owner"]) == ("quota_exceeded", "max_storage_bytes", name)
    assert (found["limit_bytes"], found["used_bytes"], found["asked_bytes"]) == (20, 12, 12)
    assert f"ask {raised_by} to raise max_storage_bytes of {name}" in found["errors"][0]["remedy"]
    assert upload(cast.client(cast.bob), nodes["apart"], b"a,b\n5,6\n7,8\n").status_code == 201
    tree = cast.client(cast.bob).get(f"/api/v1/organisations/{cast.a.id}/quota-tree").json()["owners"]
    stored = {row["name"]: (row["storage_bytes"], row["max_storage_bytes"]) for row in tree}
    assert stored[name] == (12, 20)
    assert stored["apart"] == (None, None)


def test_content_that_two_projects_of_a_team_hold_counts_once_for_it(cast, nodes):
    set_quota(nodes["outer"], max_storage_bytes=15, actor=cast.alice)
    set_quota(nodes["near"], max_storage_bytes=9, actor=cast.alice)
    keep(nodes["project"])
    with pytest.raises(QuotaExceededError) as refused:
        keep(nodes["near"])  # its own limit counts what the team has already
    assert refused.value.facts["owner"] == "near"
    set_quota(nodes["near"], max_storage_bytes=10, actor=cast.alice)
    keep(nodes["near"])
    used = [actions.used_bytes_within(nodes[name]) for name in ("outer", "inner", "near", "apart")]
    assert used == [10, 10, 10, 0]
    with pytest.raises(QuotaExceededError) as refused:
        keep(nodes["near"], b"abcdef")
    assert refused.value.facts["owner"] == "near"


def test_a_project_that_moves_brings_what_it_stores_and_loses_nothing(cast, nodes):
    keep(nodes["apart"])
    set_quota(nodes["outer"], max_storage_bytes=5, actor=cast.alice)
    moved = cast.client(cast.alice).patch(f"/api/v1/projects/{nodes['apart'].id}", {"team": str(nodes["outer"].id)})
    assert moved.status_code == 200, moved.content
    assert actions.used_bytes_within(nodes["outer"]) == 10
    with pytest.raises(QuotaExceededError):
        keep(nodes["apart"], b"x")
    keep(nodes["apart"])  # what is there already takes no room
    assert keep(nodes["apart"], b"trained weights", within_quota=False).size_bytes == 15


def test_uploads_under_way_are_counted_by_their_whole_length(cast, nodes):
    set_quota(nodes["outer"], max_storage_bytes=20, actor=cast.alice)
    headers = {"HTTP_TUS_RESUMABLE": "1.0.0", "HTTP_UPLOAD_LENGTH": "15"}
    project = base64.b64encode(str(nodes["project"].id).encode()).decode()
    name = base64.b64encode(b"d.csv").decode()
    begun = cast.client(cast.bob).post(
        "/api/v1/uploads", HTTP_UPLOAD_METADATA=f"filename {name},project {project}", **headers
    )
    assert begun.status_code == 201, begun.content
    refused = cast.client(cast.bob).post(
        "/api/v1/uploads", HTTP_UPLOAD_METADATA=f"filename {name},project {project}", **headers
    )
    assert (refused.status_code, refused.json()["owner"]) == (422, "research")


def test_no_job_starts_in_a_project_whose_storage_is_full(cast, nodes):
    keep(nodes["near"])
    set_quota(nodes["outer"], max_storage_bytes=10, actor=cast.alice)
    dataset = ready_dataset(nodes["project"], cast.bob)
    body = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    refused = cast.client(cast.bob).post("/api/v1/jobs", body, format="json")
    found = refused.json()
    assert (refused.status_code, found["limit"], found["owner"]) == (422, "max_storage_bytes", "research")
    assert "so the job's result has no room" in found["detail"]


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_do_not_pass_a_project_s_limit_together():
    organisation = Organisation.objects.create(name="A")  # without a quota of its own that could be locked
    project = Project.objects.create(organisation=organisation, name="p")
    ProjectQuota.objects.create(project=project, max_storage_bytes=10)
    outcomes, both = [], threading.Barrier(2, timeout=600)

    def store(content):
        both.wait()
        try:
            keep(project, content)
            outcomes.append("kept")
        except QuotaExceededError:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=store, args=(content,)) for content in (b"aaaaaaaa", b"bbbbbbbb")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["kept", "refused"]


def test_what_was_stored_before_counts_for_the_project_of_its_owner(cast, nodes):
    upload(cast.client(cast.bob), nodes["project"], b"a,b\n1,2\n3,4\n")
    version, blob = DatasetVersion.objects.get(), keep(cast.a, b"result")
    attempt = job(nodes["near"], cast.bob).attempts.create(number=1, mode="all_reduce", n_workers=1)
    Holding.objects.filter(blob=blob).update(owner_kind="artifact", owner_id=attempt.pk)
    Holding.objects.update(project=None)
    migration = MigrationLoader(connection).disk_migrations["storage", "0009_holding_of_project"]
    with connection.cursor() as cursor:
        cursor.execute(migration.operations[-1].sql)
    found = set(Holding.objects.values_list("owner_id", "project"))
    assert found == {(version.pk, nodes["project"].pk), (attempt.pk, nodes["near"].pk)}
