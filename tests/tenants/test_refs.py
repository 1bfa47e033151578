# SPDX-License-Identifier: Apache-2.0
"""`?ref=` of lists: what people mean by a name or by a part of an id, among what they see."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Project, Team
from tests.jobs.builders import builtin, job, ready_dataset


def found(client: Any, path: str, ref: str, **query: str) -> list[str]:
    answer = client.get(f"/api/v1/{path}", {"ref": ref, **query})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["results"]]


def test_each_list_takes_a_name_an_id_and_both_ends_of_it(cast):
    rows = {
        "organisations": (cast.a.pk, "A"),
        "teams": (Team.objects.create(organisation=cast.a, name="core").pk, "core"),
        "projects": (cast.project_a.pk, "vision"),
        "datasets": (ready_dataset(cast.project_a, cast.bob).dataset_id, "blobs"),
        "models": (builtin().model_id, "mlp"),
        "jobs": (job(cast.project_a, cast.bob, name="tour").pk, "tour"),
    }
    bob, charlie = cast.client(cast.bob), cast.client(cast.charlie)
    for path, (pk, name) in rows.items():
        for ref in (name, str(pk), str(pk)[-8:], str(pk)[-8:].upper(), str(pk)[-12:], str(pk)[:24]):
            assert str(pk) in found(bob, path, ref), (path, ref)
            assert path == "models" or str(pk) not in found(charlie, path, ref)
        assert found(bob, path, str(pk)[-3:]) == found(bob, path, "-") == []
    assert found(bob, "studies", "absent") == []


def test_a_name_comes_before_ids_and_only_among_what_the_other_filters_leave(cast):
    pk = UUID("01900000-0000-7000-8000-aaaa01234567")
    Project.objects.create(pk=pk, organisation=cast.a, name="seen")
    named = Project.objects.create(organisation=cast.a, name="01234567")
    bob = cast.client(cast.bob)
    assert found(bob, "projects", "01234567") == [str(named.pk)]
    core = Team.objects.create(organisation=cast.a, name="core")
    Project.objects.filter(pk=pk).update(team=core)
    assert found(bob, "projects", "01234567", team="core") == [str(pk)]


def test_what_is_another_s_does_not_hide_what_is_mine(cast):
    mine = Project.objects.create(pk=UUID("01900000-0000-7000-8000-aaaa01234567"), organisation=cast.a, name="seen")
    Project.objects.create(organisation=cast.b, name="01234567")
    assert found(cast.client(cast.bob), "projects", "01234567") == [str(mine.pk)]


def test_a_token_finds_within_its_project_alone(cast):
    other = Project.objects.create(organisation=cast.a, name="speech")
    here, there = job(cast.project_a, cast.bob, name="twin"), job(other, cast.bob, name="twin")
    _, secret = create_token(
        cast.bob, project=cast.project_a, organisation=None, name="t", scopes=["read"], expires_in_days=1
    )
    limited = cast.client(None)
    limited.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert found(limited, "jobs", "twin") == [str(here.pk)]
    assert found(limited, "jobs", str(there.pk)[-8:]) == found(limited, "jobs", str(there.pk)) == []


@pytest.mark.parametrize("ref", ["x" * 10_000, "%", "____", "%%%%%%%%", "a\\%b", "0190%", "--------", "🦄", "' OR 1=1"])
def test_nothing_is_found_by_what_is_neither(cast, ref):
    job(cast.project_a, cast.bob, name="tour")
    assert found(cast.client(cast.bob), "jobs", ref) == []
