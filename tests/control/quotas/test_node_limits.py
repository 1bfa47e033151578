# SPDX-License-Identifier: Apache-2.0
"""Limits of GPU types and of waiting jobs at each node of the tree: what is refused, what waits and says why."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.tenants.actions import create_team, set_quota
from mlhub.tenants.models import Organisation, Project, Team
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import builtin, job, ready_dataset

pytestmark = pytest.mark.django_db
TYPE = "cpu-slot"


@pytest.fixture
def world() -> World:
    return World(make_cast())


@pytest.fixture
def nodes(world: World) -> dict[str, Organisation | Team | Project]:
    """The line above the project of the tests: an organisation, a team, a team in that, the project."""
    outer = create_team(world.cast.a, name="research", actor=world.cast.alice)
    inner = create_team(world.cast.a, name="perception", parent=outer, actor=world.cast.alice)
    Project.objects.filter(pk=world.cast.project_a.pk).update(team=inner)
    world.cast.project_a.refresh_from_db()
    return {"organisation": world.cast.a, "outer": outer, "inner": inner, "project": world.cast.project_a}


def limit(world: World, node: Any, **rules: Any) -> None:
    set_quota(node, actor=world.cast.root if isinstance(node, Organisation) else world.cast.alice, **rules)


def submit(world: World, **body: Any) -> Any:
    dataset = ready_dataset(world.cast.project_a, world.cast.bob)
    asked = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    return world.cast.client(world.cast.bob).post("/api/v1/jobs", {**asked, **body}, format="json")


def reason_of(world: World, of: Any) -> dict[str, Any]:
    found = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{of.id}/why").json()
    first: dict[str, Any] = found["explanations"][0]
    return first


RAISED_BY = {
    "organisation": ("A", "an administrator of the platform"),
    "outer": ("research", "an admin of A"),
    "inner": ("perception", "an admin of research or of A"),
    "project": ("vision", "an admin of perception or of A"),
}


@pytest.mark.parametrize("where", RAISED_BY)
def test_one_waiting_job_too_many_is_refused_with_whose_limit_it_is_and_who_raises_it(
    world: World, nodes: dict[str, Any], where: str
) -> None:
    name, raised_by = RAISED_BY[where]
    limit(world, nodes[where], max_waiting_jobs=1)
    assert submit(world).status_code == 201
    refused = submit(world)
    assert refused.status_code == 422
    found = refused.json()
    assert (found["code"], found["limit"], found["owner"]) == ("quota_exceeded", "max_waiting_jobs", name)
    assert (found["waiting_jobs"], found["max_waiting_jobs"]) == (1, 1)
    assert found["detail"] == f"{name} has 1 job waiting, and its quota lets 1 wait."
    assert f"ask {raised_by} to raise max_waiting_jobs of {name}" in found["remedy"]


def test_a_job_that_is_paused_makes_room_and_finds_none_when_it_resumes(world: World, nodes: dict[str, Any]) -> None:
    limit(world, nodes["outer"], max_waiting_jobs=1)
    first = submit(world).json()["id"]
    bob = world.cast.client(world.cast.bob)
    assert bob.post(f"/api/v1/jobs/{first}/pause").status_code == 200
    assert submit(world).status_code == 201
    refused = bob.post(f"/api/v1/jobs/{first}/resume")
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_waiting_jobs")


def test_jobs_of_another_branch_of_the_tree_do_not_count(world: World, nodes: dict[str, Any]) -> None:
    apart = Project.objects.create(organisation=world.cast.a, name="apart")
    job(apart, world.cast.bob)
    limit(world, nodes["outer"], max_waiting_jobs=1)
    assert submit(world).status_code == 201


@pytest.mark.slow
@pytest.mark.parametrize("where", RAISED_BY)
def test_a_type_is_limited_at_every_node_and_the_job_says_whose_limit_it_waits_for(
    world: World, nodes: dict[str, Any], where: str
) -> None:
    limit(world, nodes[where], gpus_by_type={TYPE: 1})
    first, second = (world.job(min_workers=1, max_workers=1) for _ in range(2))
    world.rounds(3)
    assert sorted((state(first), state(second))) == ["queued", "running"]
    why = reason_of(world, second if state(second) == "queued" else first)
    name = RAISED_BY[where][0]
    assert why["reason"] == "quota_gpus_of_type"
    assert why["sentence"].startswith(f"Insufficient quota: {name} uses 1 of its 1 GPU of type {TYPE}; 1 more would")
    tree = world.cast.client(world.cast.bob).get(f"/api/v1/organisations/{world.cast.a.id}/quota-tree").json()
    row = next(row for row in tree["owners"] if row["name"] == name)
    assert (row["gpus_by_type"], row["used_by_type"], row["waiting_jobs"]) == ({TYPE: 1}, {TYPE: 1}, 1)


@pytest.mark.slow
def test_a_job_that_a_limit_of_its_type_never_lets_start_is_refused_and_found_again_later(
    world: World, nodes: dict[str, Any]
) -> None:
    waiting = world.job(min_workers=2, max_workers=2)
    world.round()  # the cluster is known from now on
    limit(world, nodes["inner"], gpus_by_type={TYPE: 1})
    refused = submit(world, min_workers=2, max_workers=2)
    assert refused.status_code == 422
    found = refused.json()
    assert (found["limit"], found["owner"], found["limit_gpus"]) == ("gpus_by_type", "perception", 1)
    assert found["errors"][0]["field"] == "min_workers"
    assert "ask an admin of research or of A to raise gpus_by_type of perception" in found["errors"][0]["remedy"]
    assert submit(world, min_workers=1, max_workers=2).status_code == 201
    world.rounds(3)
    left = state(waiting)
    assert left in ("queued", "stopping")


def test_what_would_happen_counts_a_limit_of_a_type(world: World, nodes: dict[str, Any]) -> None:
    running = world.job(min_workers=1, max_workers=1)
    world.rounds(3)
    wish = {"team": str(nodes["inner"].id), "gpus_by_type": {TYPE: 0}}
    answer = world.cast.client(world.cast.alice).post("/api/v1/what-if", {"quotas": [wish]}, format="json")
    assert answer.status_code == 200, answer.content
    effect = next(one for one in answer.json()["effects"] if one["id"] == str(running.id))
    assert effect["after"]["decision"] == "preempt"
    assert state(running) == "running"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_waiting_jobs": -1}, "max_waiting_jobs"),
        ({"gpus_by_type": {"A100": -1}}, "gpus_by_type"),
        ({"gpus_by_type": {"": 3}}, "gpus_by_type"),
        ({"gpus_by_type": 3}, "gpus_by_type"),
        ({"gpus_by_type": {"x" * 101: 3}}, "gpus_by_type"),
        ({"gpus_by_type": {f"t{i}": 1 for i in range(51)}}, "gpus_by_type"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(world: World, body: dict[str, Any], field: str) -> None:
    address = f"/api/v1/projects/{world.cast.project_a.id}/quota"
    refused = world.cast.client(world.cast.alice).patch(address, body, format="json")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith(field)


def test_a_limit_of_a_type_is_a_version_that_can_be_restored(world: World) -> None:
    alice, address = world.cast.client(world.cast.alice), f"/api/v1/projects/{world.cast.project_a.id}/quota"
    changed = alice.patch(address, {"gpus_by_type": {"T4": 2}, "max_waiting_jobs": 5}, format="json").json()
    assert (changed["gpus_by_type"], changed["max_waiting_jobs"]) == ({"T4": 2}, 5)
    restored = alice.post(f"{address}/restore", {"version": 1}, format="json").json()
    assert (restored["gpus_by_type"], restored["max_waiting_jobs"], restored["version"]) == ({}, None, 3)
