# SPDX-License-Identifier: Apache-2.0
"""Names where ids are meant, in the queries of lists: found among what the caller sees, or an error that names them."""

from __future__ import annotations

import pytest

from mlhub.tenants.models import Project, Team
from tests.jobs.builders import job


@pytest.mark.parametrize(
    "path",
    ["datasets", "jobs", "models", "studies", "runs", "usage", "environments", "events", "quota-requests", "teams"],
)
def test_lists_take_the_names_of_projects_and_organisations(cast, path):
    bob = cast.client(cast.bob)
    has_projects = path not in ("environments", "events", "quota-requests", "teams")
    for parameter, name, pk in [
        *([("project", "vision", cast.project_a.id)] if has_projects else []),
        ("organisation", "A", cast.a.id),
    ]:
        address = f"/api/v1/{path}"
        by_name, by_id = (bob.get(address, {parameter: given}) for given in (name, str(pk)))
        assert by_name.status_code == 200, by_name.json()
        assert {**by_name.json(), parameter: None, "since": "", "until": ""} == {
            **by_id.json(), parameter: None, "since": "", "until": ""
        }  # fmt: skip
        unknown = bob.get(address, {parameter: "visoin"})
        assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (404, parameter)
        assert f"There are {name}." in unknown.json()["remedy"]


def test_a_name_finds_what_is_in_it_and_never_what_is_anothers(cast):
    made = job(cast.project_a, cast.bob)
    assert [row["id"] for row in cast.client(cast.bob).get("/api/v1/jobs?project=vision").json()["results"]] == [
        str(made.id)
    ]
    refused = cast.client(cast.charlie).get("/api/v1/jobs?project=vision")
    assert (refused.status_code, "vision" in refused.json()["remedy"]) == (404, False)


def test_of_namesakes_the_error_names_each_with_its_place(cast):
    Project.objects.create(organisation=cast.b, name="vision")
    refused = cast.client(cast.root).get("/api/v1/datasets?project=vision")
    assert refused.status_code == 422
    remedy = refused.json()["errors"][0].get("remedy") or refused.json()["remedy"]
    assert f"A/vision ({cast.project_a.id})" in remedy
    assert "B/vision" in remedy
    assert cast.client(cast.bob).get("/api/v1/datasets?project=vision").status_code == 200


def test_projects_are_found_by_the_name_of_their_team(cast):
    core = Team.objects.create(organisation=cast.a, name="core")
    Project.objects.filter(pk=cast.project_a.pk).update(team=core)
    found = cast.client(cast.bob).get("/api/v1/projects?team=core").json()["results"]
    assert [row["name"] for row in found] == ["vision"]
