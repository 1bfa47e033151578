# SPDX-License-Identifier: Apache-2.0
"""`name:NAME` where addresses take ids: what it finds, what it refuses, and that nobody learns of what is another's."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.datasets.models import Dataset
from mlhub.jobs.models import Job
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Organisation, Project, Team
from tests.jobs.builders import builtin, job, ready_dataset


def ask(client: Any, path: str, name: str, *, below: str = "", method: str = "get", **query: str) -> Any:
    return getattr(client, method)(f"/api/v1/{path}/name:{quote(name, safe='')}{below}", query or None)


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_name_is_answered_as_its_id_is(cast):
    made, dataset = job(cast.project_a, cast.bob, name="tour"), ready_dataset(cast.project_a, cast.bob).dataset
    Team.objects.create(organisation=cast.a, name="core")
    bob = cast.client(cast.bob)
    for path, name, pk, below in [
        ("organisations", "A", cast.a.pk, "/quota"),
        ("teams", "core", Team.objects.get().pk, "/permissions"),
        ("projects", "vision", cast.project_a.pk, ""),
        ("datasets", "blobs", dataset.pk, "/versions"),
        ("models", "mlp", builtin().model_id, "/versions"),
        ("jobs", "tour", made.pk, "/events"),
        ("jobs", "tour", made.pk, "/checkpoints"),
    ]:
        by_name, by_id = ask(bob, path, name, below=below), bob.get(f"/api/v1/{path}/{pk}{below}")
        assert by_name.status_code == 200, by_name.content
        assert by_name.json() == by_id.json()
    assert ask(bob, "jobs", "tour").json()["id"] == str(made.pk)
    assert ask(bob, "jobs", "tour", below="/cancel", method="post").json()["intent"] == "cancel"
    assert Job.objects.get(pk=made.pk).intent == "cancel"


def test_filters_of_a_list_below_a_name_know_whose_it_is(cast):
    alice = cast.client(cast.alice)
    by_name = ask(alice, "organisations", "A", below="/members", search="bob@example.org")
    by_id = alice.get(f"/api/v1/organisations/{cast.a.pk}/members?search=bob@example.org")
    assert by_name.json()["results"] == by_id.json()["results"]
    assert [row["user"]["username"] for row in by_name.json()["results"]] == ["bob"]


def test_an_id_costs_no_further_query_and_a_name_costs_two(cast):
    made, bob = job(cast.project_a, cast.bob, name="tour"), cast.client(cast.bob)
    bob.get(f"/api/v1/jobs/{made.pk}")

    def tables_asked(address: str) -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert bob.get(address).status_code == 200
        return [query["sql"] for query in queries.captured_queries]

    for below in ("", "/checkpoints", "/logs"):
        by_id, by_name = tables_asked(f"/api/v1/jobs/{made.pk}{below}"), tables_asked(f"/api/v1/jobs/name:tour{below}")
        assert len(by_name) == len(by_id) + 2
        assert not any("'tour'" in sql for sql in by_id)


def test_what_several_have_is_refused_with_what_there_is_and_found_where_the_query_says(cast):
    other = Project.objects.create(organisation=cast.a, name="speech")
    here, there = (ready_dataset(project, cast.bob) for project in (cast.project_a, other))
    bob = cast.client(cast.bob)
    refused = ask(bob, "datasets", "blobs")
    assert code_of(refused) == (409, "ambiguous_name")
    assert refused.json()["candidates"] == [
        {"id": str(there.dataset_id), "project": "speech", "organisation": "A"},
        {"id": str(here.dataset_id), "project": "vision", "organisation": "A"},
    ]
    for given in ("vision", str(cast.project_a.pk)):
        assert ask(bob, "datasets", "blobs", project=given).json()["id"] == str(here.dataset_id)
    assert code_of(ask(bob, "datasets", "blobs", organisation="A")) == (409, "ambiguous_name")
    assert ask(bob, "datasets", "blobs", project="visoin").json()["errors"][0]["field"] == "project"
    assert ask(bob, "datasets", "blobs", project="x" * 10_000).status_code == 422
    assert ask(bob, "datasets", "blobs", project=str(cast.project_b.pk)).status_code == 404


def test_neither_the_newest_job_nor_the_built_in_model_is_chosen(cast):
    for _ in range(12):
        job(cast.project_a, cast.bob, name="again")
    builtin().model.__class__.objects.create(project=cast.project_a, name="mlp", created_by=cast.bob)
    bob = cast.client(cast.bob)
    refused = ask(bob, "jobs", "again").json()
    assert (refused["code"], len(refused["candidates"])) == ("ambiguous_name", 10)
    assert refused["detail"].startswith("More than 10 jobs")
    assert [one["project"] for one in ask(bob, "models", "mlp").json()["candidates"]] == ["vision", None]
    assert ask(bob, "models", "mlp", project="vision").json()["project"]["name"] == "vision"


def test_of_namesakes_only_those_that_the_caller_sees_are_counted_and_named(cast):
    mine, theirs = ready_dataset(cast.project_a, cast.bob), ready_dataset(cast.project_b, cast.charlie)
    assert ask(cast.client(cast.bob), "datasets", "blobs").json()["id"] == str(mine.dataset_id)
    assert ask(cast.client(cast.charlie), "datasets", "blobs").json()["id"] == str(theirs.dataset_id)
    assert len(ask(cast.client(cast.root), "datasets", "blobs").json()["candidates"]) == 2


def test_a_token_reaches_names_within_its_project_and_says_nothing_of_others(cast):
    other = Project.objects.create(organisation=cast.a, name="speech")
    here, _ = (ready_dataset(project, cast.bob) for project in (cast.project_a, other))
    job(other, cast.bob, name="beyond")
    options = {"name": "t", "scopes": ["read", "write"], "expires_in_days": 1}
    _, secret = create_token(cast.bob, project=cast.project_a, organisation=None, **options)
    limited = cast.client(None)
    limited.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert ask(limited, "datasets", "blobs").json()["id"] == str(here.dataset_id)
    beyond, missing = ask(limited, "jobs", "beyond"), ask(limited, "jobs", "absent")
    assert code_of(beyond) == code_of(missing) == (404, "not_found")
    assert beyond.json()["detail"].replace("beyond", "absent") == missing.json()["detail"]


@pytest.mark.parametrize("below", ["", "/secrets/KEY"])
def test_what_is_deleted_is_named_by_its_id(cast, below):
    alice = cast.client(cast.alice)
    refused = ask(alice, "projects", "vision", below=below, method="delete")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "id")
    assert str(cast.project_a.pk) in refused.json()["errors"][0]["remedy"]
    assert Project.objects.filter(pk=cast.project_a.pk).exists()
    assert ask(cast.client(cast.charlie), "projects", "vision", below=below, method="delete").status_code == 404


def test_posts_that_delete_take_ids_alone_and_their_reads_take_names(cast):
    job(cast.project_a, cast.bob, name="tour")
    bob, body = cast.client(cast.bob), {"checkpoints": [1]}
    refused = bob.post("/api/v1/jobs/name:tour/checkpoints/delete", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "id")
    Organisation.objects.filter(pk=cast.a.pk).update(name="acme")
    root = cast.client(cast.root)
    assert ask(root, "organisations", "acme", below="/deletion").status_code == 200
    assert ask(root, "organisations", "acme", below="/deletion", method="post").status_code == 422


STRANGE = [
    str(UUID(int=7)), "name:vision", "mine", "preview", "a b", "100%", "%41", "a?b#c", "名前", "\u00e9", "..", ".", "+",
    "' OR 1=1 --", "🦄", "a;b", "\u202egnp", "x" * 100,
]  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_any_name_without_a_slash_has_an_address(cast, name):
    Project.objects.create(organisation=cast.a, name="decoy")
    made = Project.objects.create(organisation=cast.a, name=name)
    assert ask(cast.client(cast.bob), "projects", name).json()["id"] == str(made.pk)


@pytest.mark.parametrize(
    "name", [*STRANGE, "a\x00b", "x" * 10_000, "\ud7ff", "a/b", "a\r\nSet-Cookie: b", "vision ", "VISION"]
)
def test_a_name_that_nothing_has_is_not_found(cast, name):
    answer = ask(cast.client(cast.bob), "projects", name)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert len(answer.content) < 2000


def test_names_are_compared_exactly_as_lists_do(cast):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    made = [Project.objects.create(organisation=cast.a, name=name) for name in (composed, decomposed)]
    bob = cast.client(cast.bob)
    assert [ask(bob, "projects", one.name).json()["id"] for one in made] == [str(one.pk) for one in made]
    assert ask(bob, "projects", "CAF\u00c9").status_code == 404


def test_what_looks_like_an_id_is_a_name_only_where_it_is_marked(cast):
    pk = uuid4()
    made = Project.objects.create(organisation=cast.a, name=str(cast.project_a.pk))
    bob = cast.client(cast.bob)
    assert bob.get(f"/api/v1/projects/{cast.project_a.pk}").json()["name"] == "vision"
    assert ask(bob, "projects", str(cast.project_a.pk)).json()["id"] == str(made.pk)
    assert bob.get(f"/api/v1/projects/{pk}").status_code == 404
    for address in ("vision", "name:", "name", "Name:vision"):
        assert bob.get(f"/api/v1/projects/{address}").status_code == 404
    assert bob.get("/api/v1/projects/name%3Avision").status_code == 200


def test_archived_rows_keep_their_names_and_deleted_ones_do_not(cast):
    alice = cast.client(cast.alice)
    assert alice.patch("/api/v1/projects/name:vision", {"is_archived": True}).status_code == 200
    assert ask(alice, "projects", "vision").json()["archived_at"] is not None
    dataset = ready_dataset(cast.project_a, cast.bob).dataset
    assert ask(alice, "datasets", "blobs").status_code == 200
    Dataset.objects.filter(pk=dataset.pk).delete()
    assert ask(alice, "datasets", "blobs").status_code == 404


def test_a_renamed_row_has_its_new_name_alone(cast):
    alice = cast.client(cast.alice)
    assert alice.patch("/api/v1/projects/name:vision", {"name": "sight"}).json()["id"] == str(cast.project_a.pk)
    assert ask(alice, "projects", "vision").status_code == 404
    assert ask(alice, "projects", "sight").json()["id"] == str(cast.project_a.pk)


def test_who_is_not_signed_in_learns_nothing(cast):
    for name in ("vision", "absent"):
        assert code_of(ask(cast.client(None), "projects", name)) == (401, "not_authenticated")
